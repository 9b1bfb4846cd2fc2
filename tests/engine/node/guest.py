"""A guest without a machine: the agent's side of the channel, on a Unix socket, in this loop.

It speaks the real wire (`sandbox_guest.mux`, `sandbox_guest.framing`), so windows, credit
and half-closes are those of the engine.  What it serves is as little as the door's tests
ask for; a command's name says what it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from sandbox_engine.observe.tasks import spawn
from sandbox_guest import events
from sandbox_guest import mux as wire
from sandbox_guest.framing import (
    FrameDecoder,
    FrameKind,
    FramingError,
    bulk_header,
    control,
    parse_control,
)

Frame = dict[str, Any]
PIECE = 64 << 10


class GuestStream:
    """One stream, as the guest sees it."""

    def __init__(self, guest: Guest, number: int, port: int) -> None:
        self._guest, self.number, self.port = guest, number, port
        self._decoder = FrameDecoder()
        self._queue: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self.gone = asyncio.Event()
        self._owed = 0
        self.dead = self._ended = False
        self.bytes_in = 0
        self.bytes_out = 0

    def feed(self, data: bytes) -> None:
        self.bytes_in += len(data)
        messages = self._decoder.feed(data)
        if not messages:  # the start of one: nobody will take it from here
            self._guest.mux.grant(self.number, len(data))
            return
        self._owed += len(data)
        for message in messages:
            self._queue.put_nowait(message)

    def end(self) -> None:
        self._queue.put_nowait(None)

    def die(self) -> None:
        self.dead = True
        self.gone.set()
        self._room.set()
        self._queue.put_nowait(None)

    def writable(self) -> None:
        self._room.set()

    async def receive(self) -> tuple[int, bytes] | None:
        if self._ended:
            return None
        message = await self._queue.get()
        self._ended = message is None
        if self._queue.empty():
            self._credit()
        return message

    async def frame(self) -> Frame | None:
        """The next control message; bulk before it is dropped."""
        while (message := await self.receive()) is not None:
            if message[0] == FrameKind.CONTROL:
                try:
                    return parse_control(message[1])
                except FramingError:
                    return {"op": "malformed"}
        return None

    async def send(self, **frame: Any) -> None:
        await self._write(control(frame))

    async def bulk(self, kind: FrameKind, data: bytes) -> None:
        await self._write(bulk_header(kind, len(data)) + data)
        self.bytes_out += len(data)

    async def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if self.dead:
                raise ConnectionResetError
            self._room.clear()
            view = view[self._guest.mux.send(self.number, view) :]
            self._guest.flush()
            if view:
                await self._room.wait()

    def finish(self) -> None:
        self._guest.finish(self.number)

    def _credit(self) -> None:
        if self._owed:
            self._guest.mux.grant(self.number, self._owed)
            self._owed = 0
            self._guest.flush()


class Guest(asyncio.Protocol):
    """The agent of one machine."""

    def __init__(self) -> None:
        self.mux = wire.Mux(wire.Role.GUEST)
        self.streams: dict[int, GuestStream] = {}
        self.calls: list[Frame] = []
        """What clients asked, by the public protocol."""
        self.env: dict[str, str] = {}
        self.killed: list[str] = []
        """Commands that died with their stream."""
        self.mute = False
        self.deaf = False
        """It ends operations that configure it without an answer."""
        self.configured = 0
        self.metadata = ""
        self.serves_metadata = True
        self.asked: list[Frame] = []
        """What the engine asked about volumes."""
        self.fails: set[str] = set()
        self._transport: asyncio.Transport | None = None
        self._server: asyncio.AbstractServer | None = None

    async def listen(self, path: Path) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: self, str(path))

    def shut(self) -> None:
        """The machine is gone."""
        if self._server is not None:
            self._server.close()
        if self._transport is not None:
            self._transport.abort()
        for stream in self.streams.values():
            stream.die()

    # -- asyncio.Protocol --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        for event in self.mux.receive(data):
            match event:
                case events.Hello(nonce=nonce, body=body):
                    self._greet(nonce, json.loads(body))
                case events.Quiesce():
                    self.mux.quiesced()
                case events.Resume():
                    self.mux.resumed()
                case events.Opened(stream=number, port=port):
                    stream = self.streams[number] = GuestStream(self, number, port)
                    spawn(self._serve(stream), name=f"guest stream {number}")
                case events.Data(stream=number):
                    if number in self.streams:
                        self.streams[number].feed(event.data)
                case events.Finished(stream=number):
                    if number in self.streams:
                        self.streams[number].end()
                case events.Writable(stream=number):
                    if number in self.streams:
                        self.streams[number].writable()
                case events.WasReset(stream=number):
                    if (gone := self.streams.pop(number, None)) is not None:
                        gone.die()
                case _:
                    pass
        self.flush()

    def flush(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(self.mux.take())

    def finish(self, number: int) -> None:
        self.mux.finish(number)
        self.streams.pop(number, None)
        self.flush()

    def _greet(self, nonce: bytes, _: Frame) -> None:
        welcome = {
            "protocol": 1,
            "agent_version": "test",
            "kernel": "none",
            "boot_id": "0",
            "clock_ns": time.time_ns(),
            "identity_confirmed": True,
        }
        self.mux.welcome(nonce, json.dumps(welcome).encode())

    # -- serving -----------------------------------------------------------------

    async def _serve(self, stream: GuestStream) -> None:
        serve = self._serve_engine if stream.port == 2 else self._serve_client
        with contextlib.suppress(ConnectionResetError):
            await serve(stream)
            if not stream.dead:
                stream.finish()

    async def _serve_engine(self, stream: GuestStream) -> None:
        frame = await stream.frame()
        match frame:
            case {"op": "configure", "env": env}:
                if self.deaf:
                    return
                self.env = env
                self.configured += 1
                await stream.send(type="done")
            case {"op": "mount_volumes" | "unmount_volumes" as op}:
                assert frame is not None
                self.asked.append({key: frame[key] for key in frame if key != "v"})
                if op in self.fails:
                    await stream.send(type="error", status=4, message="no such device")
                    return
                await stream.send(type="done")
            case {"op": "metadata", "document": document}:
                self.metadata = document
                await stream.send(type="done", served=self.serves_metadata)
            case {"op": "exec", "argv": ["fails", *_]}:
                await stream.bulk(FrameKind.STDERR, b"no good\n")
                await stream.send(type="exit", code=3)
            case {"op": "exec", "argv": argv}:
                self.calls.append({"op": "warmup", "argv": argv})
                await stream.send(type="exit", code=0)
            case _:
                await stream.send(type="pong")

    async def _serve_client(self, stream: GuestStream) -> None:
        while (frame := await stream.frame()) is not None:
            if frame.get("op") in ("stdin_close", "data_end", "stdin", "data"):
                continue
            self.calls.append(frame)
            serve = CALLS.get(str(frame.get("op")))
            if serve is None:
                await stream.send(type="error", kind="bad_request", message=f"no op in {frame}")
            else:
                await serve(self, stream, frame)


# -- the public calls ------------------------------------------------------------


async def info(_: Guest, stream: GuestStream, __: Frame) -> None:
    await stream.send(type="info", version="test", proto=2, uptime_secs=1, procs=0, sessions=0)


async def fs_stat(_: Guest, stream: GuestStream, frame: Frame) -> None:
    await stream.send(type="stat", info={"kind": "file", "size": 1, "path": frame["path"]})


async def fs_pull(_: Guest, stream: GuestStream, frame: Frame) -> None:
    left = int(frame["path"])
    while left:
        size = min(left, PIECE)
        await stream.bulk(FrameKind.DATA, bytes(size))
        left -= size
    await stream.send(type="done")


async def fs_push(guest: Guest, stream: GuestStream, frame: Frame) -> None:
    size = 0
    if frame.get("dest") == "never":
        await stream.gone.wait()
    while (message := await stream.receive()) is not None:
        if message[0] == FrameKind.CONTROL:
            break
        size += len(message[1])
    else:
        guest.killed.append("fs_push")
        return
    await stream.send(type="done", size=size)


async def fs_watch(guest: Guest, stream: GuestStream, frame: Frame) -> None:
    await stream.send(type="ready")
    while await stream.receive() is not None:
        pass
    guest.killed.append(f"fs_watch {frame['path']}")


async def exec_(guest: Guest, stream: GuestStream, frame: Frame) -> None:
    argv = frame["argv"]
    match argv:
        case ["missing", *_]:
            await stream.send(type="error", kind="bad_request", message="missing: not found")
            return
        case ["broken", *_]:
            await stream.send(type="error", kind="internal", message="the agent has a fault")
            return
    await stream.send(type="started", pid=7)
    try:
        await RUNS[argv[0]](guest, stream, frame)
    except ConnectionResetError:
        guest.killed.append(" ".join(argv))
        raise
    await stream.send(type="exit", code=int(frame.get("env", {}).get("CODE", "0")))


async def echo(_: Guest, stream: GuestStream, frame: Frame) -> None:
    await stream.bulk(FrameKind.STDOUT, " ".join(frame["argv"][1:]).encode() + b"\n")


async def both(_: Guest, stream: GuestStream, __: Frame) -> None:
    await stream.bulk(FrameKind.STDOUT, b"out\xff\n")
    await stream.bulk(FrameKind.STDERR, b"err\n")


async def cat(_: Guest, stream: GuestStream, __: Frame) -> None:
    while (message := await stream.receive()) is not None and message[0] == FrameKind.STDIN:
        await stream.bulk(FrameKind.STDOUT, message[1])


async def flood(_: Guest, stream: GuestStream, frame: Frame) -> None:
    left = int(frame["argv"][1])
    while left:
        size = min(left, PIECE)
        await stream.bulk(FrameKind.STDOUT, b"x" * size)
        left -= size


async def hold(_: Guest, stream: GuestStream, frame: Frame) -> None:
    await flood(_, stream, frame)
    await forever(_, stream, frame)


async def forever(_: Guest, stream: GuestStream, __: Frame) -> None:
    while not stream.dead:
        if await stream.receive() is None:
            raise ConnectionResetError


async def stubborn(_: Guest, stream: GuestStream, __: Frame) -> None:
    await stream.gone.wait()
    raise ConnectionResetError


async def port_forward(_: Guest, stream: GuestStream, frame: Frame) -> None:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", frame["port"])
    except OSError:
        await stream.send(type="error", kind="not_found", message="nobody listens there")
        return
    await stream.send(type="ready")

    async def outward() -> None:
        with contextlib.suppress(ConnectionResetError):
            while data := await reader.read(PIECE):
                await stream.bulk(FrameKind.DATA, data)
            await stream.send(type="data_end")

    task = spawn(outward(), name="port")
    with contextlib.closing(writer), contextlib.suppress(ConnectionResetError):
        while (message := await stream.receive()) is not None:
            if message[0] == FrameKind.CONTROL:
                writer.write_eof()
                break
            writer.write(message[1])
            await writer.drain()
        else:
            writer.transport.abort()
        await task
        await stream.send(type="done")


Run = Callable[[Guest, GuestStream, Frame], Awaitable[None]]
RUNS: dict[str, Run] = {
    "echo": echo,
    "both": both,
    "cat": cat,
    "flood": flood,
    "hold": hold,
    "forever": forever,
    "stubborn": stubborn,
}
CALLS: dict[str, Run] = {
    "info": info,
    "fs_stat": fs_stat,
    "fs_pull": fs_pull,
    "fs_push": fs_push,
    "fs_watch": fs_watch,
    "exec": exec_,
    "port_forward": port_forward,
}
