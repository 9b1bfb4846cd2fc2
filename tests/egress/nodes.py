"""What live tests of egress ask of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
from sandbox.v1 import guest_pb2, guest_pb2_grpc
from sandbox.v1 import sandboxes_pb2 as pb
from sandbox.v1 import sandboxes_pb2_grpc as rpc

from tests.support.engine import Engine


class Node:
    """A gRPC client of an engine that has a broker."""

    def __init__(self, made: Engine, authority: Path) -> None:
        self.engine, self.authority = made, authority
        self.channel = grpc.insecure_channel(f"unix:{made.grpc_socket}")
        self.sandboxes = rpc.SandboxServiceStub(self.channel)

    def create(self, **fields: Any) -> Any:
        request = pb.CreateSandboxRequest(template="base", **fields)
        request.pool_wait.FromSeconds(120)
        return self.sandboxes.CreateSandbox(request)

    def destroy(self, sandbox_id: str) -> None:
        self.sandboxes.DestroySandbox(pb.DestroySandboxRequest(sandbox_id=sandbox_id))

    def sh(self, sandbox_id: str, *argv: str) -> str:
        """What a command printed on either output."""
        start = guest_pb2.ExecRequest(
            start=guest_pb2.ExecStart(sandbox_id=sandbox_id, argv=list(argv))
        )
        out = b""
        for event in guest_pb2_grpc.GuestServiceStub(self.channel).Exec(iter([start])):
            out += event.out.data + event.err.data
        return out.decode()
