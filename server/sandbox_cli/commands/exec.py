"""`exec`: a command in a sandbox, live, with this process's own streams."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from sandbox_cli import complete, options
from sandbox_cli.rpc import connected

if TYPE_CHECKING:
    from sandbox.v1 import guest_pb2 as pb

EXIT_TIMED_OUT: Final = 124


@click.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=options.examples(
        "sandbox-cli exec sb_4f7k2m -- uname -a",
        "sandbox-cli exec -it sb_4f7k2m -- sh",
        "tar c src | sandbox-cli exec -i sb_4f7k2m -- tar x",
    ),
)
@click.option("--stdin", "-i", is_flag=True, help="Pass standard input on; closed otherwise.")
@click.option("--tty", "-t", is_flag=True, help="Run in a terminal of this one's size.")
@click.option("--cwd", metavar="PATH", default="", help="Working directory.  [default: /workspace]")
@click.option("--env", metavar="KEY=VALUE", multiple=True, help="Variable of the command.")
@click.option("--user", metavar="NAME", default="", help="User in the guest.  [default: root]")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Kill the command after this long.  [default: an hour, which is also the most]",
)
@options.over_grpc
@click.argument("sandbox", shell_complete=complete.sandboxes)
@click.argument("argv", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(
    *,
    stdin: bool,
    tty: bool,
    cwd: str,
    env: tuple[str, ...],
    user: str,
    timeout: float | None,
    sandbox: str,
    argv: tuple[str, ...],
    grpc_socket: str,
    output: str,
) -> int:
    """Run ARGV in SANDBOX and pass its output on as it comes.

    Exits with the command's status: 128 + N when signal N ended it, 124 when --timeout did.
    SIGINT and SIGTERM are passed on to the command; a second SIGINT leaves at once, which
    kills the command and all that it started.
    """
    variables = options.key_values(env, "--env")
    # `exec ID -- ls`: click leaves the `--` that follows an argument in place.
    words = argv[1:] if argv[0] == "--" else argv
    if not words:
        raise click.MissingParameter(param_hint="ARGV", param_type="argument")
    from sandbox.v1 import guest_pb2 as pb

    from sandbox_cli.live import Session

    start = pb.ExecStart(
        sandbox_id=sandbox, argv=words, cwd=cwd, env=variables, user=user, input=stdin
    )
    if timeout is not None:
        start.timeout.FromNanoseconds(round(timeout * 1e9))
    with connected(grpc_socket) as channel:
        session = Session(channel, start, terminal=tty, json=output == "json")
        return _status(session.run())


def _status(end: pb.ExecExit) -> int:
    if end.timed_out:
        click.echo("note: the command was killed by its timeout", err=True)
        return EXIT_TIMED_OUT
    if end.truncated:
        click.echo("note: the command was killed by its limit on output", err=True)
    sys.stdout.flush()
    return 128 + end.signal if end.signal else end.code
