"""A connection as both sides of the broker use it: bounded buffers, TLS on request, splicing.

A stream holds at most `READ_AHEAD` bytes that nobody read and `WRITE_BEHIND` that its peer did
not take (and one read of the event loop more); then it stops reading.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, cast

READ_AHEAD = 256 << 10
WRITE_BEHIND = 256 << 10


class Closed(ConnectionError):
    """The connection ended where something more was to come or to go."""


class Stream(asyncio.Protocol):
    """One connection; a single reader and a single writer at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._eof = False
        self._lost = False
        self._paused = False
        self.writable = True
        """Whether the peer keeps up with what is sent."""
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self._sink: Stream | None = None
        self._source: Stream | None = None
        self._spliced: asyncio.Future[None] | None = None
        self._tls = False
        self.passed = 0
        """Bytes that a splice moved from here."""

    # What the event loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=WRITE_BEHIND)

    def data_received(self, data: bytes) -> None:
        """Hand on to the splice, or keep for the reader."""
        if self._sink is not None:
            self.passed += len(data)
            self._sink.write(data)
            if not self._sink.writable:
                self._pause()
            return
        self._buffer += data
        if len(self._buffer) > READ_AHEAD:
            self._pause()
        self._wake()

    def eof_received(self) -> bool:
        """The peer sends no more; it may still want to receive."""
        self._eof = True
        self._wake()
        if self._sink is not None:
            self._sink.write_eof()
            self._splice_ended()
        return not self._tls

    def connection_lost(self, exc: Exception | None) -> None:
        """Wake everybody who waits."""
        del exc
        self._eof = self._lost = True
        self._wake()
        if self._writer is not None and not self._writer.done():
            self._writer.set_exception(Closed("the connection is gone"))
        if self._sink is not None:
            self._sink.write_eof()
        self._splice_ended()

    def pause_writing(self) -> None:
        """The peer is slow."""
        self.writable = False

    def resume_writing(self) -> None:
        """The peer caught up."""
        self.writable = True
        if self._writer is not None and not self._writer.done():
            self._writer.set_result(None)
        if self._source is not None:
            self._source.resume()

    # What the broker calls.

    @property
    def alive(self) -> bool:
        """Whether the connection is open and the peer said nothing unasked."""
        return not self._eof and not self._lost and not self._buffer

    @property
    def ended(self) -> bool:
        """Whether the peer sends no more."""
        return self._eof

    def info(self, name: str) -> Any:
        """The transport's extra information."""
        return self._transport.get_extra_info(name) if self._transport else None

    async def read(self) -> bytes:
        """What arrived; waits for something; empty at the end."""
        while not self._buffer and not self._eof:
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        data = bytes(self._buffer)
        self._buffer.clear()
        self.resume()
        return data

    def unread(self, data: bytes) -> None:
        """Give back what belongs to the next reader."""
        self._buffer[:0] = data

    def write(self, data: bytes) -> None:
        """Send; `drain()` tells when more is welcome."""
        if self._transport is not None and not self._lost:
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the peer keeps up; raises `Closed` when it is gone."""
        if self._lost:
            raise Closed("the connection is gone")
        if not self.writable:
            self._writer = asyncio.get_running_loop().create_future()
            try:
                await self._writer
            finally:
                self._writer = None

    def write_eof(self) -> None:
        """Send no more; over TLS, which has no half-close here, the connection closes."""
        if self._transport is None or self._lost or self._transport.is_closing():
            return
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()

    def close(self) -> None:
        """Close once what was written is sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    async def start_tls(
        self,
        context: ssl.SSLContext,
        *,
        server: bool = False,
        name: str | None = None,
        timeout_s: float = 20.0,
    ) -> None:
        """Speak TLS from here on; raises `ssl.SSLError`, `OSError` or `Closed`."""
        if self._transport is None or self._buffer or self._eof:
            raise Closed("no clean place to begin TLS")
        self._tls = True
        loop = asyncio.get_running_loop()
        made = await loop.start_tls(
            self._transport,
            self,
            context,
            server_side=server,
            server_hostname=name,
            ssl_handshake_timeout=timeout_s,
        )
        if made is None:
            raise Closed("the connection ended in its TLS handshake")
        self._transport = made
        self._transport.set_write_buffer_limits(high=WRITE_BEHIND)

    async def splice(self, sink: Stream) -> None:
        """Move everything from here to `sink`, without waking anyone for each piece."""
        self._spliced = asyncio.get_running_loop().create_future()
        self._sink, sink._source = sink, self
        if self._buffer:
            data = bytes(self._buffer)
            self._buffer.clear()
            self.passed += len(data)
            sink.write(data)
        if self._eof:
            sink.write_eof()
            self._splice_ended()
        elif sink.writable:
            self.resume()
        await self._spliced

    def _splice_ended(self) -> None:
        if self._spliced is not None and not self._spliced.done():
            self._spliced.set_result(None)

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _pause(self) -> None:
        if not self._paused and self._transport is not None and not self._lost:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on: the reader, or the sink of a splice, has room again."""
        if self._paused and self._transport is not None and not self._lost:
            self._paused = False
            if not self._transport.is_closing():
                self._transport.resume_reading()
