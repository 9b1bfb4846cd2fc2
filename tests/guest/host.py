"""The host's end of the channel for tests, and an agent run as a process of this host.

Small on purpose and independent of the engine's own client: what the two agree on is
the wire, not code above it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections import deque
from pathlib import Path
from typing import Any

from sandbox_guest import events
from sandbox_guest.framing import FrameDecoder, FrameKind, bulk_header, control, parse_control
from sandbox_guest.mux import Mux, Role

from tests.support.node import free_port

CLIENT, ENGINE = 1, 2
Json = dict[str, Any]


class Reset(Exception):
    """The guest reset the stream."""


class HostStream:
    """One stream; what it receives is credited once it was read."""

    def __init__(self, host: Host, number: int) -> None:
        self._host, self.number = host, number
        self._decoder = FrameDecoder()
        self._ungranted = 0
        self.messages: deque[tuple[int, bytes]] = deque()
        self.ended = False
        self.gone: str | None = None
        self.changed = asyncio.Event()

    async def send(self, message: Json) -> None:
        await self._put(control(message))

    async def send_bulk(self, kind: FrameKind, data: bytes) -> None:
        await self._put(bulk_header(kind, len(data)))
        await self._put(data)

    async def send_raw(self, data: bytes) -> None:
        await self._put(data)

    async def _put(self, data: bytes) -> None:
        while data:
            sent = self._host.mux.send(self.number, data)
            data = data[sent:]
            self._host.flush()
            if data:
                self.changed.clear()
                if self.gone is not None:
                    raise Reset(self.gone)
                await self.changed.wait()

    def finish(self) -> None:
        self._host.mux.finish(self.number)
        self._host.flush()

    def reset(self) -> None:
        self._host.mux.reset(self.number)
        self._host.flush()
        self._host.streams.pop(self.number, None)

    async def receive(self) -> tuple[int, bytes] | None:
        while not self.messages:
            if self.gone is not None:
                raise Reset(self.gone)
            if self.ended:
                return None
            self.changed.clear()
            await self.changed.wait()
        message = self.messages.popleft()
        if not self.messages:
            self._grant()
        return message

    def feed(self, data: bytes) -> None:
        self._ungranted += len(data)
        self.messages += self._decoder.feed(data)
        if not self.messages:
            self._grant()

    def _grant(self) -> None:
        self._host.mux.grant(self.number, self._ungranted)
        self._ungranted = 0
        self._host.flush()

    async def control(self) -> Json:
        """The next message, which must be a control message."""
        message = await self.receive()
        assert message is not None, "the stream ended"
        assert message[0] == FrameKind.CONTROL, message
        return parse_control(message[1])

    async def until(self, *types: str) -> tuple[Json, dict[int, bytes]]:
        """Bulk up to the first control message of one of `types`, and that message."""
        bulk: dict[int, bytearray] = {kind: bytearray() for kind in range(2, 6)}
        while True:
            message = await self.receive()
            assert message is not None, "the stream ended"
            kind, body = message
            if kind == FrameKind.CONTROL:
                parsed = parse_control(body)
                if parsed["type"] in types:
                    return parsed, {kind: bytes(data) for kind, data in bulk.items()}
            else:
                bulk[kind] += body


class Host:
    """The host's end of one link."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self.mux = Mux(Role.HOST)
        self.streams: dict[int, HostStream] = {}
        self._pending = bytearray()
        self._welcome: asyncio.Future[Json] = self._loop.create_future()
        self.quiesced = asyncio.Event()
        self.resumed = asyncio.Event()
        self.accepted: asyncio.Queue[tuple[int, HostStream]] = asyncio.Queue()
        self._loop.add_reader(sock, self._readable)

    async def greet(
        self, identity: Json | None = None, *, resync: bool = False, **body: Any
    ) -> Json:
        self._welcome = self._loop.create_future()
        self._end_epoch("new epoch")
        if resync:
            self.mux.resync()
        body = {"protocol": 1, "epoch": 1, "identity": identity, **body}
        self.mux.hello(os.urandom(16), json.dumps(body).encode())
        self.flush()
        return await self._welcome

    def _end_epoch(self, reason: str) -> None:
        for stream in self.streams.values():
            stream.gone = reason
            stream.changed.set()
        self.streams.clear()

    def open(self, port: int, message: Json | None = None) -> HostStream:
        number = self.mux.open_stream(port)
        stream = self.streams[number] = HostStream(self, number)
        if message is not None:
            self.mux.send(number, control(message))
        self.flush()
        return stream

    async def call(self, **message: Any) -> Json:
        """One engine operation with a single answer."""
        stream = self.open(ENGINE, message)
        answer = await stream.control()
        assert await stream.receive() is None
        stream.finish()
        return answer

    async def run(self, *argv: str, **fields: Any) -> tuple[Json, bytes, bytes]:
        """An engine exec to its end."""
        stream = self.open(ENGINE, {"op": "exec", "argv": list(argv), **fields})
        end, bulk = await stream.until("exit", "error")
        stream.finish()
        return end, bulk[FrameKind.STDOUT], bulk[FrameKind.STDERR]

    def write(self, data: bytes) -> None:
        """Put bytes on the link beside the channel."""
        self._pending += data
        self.flush()

    def flush(self) -> None:
        self._pending += b"".join(self.mux.take())
        self._write()

    def _write(self) -> None:
        while self._pending:
            try:
                sent = self._sock.send(self._pending[: 1 << 18])
            except BlockingIOError:
                self._loop.add_writer(self._sock, self._write)
                return
            del self._pending[:sent]
        self._loop.remove_writer(self._sock)

    def _readable(self) -> None:
        try:
            data = self._sock.recv(1 << 18)
        except BlockingIOError:
            return
        if not data:
            self._loop.remove_reader(self._sock)
            return
        for event in self.mux.receive(data):
            self._handle(event)
        self.flush()

    def _handle(self, event: events.Event) -> None:
        match event:
            case events.Welcome():
                self._welcome.set_result(json.loads(event.body))
            case events.Quiesced():
                self.quiesced.set()
            case events.Resumed():
                self.resumed.set()
            case events.Lost():
                self._end_epoch(event.reason)
            case events.Opened():
                stream = self.streams[event.stream] = HostStream(self, event.stream)
                self.accepted.put_nowait((event.port, stream))
            case events.Data() | events.Writable() | events.Finished() | events.WasReset():
                if (known := self.streams.get(event.stream)) is not None:
                    self._of_stream(known, event)

    def _of_stream(self, stream: HostStream, event: events.Event) -> None:
        match event:
            case events.Data():
                stream.feed(event.data)
            case events.Finished():
                stream.ended = True
            case events.WasReset():
                stream.gone = event.message
        stream.changed.set()

    def close(self) -> None:
        self._loop.remove_reader(self._sock)
        self._loop.remove_writer(self._sock)
        self._sock.close()


class AgentProcess:
    """An agent as a child of the tests, with its own places below `folder`."""

    def __init__(self, folder: Path, cgroups: Path, library: Path) -> None:
        self.folder, self.cgroups = folder, cgroups
        self.workspace = folder / "workspace"
        self._library = library
        self.metadata_port = free_port()
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> Host:
        self.workspace.mkdir()
        etc = self.folder / "etc"
        etc.mkdir()
        for name in ("passwd", "group"):
            (etc / name).write_text(Path("/etc", name).read_text())
        ours, theirs = socket.socketpair()
        places = {
            "library": self._library, "workspace": self.workspace, "cgroups": self.cgroups,
            "state": self.folder / "state", "etc": etc,
            "silkd": self.folder / "silkd", "metadata": f"127.0.0.1:{self.metadata_port}",
        }  # fmt: skip
        options = [f"--{name}={path}" for name, path in places.items()]
        self.process = await asyncio.create_subprocess_exec(
            # A hostname of its own: an identity must not rename this host.
            "unshare", "--uts", sys.executable, "-m", "sandbox_guest",
            f"--fd={theirs.fileno()}", *options,
            pass_fds=[theirs.fileno()], cwd="/",
        )  # fmt: skip
        theirs.close()
        return Host(ours)

    async def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        await self.process.wait()
        (self.cgroups / "cgroup.kill").write_text("1")
        while "populated 1" in (self.cgroups / "cgroup.events").read_text():
            await asyncio.sleep(0.01)
        for group in (*self.cgroups.iterdir(), self.cgroups):
            if group.is_dir():
                group.rmdir()
