"""`sandbox-api`: its command line."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

import click

# Read by grpc when it is imported; this process never forks.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

ENGINE = "/var/run/sandbox-engine/grpc.sock"


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--engine", default=ENGINE, show_default=True, help="The daemon's gRPC socket.")
@click.option("--socket", type=click.Path(path_type=Path), help="Serve on this Unix socket.")
@click.option("--socket-mode", default="0600", show_default=True, help="Its mode, in octal.")
@click.option("--listen", default="", metavar="HOST:PORT", help="Serve on TCP; needs --tokens.")
@click.option("--tokens", type=click.Path(path_type=Path), help="The tokens file.")
@click.option("--allow-public-bind", is_flag=True, help="Let --listen be other than loopback.")
@click.option("--template", default="base", show_default=True, help="Of sessions that name none.")
@click.option(
    "--idle",
    type=click.FloatRange(min=0.1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Reclaim the VM of a session after this long without a call.",
)
@click.option(
    "--pool-wait",
    type=click.FloatRange(0, 600),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="How long a create may wait for a VM.",
)
@click.option("--max-connections", type=click.IntRange(1, 65536), default=128, show_default=True)
@click.option(
    "--max-running",
    type=click.IntRange(1, 4096),
    default=64,
    show_default=True,
    help="VMs at once; the least recently used idle one makes room.",
)
@click.option(
    "--max-sessions",
    type=click.IntRange(1, 100_000),
    default=16,
    show_default=True,
    help="Sessions of one principal, where the tokens file says nothing else.",
)
@click.pass_context
def cli(context: click.Context, /, **options: object) -> None:
    """Serve sessions over HTTP, as one client of the sandbox engine.

    Exits with 75 when the engine stays away, so that the service manager starts it again.
    SIGHUP reads the tokens file anew.
    """
    if context.invoked_subcommand is None:
        sys.exit(_serve(dict(options)))


def _serve(options: dict[str, object]) -> int:
    import msgspec
    import structlog
    import uvloop

    from sandbox_api.app import Settings, serve
    from sandbox_api.listeners import ListenError
    from sandbox_api.principals import TokensError

    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )
    try:
        options["socket_mode"] = int(str(options["socket_mode"]), 8)
        options["idle_s"], options["pool_wait_s"] = options.pop("idle"), options.pop("pool_wait")
        settings = msgspec.convert(options, Settings)
        return uvloop.run(serve(settings))
    except (ListenError, TokensError, ValueError) as error:
        click.echo(f"sandbox-api: {error}", err=True)
        return 1


@cli.command("new-token")
@click.argument("name")
def new_token(name: str) -> None:
    """Make a token for the principal NAME: prints it once, and its entry of the tokens file."""
    from sandbox_api.principals import TokensError
    from sandbox_api.principals import new_token as make

    try:
        token, entry = make(name)
    except TokensError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"token (shown once): {token}\n\n{entry}", nl=False)


@cli.command("openapi")
def show_openapi() -> None:
    """Print the OpenAPI document."""
    from sandbox_api import openapi

    click.echo(openapi.text().decode(), nl=False)


def main() -> None:
    """Entry point."""
    cli()


if __name__ == "__main__":
    main()
