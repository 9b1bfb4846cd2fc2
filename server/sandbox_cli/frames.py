"""A blocking client of the frame socket: one request at a time, each with an id.

A frame is a 4-byte big-endian length and one protobuf message.  Sandboxes belong to the
connection: closing it, in whatever way, destroys them.
"""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Final, Self

from sandbox_cli.failures import Failure, unreachable

if TYPE_CHECKING:
    from sandbox.v1 import legacy_pb2 as pb

HEADER: Final = struct.Struct(">I")
MAX_REPLY: Final = 64 * 1024

ERROR_NAMES: Final = {
    -1: "SANDBOX_ERR_POOL_EXHAUSTED",
    -2: "SANDBOX_ERR_INVALID_SPEC",
    -3: "SANDBOX_ERR_DAEMON_UNREACHABLE",
    -4: "SANDBOX_ERR_PERMISSION_DENIED",
    -5: "SANDBOX_ERR_INTERNAL",
    -6: "SANDBOX_ERR_SESSION_EXPIRED",
    -7: "SANDBOX_ERR_SESSION_LIMIT",
    -8: "SANDBOX_ERR_SESSION_UNKNOWN",
    -9: "SANDBOX_ERR_GUEST_UNAVAILABLE",
    -10: "SANDBOX_ERR_PATH_DENIED",
    -11: "SANDBOX_ERR_NOT_FOUND",
    -12: "SANDBOX_ERR_EXISTS",
    -13: "SANDBOX_ERR_TOO_LARGE",
    -14: "SANDBOX_ERR_GUEST_IO",
    -15: "SANDBOX_ERR_TIMEOUT",
}
HINTS: Final = {
    -1: "allow a longer wait with --wait MS, or enlarge the template's pool",
    -4: "the daemon's configuration lists the users that may use this socket",
    -5: "the daemon's log has more; `sandbox-cli doctor` checks this host",
    -9: "try again; if it stays, the daemon's log has more",
}


class FrameClient:
    """One connection; use it in a `with` block, whose end gives up the sandboxes."""

    def __init__(self, path: str) -> None:
        """Connect; raises `Failure` where nothing listens."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._last_id = 0
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise unreachable(path, "--socket", error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def create(self, request: pb.CreateRequest) -> pb.CreateResponse:
        """Clone a template."""
        from sandbox.v1 import legacy_pb2 as pb

        return self._call(pb.ClientMessage(create=request)).create

    def exec(self, sandbox_id: int, script: str) -> pb.GuestExecResponse:
        """Run `script` by `/bin/sh -c` to its end."""
        from sandbox.v1 import legacy_pb2 as pb

        command = pb.GuestExecRequest(argv=[script])
        command.shell = True  # the guest's shell, inside the sandbox
        guest = pb.GuestRequest(sandbox_id=sandbox_id, exec=command)
        return self._call(pb.ClientMessage(guest=guest)).guest.exec

    def destroy(self, sandbox_id: int) -> None:
        """End a sandbox and wait until it is gone."""
        from sandbox.v1 import legacy_pb2 as pb

        self._call(pb.ClientMessage(destroy=pb.DestroyRequest(sandbox_id=sandbox_id)))

    def hold(self) -> None:
        """Wait until the daemon closes the connection (never, in good days)."""
        while self._receive(1):
            pass

    def _call(self, request: pb.ClientMessage) -> pb.ServerMessage:
        """Send one request and wait for its reply; an error reply is raised as `Failure`."""
        from sandbox.v1 import legacy_pb2 as pb

        self._last_id += 1
        request.request_id = self._last_id
        body = request.SerializeToString()
        try:
            self._socket.sendall(HEADER.pack(len(body)) + body)
        except OSError as error:
            raise _lost() from error
        (size,) = HEADER.unpack(self._read_exactly(HEADER.size))
        if size > MAX_REPLY:
            raise Failure(f"the daemon sent a frame of {size} bytes, more than {MAX_REPLY}")
        reply = pb.ServerMessage.FromString(self._read_exactly(size))
        if reply.WhichOneof("response") == "error":
            raise _failure(reply.error)
        if reply.request_id != self._last_id:
            raise Failure("the daemon answered another request than the one that was sent")
        return reply

    def _read_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._receive(size - len(data))
            if not piece:
                raise _lost()
            data += piece
        return bytes(data)

    def _receive(self, size: int) -> bytes:
        try:
            return self._socket.recv(size)
        except OSError as error:
            raise _lost() from error


def _lost() -> Failure:
    return Failure(
        "the daemon closed the connection; its sandbox is gone",
        hint="the daemon's log says why; run the command again once it is up",
        code=ERROR_NAMES[-3],
    )


def _failure(error: pb.ErrorResponse) -> Failure:
    name = ERROR_NAMES.get(error.error_code, f"error {error.error_code}")
    return Failure(error.message or name, hint=HINTS.get(error.error_code, ""), code=name)
