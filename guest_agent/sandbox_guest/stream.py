"""One stream of the channel as the agent's operations see it: messages, paced by credit."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from typing import Protocol

from sandbox_guest.framing import (
    HEADER,
    Control,
    FrameDecoder,
    FrameKind,
    FramingError,
    Message,
    bulk_header,
    control,
)
from sandbox_guest.mux import MAX_PAYLOAD, Mux

BULK_MAX = MAX_PAYLOAD - HEADER.size
"""Bytes of bulk that travel as one frame of the channel."""
_ROOM = MAX_PAYLOAD + 4096  # bulk leaves a rest of credit, so that control need not wait


class Outlet(Protocol):
    """What a stream needs of its channel."""

    mux: Mux

    def flush(self) -> None:
        """Write what the mux has queued, unless a flush is about to happen anyway."""

    def send_bulk_from(self, stream: int, kind: int, fill: Callable[[memoryview], int]) -> int:
        """Send what `fill` reads into a frame, without a copy; how much that was."""

    def finish(self, stream: int) -> None:
        """End our direction of `stream`."""

    def reset(self, stream: int, message: str) -> None:
        """End both."""


class StreamGone(Exception):
    """The other end reset the stream, or the channel was lost."""


class Stream:
    """Both directions of one stream.

    Out: `send()` never blocks and never drops; what credit does not cover waits here.
    Whoever produces bulk asks `room()` first, which keeps that wait bounded.
    In: either a reader calls `receive()`, or `listen()` gives every message to a
    callback, which then returns credit by `grant()`.
    """

    def __init__(self, outlet: Outlet, number: int, port: int) -> None:
        self._outlet = outlet
        self.number, self.port = number, port
        self._decoder = FrameDecoder()
        self._messages: deque[Message] = deque()
        self._backlog: deque[bytes] = deque()
        self._closing = False
        self._ungranted = 0  # bytes that arrived and were not returned as credit
        self._queued = 0  # of those, in messages that wait here
        self._out_there = 0  # of those, handed out and not disposed of yet
        self._held = 0  # of those handed out, in the message `receive()` last returned
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._sink: Callable[[int, bytes], None] | None = None
        self.ended = False
        """The other end will send no more."""
        self.gone = False
        """Reset: nothing can be sent or will arrive."""
        self.on_gone: Callable[[], object] | None = None
        """Called once if the stream dies before its time; must not block."""
        self.on_over: Callable[[], None] | None = None
        """Called once when our direction ended or the stream died."""
        self.on_room: Callable[[], None] | None = None
        """Called when `room()` has grown."""
        self.on_message: Callable[[], None] | None = None
        """Called when a message or the end arrived and nobody waits or listens for it."""

    # -- out ---------------------------------------------------------------------

    def room(self) -> int:
        """How much bulk may be sent now without waiting here: a whole frame, or nothing.

        Never a part, which would cost as much; `mux.GRANT` promises that it comes.
        """
        if self._backlog or self._outlet.mux.credit(self.number) < _ROOM:
            return 0
        return BULK_MAX

    def send(self, message: Control, *, last: bool = False) -> None:
        """Send one control message, and the end of our direction with it if it is `last`."""
        self.send_encoded(control(message), last=last)

    def send_encoded(self, message: bytes, *, last: bool = False) -> None:
        """The same for one that is encoded."""
        self._put(message)
        if last:
            self.finish()
        else:
            self._outlet.flush()

    def send_bulk(self, kind: FrameKind, data: bytes) -> None:
        """Send bulk bytes; see `room()`."""
        head = bulk_header(kind, len(data))
        if self._backlog or not self._outlet.mux.send_message(self.number, head, data):
            self._put(head)
            self._put(data)
        self._outlet.flush()

    def send_bulk_from(self, kind: FrameKind, fill: Callable[[memoryview], int]) -> int:
        """Send what `fill` reads into at most `BULK_MAX` bytes; there must be `room()`.

        Returns what `fill` did: how much that was.
        """
        return self._outlet.send_bulk_from(self.number, kind, fill)

    async def send_file(self, kind: FrameKind, fd: int, offset: int, most: int | None) -> int:
        """Send a file from `offset`, at most `most` bytes of it; how much that was.

        Raises `StreamGone`, `OSError`.
        """
        sent = 0

        def fill(view: memoryview) -> int:
            left = len(view) if most is None else min(len(view), most - sent)
            return os.preadv(fd, (view[:left],), offset + sent)

        while most is None or sent < most:
            await self.drain()
            size = self.send_bulk_from(kind, fill)
            if not size:
                break
            sent += size
            await asyncio.sleep(0)  # a frame is long: others have their turn
        return sent

    async def drain(self) -> None:
        """Wait until bulk may be sent.  Raises `StreamGone`."""
        while self.room() <= 0:
            if self.gone:
                raise StreamGone
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained
        if self.gone:
            raise StreamGone

    def finish(self) -> None:
        """End our direction once everything queued went out.  What still comes is dropped."""
        self._closing = True
        self.listen(self._drop)
        self._over()
        if not self._backlog:
            self._outlet.finish(self.number)

    def half_close(self) -> None:
        """End our direction as `finish()` does, but go on receiving."""
        self._closing = True
        if not self._backlog and not self.gone:
            self._outlet.finish(self.number)

    def reset(self, message: str = "") -> None:
        """End both directions at once."""
        if not self.gone:
            self._outlet.reset(self.number, message)
            self.lose()

    def _put(self, data: bytes) -> None:
        if self.gone:
            return
        if not self._backlog:
            sent = self._outlet.mux.send(self.number, data)
            if sent == len(data):
                return
            data = data[sent:]
        self._backlog.append(data)

    def writable(self) -> None:
        """Credit came back (channel)."""
        backlog = self._backlog
        while backlog:
            sent = self._outlet.mux.send(self.number, backlog[0])
            if sent < len(backlog[0]):
                backlog[0] = backlog[0][sent:]
                break
            backlog.popleft()
        if self._closing and not backlog:
            self._outlet.finish(self.number)
        if self.on_room is not None and self.room() > 0:
            self.on_room()
        _wake(self._drained)

    # -- in ----------------------------------------------------------------------

    async def receive(self) -> Message | None:
        """The next message, None at the end.  Its bytes are credited on the next call.

        Raises `StreamGone`.
        """
        self.grant(self._held)
        self._held = 0
        while not self._messages:
            if self.gone:
                raise StreamGone
            if self.ended:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self.pop()

    def pop(self) -> Message:
        """The next message of those that are here."""
        message = self._next()
        self._held = len(message[1])
        return message

    def take(self) -> Message:
        """The next message of those that are here, credited at once."""
        message = self._next()
        self.grant(len(message[1]))
        return message

    def unread(self, message: Message) -> None:
        """Put back what `receive()` returned or a sink was just given."""
        self._messages.appendleft(message)
        self._queued += len(message[1])
        self._out_there -= self._held
        self._held = 0

    def _next(self) -> Message:
        message = self._messages.popleft()
        self._queued -= len(message[1])
        self._out_there += len(message[1])
        return message

    @property
    def waiting(self) -> bool:
        """A message is here."""
        return bool(self._messages)

    def grant(self, size: int) -> None:
        """`size` bytes that were handed out are disposed of: return their credit."""
        self._out_there -= size
        spare = self._ungranted - self._queued - self._out_there
        if spare > 0:
            self._ungranted -= spare
            self._outlet.mux.grant(self.number, spare)
            self._outlet.flush()

    def listen(self, sink: Callable[[int, bytes], None] | None) -> None:
        """Give every message from here on, those waiting included, to `sink`; None to stop.

        The sink disposes of control messages at once and of bulk by `grant()`; bulk that
        it keeps it must copy, for it may be a view.  The end is the message `(0, b"")`.
        """
        self._sink = sink
        self.grant(self._held)
        self._held = 0
        self._deliver()
        if self._sink is not None and self.ended and not self._messages:
            self._sink(0, b"")

    def feed(self, data: bytes) -> None:
        """Bytes arrived (channel)."""
        self._ungranted += len(data)
        try:
            messages = self._decoder.feed(data)
        except FramingError as error:
            self.reset(str(error))
            return
        for kind, body in messages:
            self._queued += len(body)
            if self._sink is not None and not self._messages:
                self._hand_over(kind, body)
            else:
                self._messages.append((kind, bytes(body)))  # it may be a view of the link's buffer
        self.grant(0)  # headers, and what a long control message has so far
        if self._messages:
            self._deliver()

    def peer_finished(self) -> None:
        """The other end sends no more (channel)."""
        self.ended = True
        if self._sink is not None:
            self._sink(0, b"")
        else:
            self._notify()

    def lose(self) -> None:
        """The stream is dead (channel).  Idempotent."""
        if self.gone:
            return
        self.gone = self.ended = True
        self._backlog.clear()
        callback, self.on_gone = self.on_gone, None
        if callback is not None:
            callback()
        self._over()
        _wake(self._waiter)
        _wake(self._drained)

    def _over(self) -> None:
        callback, self.on_over = self.on_over, None
        if callback is not None:
            callback()

    def _drop(self, kind: int, body: bytes) -> None:
        if kind not in (0, FrameKind.CONTROL):
            self.grant(len(body))

    def _deliver(self) -> None:
        while self._messages and self._sink is not None:
            self._hand_over(*self._messages.popleft())
        if self._messages:
            self._notify()

    def _hand_over(self, kind: int, body: bytes) -> None:
        assert self._sink is not None
        self._queued -= len(body)
        self._out_there += len(body)
        if kind == FrameKind.CONTROL:
            self.grant(len(body))
        self._sink(kind, body)

    def _notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        elif self.on_message is not None:
            self.on_message()


def _wake(future: asyncio.Future[None] | None) -> None:
    if future is not None and not future.done():
        future.set_result(None)
