"""A guest without a machine: the agent's end of the channel, on a real Unix socket.

It speaks the real wire (`sandbox_guest.mux`, `sandbox_guest.framing`), so windows, credit,
epochs and half-closes are those of the engine; `fakes/operations.py` has what it serves.
A test scripts it: `silent`, `greeting`, `raw_welcome`, `steps`, `operations`.
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
from sandbox_guest.framing import FrameDecoder, FrameKind, bulk_header, control, parse_control

from tests.fakes.steps import Steps

Message = dict[str, Any]


class StreamGone(Exception):
    """The host ended the stream, or its epoch."""


class GuestStream:
    """One stream, as the guest sees it."""

    def __init__(self, guest: FakeGuest, number: int, port: int) -> None:
        self.guest, self.number, self.port = guest, number, port
        self.gone = asyncio.Event()
        self._decoder = FrameDecoder()
        self._arrived: asyncio.Queue[tuple[int, bytes] | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._owed = 0

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message; None at the host's end.  What was taken is credited then."""
        if self._owed and self._arrived.empty():
            self.guest.mux.grant(self.number, self._owed)
            self._owed = 0
            self.guest.flush()
        message = await self._arrived.get()
        if message is None and self.gone.is_set():
            raise StreamGone
        return message

    async def control(self) -> Message | None:
        """The next control message; bulk before it is dropped."""
        while (message := await self.receive()) is not None:
            if message[0] == FrameKind.CONTROL:
                return parse_control(message[1])
        return None

    async def send(self, **message: Any) -> None:
        """One control message."""
        await self.raw(control(message))

    async def fail(self, status: int, message: str = "no") -> None:
        """An `error` reply."""
        await self.send(type="error", status=status, message=message)

    async def bulk(self, kind: FrameKind, data: bytes) -> None:
        """Bytes, as the host gives credit for them."""
        await self.raw(bulk_header(kind, len(data)) + data)

    async def raw(self, data: bytes) -> None:
        """Bytes of the stream, whatever they mean."""
        view = memoryview(data)
        while view:
            if self.gone.is_set():
                raise StreamGone
            self._room.clear()
            view = view[self.guest.mux.send(self.number, view) :]
            self.guest.flush()
            if view:
                await self._room.wait()

    # -- called by the guest -----------------------------------------------------

    def feed(self, data: bytes) -> None:
        messages = self._decoder.feed(data)
        if not messages:  # the start of one: nobody takes it from here
            self.guest.mux.grant(self.number, len(data))
            return
        self._owed += len(data)
        for message in messages:
            self._arrived.put_nowait(message)

    def end(self) -> None:
        self._arrived.put_nowait(None)

    def die(self) -> None:
        self.gone.set()
        self._room.set()
        self._arrived.put_nowait(None)

    def writable(self) -> None:
        self._room.set()


Operation = Callable[[GuestStream, Message], Awaitable[None]]


class FakeGuest(asyncio.Protocol):
    """The agent of one machine.

    Steps: `greet`, and each engine operation by its name, before it is served.
    """

    def __init__(self, path: Path) -> None:
        from tests.fakes.operations import OPERATIONS

        self.path = path
        self.mux = wire.Mux(wire.Role.GUEST)
        self.steps = Steps()
        self.operations: dict[str, Operation] = dict(OPERATIONS)
        self.silent = False
        """Never answers a greeting."""
        self.greeting: Message = {}
        """Fields of the welcome that differ."""
        self.raw_welcome: bytes | None = None
        """The body of the welcome, whatever it means."""
        self.hellos: list[Message] = []
        self.calls: list[Message] = []
        """Engine operations, in the order in which they came."""
        self.client_calls: list[Message] = []
        self.killed: list[Message] = []
        """Operations whose stream the host ended before they did."""
        self.told: list[Message] = []
        """What commands were told while they ran: signals, sizes, the end of input."""
        self.env: dict[str, str] = {}
        self.configured: list[Message] = []
        """What it was told of itself, in order."""
        self.clocks: list[int] = []
        self.files: dict[str, bytes] = {}
        self.quiet = False
        self._streams: dict[int, GuestStream] = {}
        self._transport: asyncio.Transport | None = None
        self._server: asyncio.AbstractServer | None = None
        self._running, self._gone = True, False

    async def listen(self) -> None:
        """Listen, before anything runs: a machine's socket exists before its guest does."""
        self.path.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        self._running = False
        serving = spawn(loop.create_unix_server(lambda: self, str(self.path)), name="listen")
        try:
            self._server = await asyncio.shield(serving)
        except asyncio.CancelledError:
            (await serving).close()
            raise

    def run(self, *, running: bool) -> None:
        """Its virtual CPUs run, or stand still: then nothing is read or written."""
        self._running = running
        if self._transport is not None and not self._transport.is_closing():
            (self._transport.resume_reading if running else self._transport.pause_reading)()
            self.flush()

    def shut(self) -> None:
        """The machine is gone."""
        self._running, self._gone = False, True
        if self._server is not None:
            # A turn later: a transport of what was just accepted needs its server.
            self._server.get_loop().call_soon(self._server.close)
        self.hang_up()
        self.steps.release_all()
        self.path.unlink(missing_ok=True)

    def hang_up(self) -> None:
        """The link breaks; the guest goes on."""
        if self._transport is not None:
            self._transport.abort()

    def write_raw(self, data: bytes) -> None:
        """Bytes on the link, whatever they mean."""
        assert self._transport is not None
        self._transport.write(data)

    def memory(self) -> bytes:
        """What another machine must be given to go on as this one."""
        files = {path: content.decode() for path, content in self.files.items()}
        return json.dumps({"env": self.env, "files": files}).encode()

    def remember(self, memory: bytes) -> None:
        """Go on as another machine did."""
        state = json.loads(memory)
        self.env = state["env"]
        self.files = {path: content.encode() for path, content in state["files"].items()}

    @property
    def open_streams(self) -> int:
        """Operations under way."""
        return len(self._streams)

    # -- asyncio.Protocol --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._gone:  # accepted just before
            self.hang_up()
        elif not self._running:
            self._transport.pause_reading()

    def connection_lost(self, _: Exception | None) -> None:
        self.mux.lose()
        self._end_streams()

    def data_received(self, data: bytes) -> None:
        for event in self.mux.receive(data):
            match event:
                case events.Hello(nonce=nonce, body=body):
                    self._end_streams()
                    self.hellos.append(json.loads(body))
                    if (identity := self.hellos[-1].get("identity")) is not None:
                        self.env = dict(identity["env"])
                    spawn(self._greet(nonce), name="fake greeting")
                case events.Opened(stream=number, port=port):
                    self._streams[number] = GuestStream(self, number, port)
                    spawn(self._serve(self._streams[number]), name=f"fake stream {number}")
                case events.WasReset(stream=number):
                    if (gone := self._streams.pop(number, None)) is not None:
                        gone.die()
                case events.Quiesce():
                    self.mux.quiesced()
                    self.quiet = True
                case events.Resume():
                    self.quiet = False
                    self.mux.resumed()
                case events.Data() | events.Finished() | events.Writable():
                    self._of_stream(event)
                case _:
                    pass
        self.flush()

    def _of_stream(self, event: events.Data | events.Finished | events.Writable) -> None:
        stream = self._streams.get(event.stream)
        if stream is None:
            return
        match event:
            case events.Data(data=data):
                stream.feed(data)
            case events.Finished():
                stream.end()
            case events.Writable():
                stream.writable()

    def flush(self) -> None:
        """Write what the mux queued, unless the CPUs stand still."""
        if self._transport is not None and self._running and not self._transport.is_closing():
            self._transport.writelines(self.mux.take())

    async def _greet(self, nonce: bytes) -> None:
        await self.steps.reach("greet")
        if self.silent:
            return
        self.quiet = False
        welcome = {
            "protocol": 1,
            "agent_version": "fake",
            "kernel": "6.1.0-fake",
            "boot_id": "00000000-0000-0000-0000-000000000000",
            "clock_ns": time.time_ns(),
            "identity_confirmed": True,
            **self.greeting,
        }
        body = json.dumps(welcome).encode() if self.raw_welcome is None else self.raw_welcome
        self.mux.welcome(nonce, body)
        self.flush()

    def _end_streams(self) -> None:
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.die()

    # -- serving -----------------------------------------------------------------

    async def _serve(self, stream: GuestStream) -> None:
        message: Message = {}
        try:
            message = await stream.control() or {}
            (self.calls if stream.port == 2 else self.client_calls).append(message)
            op = str(message.get("op"))
            await self.steps.reach(op)
            serve = self.operations.get(op)
            if serve is None:
                await stream.fail(1, f"no operation {op!r}")
            else:
                await serve(stream, message)
        except StreamGone:
            self.killed.append(message)
            return
        except (KeyError, ValueError) as error:  # what it needs is missing or wrong
            await stream.fail(1, str(error))
        with contextlib.suppress(KeyError):
            del self._streams[stream.number]
            self.mux.finish(stream.number)
            self.flush()
