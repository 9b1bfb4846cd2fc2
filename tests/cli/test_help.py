"""Help, version, completion: every command explains itself."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from sandbox.v1 import templates_pb2 as pb
from sandbox_cli.app import cli as root

from tests.cli.conftest import Cli, Serve


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from leaves(each, (*path, name))
    else:
        yield path


@pytest.mark.parametrize("path", list(leaves(root)), ids=" ".join)
def test_every_command_shows_examples_and_explains_every_option(path: tuple[str, ...]) -> None:
    command: click.Command = root
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    context = click.Context(command, info_name=" ".join(path))
    text = command.get_help(context)
    assert "Examples:\n" in text
    assert f"sandbox-cli {' '.join(path)}" in text
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert not silent


def test_commands_have_output_json(cli: Cli) -> None:
    without = {path for path in leaves(root) if "--output" not in cli_options(path)}
    assert without == {("completion",)}


def cli_options(path: tuple[str, ...]) -> set[str]:
    command: click.Command = root
    for name in path:
        assert isinstance(command, click.Group)
        command = command.commands[name]
    return {word for parameter in command.params for word in parameter.opts}


def test_version(cli: Cli) -> None:
    assert cli("--version").out.startswith("sandbox-cli, version ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_shell_s_script(cli: Cli, shell: str) -> None:
    done = cli("completion", shell)
    assert done.code == 0
    assert "_SANDBOX_CLI_COMPLETE" in done.out


def test_completion_of_an_unknown_shell_is_a_usage_error(cli: Cli) -> None:
    assert cli("completion", "tcsh").code == 2


def complete(cli: Cli, words: str, last: int) -> list[str]:
    cli.env |= {
        "_SANDBOX_CLI_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(last),
    }
    return [line.partition(",")[2] for line in cli().out.splitlines() if line]


def test_template_names_are_completed_from_the_daemon(cli: Cli, grpc_daemon: Serve) -> None:
    found = pb.ListTemplatesResponse(templates=[pb.Template(name="base"), pb.Template(name="py")])
    grpc_daemon(templates={"ListTemplates": lambda *_: found})
    assert complete(cli, "sandbox-cli run --template b", 3) == ["base"]


def test_completion_without_a_daemon_offers_nothing_and_complains_of_nothing(cli: Cli) -> None:
    assert complete(cli, "sandbox-cli run --template b", 3) == []
