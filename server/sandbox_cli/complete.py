"""What the shell offers after Tab for names that only the daemon knows.

A daemon that does not answer at once offers nothing: completion never complains.
"""

from __future__ import annotations

import os
from typing import Final

import click

from sandbox_cli.failures import Failure
from sandbox_cli.options import GRPC_SOCKET

TIMEOUT_S: Final = 1.0


def templates(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of templates that begin with `incomplete`."""
    del param
    from sandbox.v1 import templates_pb2 as pb
    from sandbox.v1 import templates_pb2_grpc as pb_grpc

    from sandbox_cli.rpc import connected

    try:
        with connected(_socket(ctx)) as channel:
            stub = pb_grpc.TemplateServiceStub(channel)
            found = stub.ListTemplates(pb.ListTemplatesRequest(), timeout=TIMEOUT_S)
    except Failure:
        return []
    return [each.name for each in found.templates if each.name.startswith(incomplete)]


def sandboxes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of sandboxes that begin with `incomplete`."""
    del param
    from sandbox.v1 import sandboxes_pb2 as pb
    from sandbox.v1 import sandboxes_pb2_grpc as pb_grpc

    from sandbox_cli.rpc import connected

    try:
        with connected(_socket(ctx)) as channel:
            stub = pb_grpc.SandboxServiceStub(channel)
            found = stub.ListSandboxes(pb.ListSandboxesRequest(), timeout=TIMEOUT_S)
    except Failure:
        return []
    return [each.id for each in found.sandboxes if each.id.startswith(incomplete)]


def _socket(ctx: click.Context) -> str:
    chosen = ctx.params.get("grpc_socket") or os.environ.get("SANDBOX_GRPC_SOCKET")
    return str(chosen or GRPC_SOCKET)
