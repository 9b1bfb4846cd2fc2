"""`completion`: the script that teaches a shell our commands, options and names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from sandbox_cli import options


@click.command(
    epilog=options.examples(
        "sandbox-cli completion bash > /etc/bash_completion.d/sandbox-cli",
        "sandbox-cli completion zsh > ~/.zfunc/_sandbox-cli",
        "sandbox-cli completion fish > ~/.config/fish/completions/sandbox-cli.fish",
    )
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL."""
    kind = get_completion_class(shell)
    if kind is None:
        message = f"no completion for {shell}"
        raise click.UsageError(message)
    script = kind(ctx.find_root().command, {}, "sandbox-cli", "_SANDBOX_CLI_COMPLETE")
    # Not `source()`, which for bash runs the bash it finds only to complain of its age.
    click.echo(script.source_template % script.source_vars())
