"""A daemon for the libraries' tests: the frame protocol as it is written, machines that are not.

`FrameDaemon` keeps the protocol's promises (correlation, ownership, the caps, the codes) over
folders of this host (`fake_guest.py`), so a test provokes a code by its real cause.  What no
honest daemon does, a test scripts: `daemon.script["exec"] = hang`.
"""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

from sandbox.v1 import legacy_pb2 as pb

from tests.sdk_c.fake_guest import FakeGuest, Refusal

HEADER = struct.Struct(">I")
MAX_REQUEST = 256 << 10
MAX_OWNED = 128
MAX_GUEST_OPERATIONS = 16

POOL_EXHAUSTED, INVALID_SPEC, DAEMON_UNREACHABLE, PERMISSION_DENIED, INTERNAL = -1, -2, -3, -4, -5
SESSION_EXPIRED, SESSION_LIMIT, SESSION_UNKNOWN, GUEST_UNAVAILABLE = -6, -7, -8, -9

MAX_LIFE_S = 30 * 86400
NOW = 1_800_000_000
"""The daemon's clock stands still."""


class Connection:
    """One client: what it owns and how it is answered."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.owned: dict[int, FakeGuest] = {}
        self.guest_operations = 0
        self.closed = asyncio.Event()

    def reply(self, message: pb.ServerMessage) -> None:
        """Send a frame."""
        self.raw(encode(message))

    def raw(self, data: bytes) -> None:
        """Send bytes, frames or not."""
        if not self.writer.is_closing():
            self.writer.write(data)

    def drop(self) -> None:
        """Hang up as a killed daemon does."""
        self.writer.transport.abort()


Script = Callable[[Connection, pb.ClientMessage], Awaitable[None]]
"""Stands in for the daemon's own handling of one kind of request."""


def encode(message: pb.ServerMessage | pb.ClientMessage) -> bytes:
    """A frame."""
    body = message.SerializeToString()
    return HEADER.pack(len(body)) + body


def failure(request_id: int, code: int, text: str = "") -> pb.ServerMessage:
    """An error reply."""
    error = pb.ErrorResponse(error_code=code, message=text)
    return pb.ServerMessage(request_id=request_id, error=error)


class FrameDaemon:
    """Serves one socket; an async context manager."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "engine.sock"
        self.folder = folder
        self.script: dict[str, Script] = {}
        """By the name of the request or of the guest operation."""
        self.seen: list[pb.ClientMessage] = []
        self.frames: list[bytes] = []
        """The same as they came, without the length."""
        self.free_machines = MAX_OWNED
        self.sessions: dict[str, int] = {}
        """Session key to the end of its volume."""
        self.refuse_all = False
        """Nobody is on the allow-list."""
        self.connections: list[Connection] = []
        self.destroyed: list[int] = []
        self._ids = itertools.count(1)
        self._machine_freed = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, self.path)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for connection in self.connections:
            connection.drop()
        for connection in self.connections:
            await connection.closed.wait()
        await self._server.wait_closed()

    def die(self) -> None:
        """What clients see of a daemon that was killed."""
        assert self._server is not None
        self._server.close()
        for connection in self.connections:
            connection.drop()

    # --- a connection --------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(writer)
        self.connections.append(connection)
        try:
            if self.refuse_all:
                connection.reply(failure(0, PERMISSION_DENIED, "uid not allowed"))
                await writer.drain()
            else:
                await self._read(reader, connection)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # clients leave as they like
        finally:
            for sandbox_id in list(connection.owned):
                self._reclaim(connection, sandbox_id)
            writer.close()
            connection.closed.set()

    async def _read(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        async with asyncio.TaskGroup() as tasks:
            pending: list[asyncio.Task[None]] = []
            try:
                while True:
                    frame = await self._frame(reader, connection)
                    message = pb.ClientMessage.FromString(frame)
                    self.frames.append(frame)
                    self.seen.append(message)
                    pending.append(tasks.create_task(self._answer(connection, message)))
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            finally:
                for task in pending:
                    task.cancel()

    async def _frame(self, reader: asyncio.StreamReader, connection: Connection) -> bytes:
        (size,) = HEADER.unpack(await reader.readexactly(HEADER.size))
        if size > MAX_REQUEST:
            connection.reply(failure(0, INVALID_SPEC, "frame too large"))
            raise ConnectionResetError
        return await reader.readexactly(size)

    async def _answer(self, connection: Connection, message: pb.ClientMessage) -> None:
        kind = message.WhichOneof("request")
        operation = message.guest.WhichOneof("operation") if kind == "guest" else kind
        await self.script.get(operation or "", self.obey)(connection, message)

    async def obey(self, connection: Connection, message: pb.ClientMessage) -> None:
        """What is done where nothing is scripted."""
        try:
            reply = await self._handle(connection, message, message.WhichOneof("request"))
        except Refusal as refusal:
            reply = failure(message.request_id, refusal.code, str(refusal))
        reply.request_id = message.request_id
        connection.reply(reply)

    async def _handle(
        self, connection: Connection, message: pb.ClientMessage, kind: str | None
    ) -> pb.ServerMessage:
        match kind:
            case "create":
                return await self._create(connection, message.create)
            case "destroy":
                self._guest(connection, message.destroy.sandbox_id)
                self._reclaim(connection, message.destroy.sandbox_id)
                return pb.ServerMessage(destroy=pb.DestroyResponse())
            case "pause":
                self._guest(connection, message.pause.sandbox_id).pause()
                return pb.ServerMessage(pause=pb.PauseResponse())
            case "resume":
                self._guest(connection, message.resume.sandbox_id).resume()
                return pb.ServerMessage(resume=pb.ResumeResponse())
            case "inspect":
                guest = self._guest(connection, message.inspect.sandbox_id)
                return pb.ServerMessage(inspect=guest.inspect(message.inspect.sandbox_id))
            case "session_renew":
                return self._renew(message.session_renew)
            case "guest":
                return await self._operate(connection, message)
        raise Refusal(INVALID_SPEC, "a message without a request")

    # --- requests ------------------------------------------------------------------------

    def _guest(self, connection: Connection, sandbox_id: int) -> FakeGuest:
        if sandbox_id not in connection.owned:
            raise Refusal(PERMISSION_DENIED, f"sandbox {sandbox_id} is not this session's")
        return connection.owned[sandbox_id]

    async def _create(self, connection: Connection, request: pb.CreateRequest) -> pb.ServerMessage:
        check_spec(request)
        if len(connection.owned) >= MAX_OWNED:
            raise Refusal(POOL_EXHAUSTED, "the connection owns 128 sandboxes")
        await self._take_machine(request.pool_wait_ms / 1000)
        if request.session_key:
            life = min(request.ttl_seconds or 7 * 86400, MAX_LIFE_S)
            self.sessions[request.session_key] = NOW + life
        sandbox_id = next(self._ids)
        root = self.folder / f"sandbox-{sandbox_id}"
        root.mkdir()
        connection.owned[sandbox_id] = FakeGuest(root, list(request.env_vars))
        created = pb.CreateResponse(sandbox_id=sandbox_id, session_token="ab" * 32)
        return pb.ServerMessage(create=created)

    async def _take_machine(self, patience_s: float) -> None:
        try:
            async with asyncio.timeout(patience_s or 0.001):
                while self.free_machines == 0:
                    self._machine_freed.clear()
                    await self._machine_freed.wait()
        except TimeoutError:
            raise Refusal(POOL_EXHAUSTED, "no warm machine") from None
        self.free_machines -= 1

    def _reclaim(self, connection: Connection, sandbox_id: int) -> None:
        del connection.owned[sandbox_id]
        self.destroyed.append(sandbox_id)
        self.free_machines += 1
        self._machine_freed.set()

    def _renew(self, request: pb.SessionRenewRequest) -> pb.ServerMessage:
        if not is_session_key(request.session_key):
            raise Refusal(INVALID_SPEC, "not a session key")
        ends = self.sessions.get(request.session_key)
        if ends is None:
            raise Refusal(SESSION_UNKNOWN, "no such volume")
        if ends <= NOW:
            raise Refusal(SESSION_EXPIRED, "the volume is gone")
        if ends >= NOW + MAX_LIFE_S:
            raise Refusal(SESSION_LIMIT, "at the longest lifetime")
        ends = min(ends + request.extra_seconds, NOW + MAX_LIFE_S)
        self.sessions[request.session_key] = ends
        return pb.ServerMessage(session_renew=pb.SessionRenewResponse(expires_at=ends))

    async def _operate(self, connection: Connection, message: pb.ClientMessage) -> pb.ServerMessage:
        guest = self._guest(connection, message.guest.sandbox_id)
        if not message.request_id:
            raise Refusal(INVALID_SPEC, "guest operations need a request id")
        if connection.guest_operations >= MAX_GUEST_OPERATIONS:
            raise Refusal(GUEST_UNAVAILABLE, "16 operations in flight")
        connection.guest_operations += 1
        try:
            return pb.ServerMessage(guest=await guest.operate(message.guest))
        finally:
            connection.guest_operations -= 1


def is_session_key(key: str) -> bool:
    """1-127 printable bytes without `"` and `\\`."""
    return 1 <= len(key) <= 127 and all(" " <= c <= "~" and c not in '"\\' for c in key)


def check_spec(request: pb.CreateRequest) -> None:
    """Raises `Refusal` for what the seed calls an invalid spec, and for a broken template."""
    if request.template_name == "broken":
        raise Refusal(INTERNAL, "the template's disk is gone")
    known = request.template_name == "base"
    if not known or request.memory_mib not in {0, 256, 512} or request.vcpu_count > 4:
        raise Refusal(INVALID_SPEC, "no such template, memory or vCPUs")
    if request.session_key and not is_session_key(request.session_key):
        raise Refusal(INVALID_SPEC, "not a session key")
    hosts = request.egress_allow
    if len(hosts) > 64 or (hosts and request.egress_deny_all) or "forbidden.example" in hosts:
        raise Refusal(INVALID_SPEC, "egress")
