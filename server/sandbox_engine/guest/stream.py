"""One operation's messages, on one stream of the channel; `ports.guest.GuestStream`."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

import structlog
from sandbox_guest.framing import FrameDecoder, FrameKind, FramingError, bulk_header, control

from sandbox_engine.errors import GuestUnavailable

_log = structlog.get_logger(__name__)

if TYPE_CHECKING:
    from sandbox_engine.guest.channel import Channel


class Stream:
    """See `ports.guest.GuestStream`.

    Invariant: bytes are credited to the guest only once their message was received by
    the reader, so an abandoned reader holds at most one window.
    """

    __slots__ = (
        "_arrived", "_channel", "_deaf", "_decoder", "_ended", "_error", "_number", "_owed",
        "_reader", "_sized", "_watched", "_writer",
    )  # fmt: skip

    def __init__(self, channel: Channel, number: int) -> None:
        self._channel, self._number = channel, number
        self._decoder = FrameDecoder()
        self._arrived: deque[tuple[int, bytes]] = deque()
        self._sized: deque[int] = deque()  # wire bytes of each message, to be credited
        self._owed = 0
        self._ended = False
        self._deaf = False
        """What we send reaches nobody."""
        self._watched = ""
        self._error: str | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None

    async def send(self, message: dict[str, Any]) -> None:
        """See `ports.guest.GuestStream`."""
        await self._write(control(message))

    async def send_bulk(self, kind: int, data: bytes) -> None:
        """See `ports.guest.GuestStream`."""
        await self._write(bulk_header(FrameKind(kind), len(data)))
        await self._write(data)

    async def receive(self) -> tuple[int, bytes] | None:
        """See `ports.guest.GuestStream`."""
        self._credit()
        while not self._arrived:
            if self._error is not None:
                raise GuestUnavailable(self._error)
            if self._ended:
                return None
            self._reader = self._channel.loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        self._owed = self._sized.popleft()
        return self._arrived.popleft()

    def finish(self) -> None:
        """See `ports.guest.GuestStream`."""
        self._channel.mux.finish(self._number)
        self._channel.flush()

    def reset(self) -> None:
        """See `ports.guest.GuestStream`."""
        self._channel.drop(self._number)

    def notify_only(self, operation: str) -> None:
        """Nobody will read this stream: log its answer if that is an error."""
        self._watched = operation

    # -- called by the channel ---------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Bytes of this stream arrived."""
        try:
            messages = self._decoder.feed(data)
        except FramingError as error:
            self._channel.drop(self._number)
            self.fail(f"the guest broke the protocol: {error}")
            return
        if not messages:
            self._channel.mux.grant(self._number, len(data))
            return
        if self._watched:
            self._log_failure(messages)
            return
        self._arrived.extend(messages)
        self._sized.extend([0] * (len(messages) - 1))
        self._sized.append(len(data))
        self._wake()

    def _log_failure(self, messages: list[tuple[int, bytes]]) -> None:
        for kind, body in messages:
            if kind == FrameKind.CONTROL and b'"error"' in body:
                _log.warning("guest refused", operation=self._watched, answer=body.decode())

    def end(self) -> None:
        """The guest will send no more, and takes no more either."""
        self._ended = self._deaf = True
        self._wake()
        self.writable()

    def end_inward(self) -> None:
        """The guest will send no more, but takes what we send."""
        self._ended = True
        self._wake()

    def fail(self, reason: str) -> None:
        """The stream is gone in both directions."""
        self._error = self._error or reason
        self._wake()
        self.writable()

    def writable(self) -> None:
        """The guest returned credit, or the stream failed."""
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)

    # -- shared ------------------------------------------------------------------

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _credit(self) -> None:
        if self._owed:
            self._channel.mux.grant(self._number, self._owed)
            self._owed = 0
            self._channel.flush()

    async def _write(self, data: bytes) -> None:
        if self._error is not None:
            raise GuestUnavailable(self._error)
        sent = self._channel.mux.send(self._number, data)
        self._channel.flush()
        if sent == len(data) and not self._channel.congested:
            return
        view = memoryview(data)[sent:]
        while (view or self._channel.congested) and not self._deaf:
            await self._await_room(credit=bool(view))
            view = view[self._channel.mux.send(self._number, view) :]
            self._channel.flush()

    async def _await_room(self, *, credit: bool) -> None:
        """Wait for the link to drain, then (where `credit`) for credit of this stream."""
        if self._error is not None:
            raise GuestUnavailable(self._error)
        if self._channel.congested:
            await self._channel.drained()
        elif credit and not self._channel.mux.credit(self._number):
            self._writer = self._channel.loop.create_future()
            try:
                await self._writer
            finally:
                self._writer = None
        if self._error is not None:
            raise GuestUnavailable(self._error)
