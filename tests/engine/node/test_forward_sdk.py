"""`connect` of the Python SDK, over real gRPC, to a listener in the guest."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from sandbox.v1 import guest_pb2, sandboxes_pb2
from sandbox_engine.api.rpc.callers import Callers
from sandbox_engine.api.rpc.dispatch import bind
from sandbox_engine.api.rpc.guest import GuestServicer
from sandbox_engine.model.caller import Caller
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import Files
from sandbox_engine.services.relay import Ports
from sandbox_sdk import Client, errors

from tests.engine.node.world import World


class Operator(Callers):
    """Whoever calls is the node's operator."""

    def of(self, _context: Any) -> Caller:
        return Caller(name="node")


class Named:
    """Any sandbox, by its id: what a client asks before it uses one."""

    async def get_sandbox(
        self, request: sandboxes_pb2.GetSandboxRequest, _: Caller
    ) -> sandboxes_pb2.GetSandboxResponse:
        made = sandboxes_pb2.Sandbox(id=request.sandbox_id)
        return sandboxes_pb2.GetSandboxResponse(sandbox=made)


@pytest.fixture
def client(node: World, tmp_path: Path) -> Iterator[Client]:
    path = tmp_path / "grpc.sock"
    guest = guest_pb2.DESCRIPTOR.services_by_name["GuestService"]
    sandboxes = sandboxes_pb2.DESCRIPTOR.services_by_name["SandboxService"]

    async def start() -> grpc.aio.Server:
        box = node.sandboxes
        server = grpc.aio.server()
        servicer = GuestServicer(Execs(box), Files(box), Ports(box))
        callers = Operator({})
        server.add_generic_rpc_handlers(
            (bind(guest, servicer, callers), bind(sandboxes, Named(), callers))
        )
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        return server

    server = node.call(start())
    with Client(path) as made:
        yield made
    node.call(server.stop(None))


def reverse(server: socket.socket) -> None:
    """Read one connection to its end, and answer it backwards."""
    peer, _ = server.accept()
    with peer:
        held = b"".join(iter(lambda: peer.recv(65536), b""))
        peer.sendall(held[::-1])


def test_bytes_go_and_come_and_each_direction_ends_alone(claim: Any, client: Client) -> None:
    sandbox = client.get(claim["id"])
    data = bytes(range(256)) * 4096
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        port = server.getsockname()[1]
        answering = threading.Thread(target=reverse, args=(server,))
        answering.start()
        with sandbox.connect(port) as connection:
            connection.send(data)
            connection.send_end()
            back = b"".join(iter(connection.receive, b""))
        answering.join(30)
        assert back == data[::-1]
        left = sandbox.connect(port)
        peer, _ = server.accept()
        with peer:
            left.close()
            assert peer.recv(1) == b""  # the guest's end of a call that is gone
    with pytest.raises(errors.GuestUnavailable):
        sandbox.connect(port)
    for wrong in (0, 65536):
        with pytest.raises(errors.InvalidArgument, match="1 to 65535"):
            sandbox.connect(wrong)
