"""The CLI as its users run it, against daemons that follow a script."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from sandbox.v1 import (
    guest_pb2_grpc,
    legacy_pb2,
    node_pb2_grpc,
    sandboxes_pb2_grpc,
    templates_pb2_grpc,
)

TIMEOUT_S = 60


@dataclass
class Last:
    """Send this, then hang up."""

    reply: legacy_pb2.ServerMessage | bytes = b""


Answer = Callable[[legacy_pb2.ClientMessage], legacy_pb2.ServerMessage | bytes | Last]


@dataclass
class Done:
    """How a run of the CLI ended."""

    code: int
    out: str
    err: str


class Cli:
    """Runs `sandbox-cli` in a process of its own, with both sockets in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.frames = folder / "engine.sock"
        self.grpc = folder / "grpc.sock"
        self.env = {
            **os.environ,
            "SANDBOX_SOCKET": str(self.frames),
            "SANDBOX_GRPC_SOCKET": str(self.grpc),
        }

    def start(self, *args: str, **options: Any) -> subprocess.Popen[bytes]:
        """The process, running, with pipes unless `options` say otherwise."""
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(
            [sys.executable, "-m", "sandbox_cli", *args], env=self.env, **{**pipes, **options}
        )

    def __call__(self, *args: str, stdin: bytes = b"") -> Done:
        """Run to the end."""
        with self.start(*args) as process:
            out, err = process.communicate(stdin, timeout=TIMEOUT_S)
            return Done(process.returncode, out.decode(), err.decode())


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@dataclass
class FrameDaemon:
    """Listens on the frame socket; `answer` decides each reply.

    It returns the reply (its `request_id` is filled in), raw bytes to send, or either of
    them as the `Last` thing before the connection is closed.
    """

    path: Path
    answer: Answer
    requests: list[legacy_pb2.ClientMessage] = field(default_factory=list)
    closed: threading.Event = field(default_factory=threading.Event)
    """The client closed its connection."""

    def serve(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # the test ended without a client
        with connection, connection.makefile("rb") as stream:
            while (header := stream.read(4)) and len(header) == 4:
                (size,) = struct.unpack(">I", header)
                request = legacy_pb2.ClientMessage.FromString(stream.read(size))
                self.requests.append(request)
                answer = self.answer(request)
                reply = answer.reply if isinstance(answer, Last) else answer
                connection.sendall(_bytes(reply, request.request_id))
                if isinstance(answer, Last):
                    return
        self.closed.set()

    @property
    def operations(self) -> list[str]:
        return [str(request.WhichOneof("request")) for request in self.requests]


def _bytes(reply: legacy_pb2.ServerMessage | bytes, request_id: int) -> bytes:
    if isinstance(reply, bytes):
        return reply
    reply.request_id = request_id
    body = reply.SerializeToString()
    return struct.pack(">I", len(body)) + body


@pytest.fixture
def frame_daemon(cli: Cli) -> Iterator[Callable[[Answer], FrameDaemon]]:
    """Starts a scripted daemon on the CLI's frame socket, for one connection."""
    with socket.socket(socket.AF_UNIX) as listener:
        threads: list[threading.Thread] = []

        def start(answer: Answer) -> FrameDaemon:
            listener.bind(str(cli.frames))
            listener.listen(1)
            daemon = FrameDaemon(cli.frames, answer)
            threads.append(threading.Thread(target=daemon.serve, args=(listener,)))
            threads[0].start()
            return daemon

        yield start
        if threads and threads[0].is_alive():
            with socket.socket(socket.AF_UNIX) as last:  # ends an accept that nobody answered
                last.connect(str(cli.frames))
    for thread in threads:
        thread.join(TIMEOUT_S)


SERVICES: dict[str, tuple[type, Callable[[Any, grpc.Server], None]]] = {
    "sandboxes": (
        sandboxes_pb2_grpc.SandboxServiceServicer,
        sandboxes_pb2_grpc.add_SandboxServiceServicer_to_server,
    ),
    "guest": (
        guest_pb2_grpc.GuestServiceServicer,
        guest_pb2_grpc.add_GuestServiceServicer_to_server,
    ),
    "templates": (
        templates_pb2_grpc.TemplateServiceServicer,
        templates_pb2_grpc.add_TemplateServiceServicer_to_server,
    ),
    "node": (
        node_pb2_grpc.NodeServiceServicer,
        node_pb2_grpc.add_NodeServiceServicer_to_server,
    ),
}
Method = Callable[[Any, grpc.ServicerContext], Any]
Serve = Callable[..., None]


@pytest.fixture
def grpc_daemon(cli: Cli) -> Iterator[Serve]:
    """Serves on the CLI's gRPC socket: `grpc_daemon(templates={"ListTemplates": method})`.

    A method that no test gave answers UNIMPLEMENTED.
    """
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))

    def serve(**services: dict[str, Method]) -> None:
        for name, methods in services.items():
            servicer, add = SERVICES[name]
            scripted = {key: staticmethod(method) for key, method in methods.items()}
            add(type("Scripted", (servicer,), scripted)(), server)
        server.add_insecure_port(f"unix:{cli.grpc}")
        server.start()

    yield serve
    server.stop(grace=None).wait(TIMEOUT_S)


def refuse(context: grpc.ServicerContext, code: int, reason: str, message: str) -> None:
    """End a call as the engine does: a status with the reason in `ErrorInfo`."""
    detail = any_pb2.Any()
    detail.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="sandbox-engine"))
    status = status_pb2.Status(code=code, message=message, details=[detail])
    context.abort_with_status(rpc_status.to_status(status))


NOT_FOUND = code_pb2.NOT_FOUND
