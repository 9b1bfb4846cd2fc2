"""The command tree."""

from __future__ import annotations

from importlib import metadata

import click

from sandbox_cli.commands.ca import ca
from sandbox_cli.commands.completion import completion
from sandbox_cli.commands.doctor import doctor
from sandbox_cli.commands.exec import exec_
from sandbox_cli.commands.node import node
from sandbox_cli.commands.run import run
from sandbox_cli.commands.sandboxes import create, destroy, inspect, ls, pause, resume
from sandbox_cli.commands.template import template
from sandbox_cli.commands.usage import usage
from sandbox_cli.commands.verify import verify
from sandbox_cli.options import examples


class InOrder(click.Group):
    """A group whose help lists commands in the order they were added: the common ones first."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands' names, as added."""
        del ctx
        return list(self.commands)


@click.group(
    cls=InOrder,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(
        "sandbox-cli template build base --from debian:bookworm",
        "sandbox-cli run --template base --exec 'uname -a'",
        "sandbox-cli doctor",
    ),
)
@click.version_option(metadata.version("sandbox-engine"), prog_name="sandbox-cli")
def cli() -> None:
    """Run commands in virtual machines that are cloned from snapshot templates.

    A client of the daemon `sandbox-engined`.  `sandbox-cli COMMAND --help` shows a command's
    options with examples.
    """


for _command in (
    run, verify, template, create, ls, inspect, exec_, pause, resume, destroy, node, usage, doctor,
    ca, completion,
):  # fmt: skip
    cli.add_command(_command)
