"""The chunked transfer coding, decoded strictly (RFC 9112 7.1).  Pure."""

from __future__ import annotations

import enum
import re

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\Z")
_MAX_LINE = 4096  # a chunk's size with its extensions, or a trailer field


class ChunksBroken(Exception):
    """This is no chunked body, or one over the limit."""


class _Next(enum.Enum):
    """What the stream must hold next."""

    SIZE = enum.auto()
    DATA = enum.auto()
    DATA_END = enum.auto()
    TRAILER = enum.auto()
    NOTHING = enum.auto()


class ChunkDecoder:
    """Decodes one body; trailer fields are read and dropped."""

    def __init__(self, limit: int) -> None:
        self.body = bytearray()
        self._limit = limit
        self._next = _Next.SIZE
        self._left = 0  # bytes of the chunk still to come

    @property
    def complete(self) -> bool:
        """Whether `body` is whole."""
        return self._next is _Next.NOTHING

    def feed(self, data: bytearray) -> int:
        """Absorb what it can of `data`; how many bytes that were.  Raises `ChunksBroken`."""
        at = 0
        while not self.complete:
            in_data = self._next is _Next.DATA
            used = self._take_data(data, at) if in_data else self._take_line(data, at)
            if not used:
                break
            at += used
        return at

    def _take_data(self, data: bytearray, at: int) -> int:
        size = min(self._left, len(data) - at)
        self.body += data[at : at + size]
        self._left -= size
        if not self._left:
            self._next = _Next.DATA_END
        return size

    def _take_line(self, data: bytearray, at: int) -> int:
        end = data.find(b"\r\n", at, at + _MAX_LINE)
        if end < 0:
            if len(data) - at >= _MAX_LINE:
                raise ChunksBroken("a line of the coding is too long")
            return 0
        line = bytes(data[at:end])
        if self._next is _Next.SIZE:
            self._begin_chunk(line)
        elif self._next is _Next.DATA_END:
            if line:
                raise ChunksBroken("a chunk is longer than it said")
            self._next = _Next.SIZE
        elif not line:
            self._next = _Next.NOTHING
        return end + 2 - at

    def _begin_chunk(self, line: bytes) -> None:
        found = _SIZE.match(line)
        if found is None:
            raise ChunksBroken("a chunk has no size")
        self._left = int(found[1], 16)
        if len(self.body) + self._left > self._limit:
            raise ChunksBroken(f"over {self._limit} bytes")
        self._next = _Next.DATA if self._left else _Next.TRAILER
