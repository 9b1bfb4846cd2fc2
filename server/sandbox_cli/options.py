"""The options that several commands share, and how commands are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

FRAME_SOCKET = "/var/run/sandbox-engine/engine.sock"
GRPC_SOCKET = "/var/run/sandbox-engine/grpc.sock"

Command = Callable[..., Any]

frame_socket = click.option(
    "--socket",
    metavar="PATH",
    envvar="SANDBOX_SOCKET",
    default=FRAME_SOCKET,
    show_default=True,
    show_envvar=True,
    help="The daemon's frame socket.",
)
grpc_socket = click.option(
    "--grpc-socket",
    metavar="PATH",
    envvar="SANDBOX_GRPC_SOCKET",
    default=GRPC_SOCKET,
    show_default=True,
    show_envvar=True,
    help="The daemon's gRPC socket.",
)
output = click.option(
    "--output",
    "-o",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or JSON with the field names of the API.",
)


def over_grpc(command: Command) -> Command:
    """The options of every command that is a gRPC client."""
    return output(grpc_socket(command))


def examples(*lines: str) -> str:
    """The epilog of a command's help: `lines` as they would be typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def key_values(pairs: tuple[str, ...], option: str) -> dict[str, str]:
    """`KEY=VALUE` arguments of `option` as a dictionary; a wrong one is a usage error."""
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            message = f"{pair!r} is not KEY=VALUE"
            raise click.BadParameter(message, param_hint=option)
        found[key] = value
    return found
