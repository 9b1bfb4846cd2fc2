"""The multiplexed channel of one guest, on a Unix socket; `ports.guest.GuestConnection`.

An `asyncio.Protocol` around `sandbox_guest.mux`: what arrives is turned into events and
handed to streams in the same turn of the loop, so an exec costs no task on this side.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
from sandbox_guest import events
from sandbox_guest import mux as wire
from sandbox_guest.framing import control

from sandbox_engine.errors import GuestUnavailable
from sandbox_engine.guest.stream import Stream
from sandbox_engine.ports.guest import GuestPort, GuestStream, Identity, Welcome
from sandbox_engine.wire.guest_status import error_of, parse

PROTOCOL = 1
"""Version of the agent protocol; part of what a template is bound to."""
HIGH_WATER = 1 << 20
"""Bytes queued towards the guest beyond which senders wait."""


class Channel(asyncio.Protocol):
    """See `ports.guest.GuestConnection`."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.mux = wire.Mux(wire.Role.HOST)
        self.lost = asyncio.Event()
        self.congested = False
        self._streams: dict[int, Stream] = {}
        self._guests: dict[int, Stream] = {}
        """Those that the guest opened: each direction ends by itself."""
        self.on_opened: Callable[[int, GuestStream], None] | None = None
        self._transport: asyncio.Transport | None = None
        self._epoch = 0
        self._answer: asyncio.Future[bytes] | None = None  # of greet, quiesce or resume
        self._drained: list[asyncio.Future[None]] = []
        self._quiet = False
        self._held: list[bytes | memoryview] = []
        """What is to be sent while the guest rests: it would be in the snapshot, and run twice."""

    @classmethod
    async def connect(cls, path: Path) -> Channel:
        """Connect to a machine's channel socket.  Raises `GuestUnavailable`."""
        try:
            _, channel = await asyncio.get_running_loop().create_unix_connection(cls, str(path))
        except OSError as error:
            raise GuestUnavailable(f"cannot reach the guest channel: {error}") from error
        return channel

    # -- ports.guest.GuestConnection ---------------------------------------------

    async def greet(
        self, identity: Identity | None, *, resync: bool = False, timeout_s: float = 10.0
    ) -> Welcome:
        """See `ports.guest.GuestConnection`."""
        self._fail_streams("the guest was restored; the stream belongs to its past")
        self._epoch += 1
        self._quiet = False
        self._held.clear()
        if resync:
            self.mux.resync()
        body = _hello(self._epoch, identity)
        self.mux.hello(os.urandom(wire.NONCE_SIZE), body)
        answer = await self._await_answer(timeout_s, "the guest never answered")
        return _welcome(answer)

    def open(self, port: GuestPort, message: dict[str, Any] | None = None) -> Stream:
        """See `ports.guest.GuestConnection`."""
        if self.lost.is_set() or not self.mux.open:
            raise GuestUnavailable("the guest channel is not open")
        number = self.mux.open_stream(port)
        stream = self._streams[number] = Stream(self, number)
        if message is not None:
            data = control(message)
            if len(data) > wire.WINDOW:
                raise GuestUnavailable("an opening message is larger than the window")
            self.mux.send(number, data)
        self.flush()
        return stream

    async def call(self, message: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """See `ports.guest.GuestConnection`."""
        stream = self.open(GuestPort.ENGINE, message)
        try:
            async with asyncio.timeout(timeout_s):
                received = await stream.receive()
        except TimeoutError as error:
            raise GuestUnavailable(
                f"the guest did not answer {message['op']!r} within {timeout_s:g} s"
            ) from error
        finally:
            stream.reset()
        if received is None:
            raise GuestUnavailable(f"the guest ended {message['op']!r} without an answer")
        reply = parse(received)
        if reply.get("type") == "error":
            raise error_of(reply)
        return reply

    def notify(self, message: dict[str, Any]) -> None:
        """See `ports.guest.GuestConnection`."""
        self.open(GuestPort.ENGINE, message).notify_only(str(message["op"]))

    async def set_clock(self) -> None:
        """See `ports.guest.GuestConnection`."""
        await self.call({"op": "clock", "clock_ns": time.time_ns()})

    async def quiesce(self) -> None:
        """See `ports.guest.GuestConnection`."""
        self.mux.quiesce()
        self.flush()
        self._quiet = True
        await self._await_answer(30.0, "the guest did not come to rest")

    async def resume(self) -> None:
        """See `ports.guest.GuestConnection`."""
        self.flush()
        held, self._held, self._quiet = self._held, [], False
        self.mux.resume()
        await self._await_answer(10.0, "the guest did not continue", held)

    async def close(self) -> None:
        """See `ports.guest.GuestConnection`."""
        if self._transport is not None:
            self._transport.abort()
        await self.lost.wait()

    # -- for streams -------------------------------------------------------------

    def flush(self) -> None:
        """Write what the mux queued."""
        pieces = self.mux.take()
        if self._quiet:
            self._held += pieces
            return
        if pieces and self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(pieces)

    def drop(self, number: int) -> None:
        """Reset stream `number` and forget it."""
        self._streams.pop(number, None)
        self._guests.pop(number, None)
        self.mux.reset(number)
        self.flush()

    async def drained(self) -> None:
        """Wait until the link takes more."""
        if self.congested:
            future: asyncio.Future[None] = self.loop.create_future()
            self._drained.append(future)
            await future

    # -- asyncio.Protocol --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(HIGH_WATER)

    def data_received(self, data: bytes) -> None:
        """Bytes of the link arrived."""
        for event in self.mux.receive(data):
            match event:
                case events.Data(stream=number):
                    if (stream := self._streams.get(number)) is not None:
                        stream.feed(event.data)
                    else:
                        self.mux.grant(number, len(event.data))
                case events.Finished(stream=number) if number in self._guests:
                    self._guests[number].end_inward()
                case events.Finished(stream=number):
                    if (stream := self._streams.pop(number, None)) is not None:
                        stream.end()
                        self.mux.finish(number)
                case events.Writable(stream=number):
                    if (stream := self._streams.get(number)) is not None:
                        stream.writable()
                case _:
                    self._rare(event)
        self.flush()

    def _rare(self, event: events.Event) -> None:
        match event:
            case events.WasReset(stream=number, message=message):
                self._guests.pop(number, None)
                if (stream := self._streams.pop(number, None)) is not None:
                    stream.fail(message or "the guest ended the operation")
            case events.Welcome(body=body):
                self._answered(body)
            case events.Quiesced() | events.Resumed():
                self._answered(b"")
            case events.Opened(stream=number, port=port):
                self._opened(number, port)
            case events.Lost(reason=reason):
                self._fail_streams(f"the guest broke the protocol: {reason}")
                if self._transport is not None:
                    self._transport.abort()  # nothing can be opened on it any more
            case _:
                pass

    def _opened(self, number: int, port: int) -> None:
        if self.on_opened is None:
            self.mux.reset(number, "nothing listens on this port")
            return
        stream = self._streams[number] = self._guests[number] = Stream(self, number)
        self.on_opened(port, stream)

    def pause_writing(self) -> None:
        """The link is full."""
        self.congested = True

    def resume_writing(self) -> None:
        """The link drained."""
        self.congested = False
        waiting, self._drained = self._drained, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def connection_lost(self, _: Exception | None) -> None:
        """The VMM is gone, or `close()` was called."""
        self.lost.set()
        self.mux.lose()
        self._fail_streams("the guest is gone")
        self.resume_writing()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(GuestUnavailable("the guest is gone"))

    # -- shared ------------------------------------------------------------------

    async def _await_answer(
        self, timeout_s: float, complaint: str, held: Sequence[bytes | memoryview] = ()
    ) -> bytes:
        """Send what is queued, then `held`, and wait for the answer."""
        if self.lost.is_set():
            raise GuestUnavailable("the guest is gone")
        self._answer = self.loop.create_future()
        self.flush()
        if held and self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(held)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._answer
        except TimeoutError as error:
            raise GuestUnavailable(f"{complaint} within {timeout_s:g} s") from error
        finally:
            self._answer = None

    def _answered(self, body: bytes) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(body)

    def _fail_streams(self, reason: str) -> None:
        streams, self._streams = self._streams, {}
        self._guests.clear()
        for stream in streams.values():
            stream.fail(reason)


class Connector:
    """`ports.guest.GuestConnector` for virtio-serial behind a Unix socket."""

    async def connect(self, path: Path) -> Channel:
        """See `ports.guest.GuestConnector`."""
        return await Channel.connect(path)


def _hello(epoch: int, identity: Identity | None) -> bytes:
    hello: dict[str, Any] = {"protocol": PROTOCOL, "epoch": epoch, "identity": None}
    if identity is not None:
        fields = msgspec.structs.asdict(identity)
        fields["entropy"] = base64.b64encode(identity.entropy).decode()
        hello["identity"] = fields
    hello["clock_ns"] = time.time_ns()  # last: the guest steps its clock to this
    return json.dumps(hello).encode()


class _Greeting(msgspec.Struct):
    """What a guest answers, which is to be trusted as little as anything it says."""

    protocol: int = 0
    agent_version: str = ""
    kernel: str = ""
    boot_id: str = ""
    clock_ns: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)] = 0
    identity_confirmed: bool = False
    error: str = ""


def _welcome(body: bytes) -> Welcome:
    now = time.time_ns()
    try:
        greeting = msgspec.json.decode(body, type=_Greeting)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise GuestUnavailable(f"the guest's greeting cannot be read: {error}") from error
    if greeting.error:
        raise GuestUnavailable(f"the guest refused its identity: {greeting.error}")
    if greeting.protocol != PROTOCOL:
        raise GuestUnavailable(
            f"the guest speaks protocol {greeting.protocol}, this engine {PROTOCOL}: "
            "rebuild the template"
        )
    return Welcome(
        protocol=greeting.protocol,
        agent_version=greeting.agent_version,
        kernel=greeting.kernel,
        boot_id=greeting.boot_id,
        identity_confirmed=greeting.identity_confirmed,
        clock_skew_ms=(greeting.clock_ns - now) / 1e6,
    )
