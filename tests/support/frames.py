"""A frame client for tests: raw bytes where a test wants them, one call a line otherwise."""

from __future__ import annotations

import itertools
import socket
import struct
from pathlib import Path
from typing import Any, Self

from sandbox.v1 import legacy_pb2 as pb

HEADER = struct.Struct(">I")


class FrameError(Exception):
    """An ErrorResponse."""

    def __init__(self, error: Any) -> None:
        super().__init__(f"{error.error_code}: {error.message}")
        self.code, self.message = error.error_code, error.message


class Frames:
    """One connection to the frame socket."""

    def __init__(self, path: Path | str, timeout_s: float = 60.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout_s)
        self.socket.connect(str(path))
        self._ids = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, message: Any) -> None:
        body = message.SerializeToString()
        self.socket.sendall(HEADER.pack(len(body)) + body)

    def receive(self) -> Any:
        (size,) = HEADER.unpack(self._exactly(HEADER.size))
        return pb.ServerMessage.FromString(self._exactly(size))

    def call(self, **request: Any) -> Any:
        """`call(create=pb.CreateRequest(..))` → the CreateResponse.  Raises `FrameError`."""
        number = next(self._ids)
        self.send(pb.ClientMessage(request_id=number, **request))
        reply = self.receive()
        assert reply.request_id == number, reply
        return self.unwrap(reply)

    @staticmethod
    def unwrap(reply: Any) -> Any:
        which = reply.WhichOneof("response")
        if which == "error":
            raise FrameError(reply.error)
        return getattr(reply, which)

    def create(self, template: str, **fields: Any) -> Any:
        fields.setdefault("pool_wait_ms", 60_000)
        return self.call(create=pb.CreateRequest(template_name=template, **fields))

    def destroy(self, sandbox_id: int) -> None:
        self.call(destroy=pb.DestroyRequest(sandbox_id=sandbox_id))

    def inspect(self, sandbox_id: int) -> Any:
        return self.call(inspect=pb.InspectRequest(sandbox_id=sandbox_id))

    def guest(self, sandbox_id: int, **operation: Any) -> Any:
        reply = self.call(guest=pb.GuestRequest(sandbox_id=sandbox_id, **operation))
        return getattr(reply, reply.WhichOneof("result"))

    def sh(self, sandbox_id: int, script: str, **fields: Any) -> Any:
        return self.guest(sandbox_id, exec=pb.GuestExecRequest(argv=[script], shell=True, **fields))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                raise ConnectionError("the daemon closed the connection")
            data += piece
        return bytes(data)
