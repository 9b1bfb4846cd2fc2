"""Builds and runs the gRPC server: a Unix socket for owner and group, TCP where configured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import grpc
import grpc.aio
from google.protobuf.descriptor import FileDescriptor
from sandbox.v1 import (
    broker_pb2,
    checkpoints_pb2,
    guest_pb2,
    node_pb2,
    sandboxes_pb2,
    templates_pb2,
    workspaces_pb2,
)

from sandbox_engine.api import sockets
from sandbox_engine.api.rpc.callers import Callers
from sandbox_engine.api.rpc.checkpoints import CheckpointServicer
from sandbox_engine.api.rpc.dispatch import bind
from sandbox_engine.api.rpc.guest import GuestServicer
from sandbox_engine.api.rpc.node import NodeServicer
from sandbox_engine.api.rpc.sandboxes import SandboxServicer
from sandbox_engine.api.rpc.standard import Health, add_reflection
from sandbox_engine.api.rpc.templates import TemplateServicer
from sandbox_engine.api.rpc.workspaces import WorkspaceServicer
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import Files
from sandbox_engine.services.node import Node
from sandbox_engine.services.relay import Ports
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.services.states import States
from sandbox_engine.services.templates import Templates
from sandbox_engine.services.workspaces import Workspaces

FILES: tuple[FileDescriptor, ...] = (
    sandboxes_pb2.DESCRIPTOR,
    guest_pb2.DESCRIPTOR,
    checkpoints_pb2.DESCRIPTOR,
    templates_pb2.DESCRIPTOR,
    workspaces_pb2.DESCRIPTOR,
    node_pb2.DESCRIPTOR,
    broker_pb2.DESCRIPTOR,
)
SERVICES = tuple(service for file in FILES for service in file.services_by_name.values())
MAX_RECEIVE = 8 << 20
GRACE_S = 2.0
OPTIONS = (
    ("grpc.max_receive_message_length", MAX_RECEIVE),
    ("grpc.so_reuseport", 0),  # a second engine on the same port is an error, not a rival
    # A client may ask every 10 s whether a silent stream still lives, and is asked every
    # 30 s; both without calls, so that an idle channel stays up behind a stateful firewall.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.max_pings_without_data", 0),
)


class RpcServer:
    """The gRPC door.  `start()` once; `stop()` gives calls in flight a moment to end.

    Every object of gRPC lives in the loop that `start()` runs in.
    """

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        execs: Execs,
        files: Files,
        sessions: Sessions,
        templates: Templates,
        node: Node,
        states: States,
        path: Path,
        listen: str = "",
        tokens: Mapping[str, str] | None = None,
        workspaces: Workspaces | None = None,
    ) -> None:
        self._sandboxes = SandboxServicer(sandboxes, sessions, states)
        self.servicers: dict[str, object] = {
            "SandboxService": self._sandboxes,
            "GuestService": GuestServicer(execs, files, Ports(sandboxes)),
            "CheckpointService": CheckpointServicer(states.checkpoints, states.promotions),
            "TemplateService": TemplateServicer(templates, states.promotions),
            "NodeService": NodeServicer(node),
        }
        if workspaces is not None:
            self.servicers["WorkspaceService"] = WorkspaceServicer(workspaces)
        self._path, self._listen, self._callers = path, listen, Callers(tokens or {})
        self._server: grpc.aio.Server | None = None
        self._health = Health(SERVICES)
        self.port = 0
        """Port of the TCP listener, once started; 0 for none."""

    async def start(self) -> None:
        """Listen.  Raises `InvalidArgument` where an address cannot be had."""
        server = grpc.aio.server(options=OPTIONS)
        handlers = [
            bind(service, self.servicers.get(service.name), self._callers) for service in SERVICES
        ]
        server.add_generic_rpc_handlers(handlers)
        self._health.add_to(server)
        add_reflection(server, SERVICES)
        sockets.claim(self._path, "grpc_socket")
        _listen(server, f"unix:{self._path}", "grpc_socket")
        if self._listen:
            self.port = _listen(server, self._listen, "grpc_listen")
        await server.start()
        self._path.chmod(sockets.SOCKET_MODE)
        await self._health.serving()
        self._server = server

    async def stop(self) -> None:
        """Take no more calls, end the rest.  Idempotent."""
        if self._server is None:
            return
        server, self._server = self._server, None
        await self._health.stopping()
        self._sandboxes.stop()
        await server.stop(GRACE_S)
        self._path.unlink(missing_ok=True)


def _listen(server: grpc.aio.Server, address: str, field: str) -> int:
    try:
        return server.add_insecure_port(address)
    except RuntimeError as error:
        raise InvalidArgument(field, f"cannot listen on {address}: {error}") from error
