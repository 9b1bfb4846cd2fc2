"""The last output of a command, kept for readers that come later.  Pure.

Positions count every byte since the start, so a reader that fell behind knows it lost
some and goes on with what is left.  Offsets count the bytes of one kind.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

CAPACITY = 256 << 10
_CHUNK = 16 << 10  # small writes share one, or each would cost more than its bytes
_MOST_CHUNKS = 8192  # outputs that alternate byte by byte keep less


class _Chunk:
    __slots__ = ("data", "kind", "offset", "start")

    def __init__(self, kind: int, start: int, offset: int) -> None:
        self.kind, self.start, self.offset = kind, start, offset
        self.data = bytearray()


class Piece(NamedTuple):
    """Bytes of one kind."""

    kind: int
    offset: int
    """Of the first byte in its kind."""
    data: bytes
    next: int
    """The position behind them."""


class Ring:
    """Bytes of two kinds in the order they came; the oldest go first."""

    __slots__ = ("_chunks", "_head", "_kept", "_size", "end", "totals")

    def __init__(self) -> None:
        self._chunks: list[_Chunk] = []
        self._head = 0  # chunks before it are gone
        self._size = 0
        self._kept: dict[int, int] = {}
        self.end = 0
        """The position after the last byte."""
        self.totals: dict[int, int] = {}
        """Bytes of each kind since the start."""

    def append(self, kind: int, data: bytes) -> None:
        """Add `data`; drop what no longer fits."""
        self.end += len(data)
        total = self.totals[kind] = self.totals.get(kind, 0) + len(data)
        kept = data[-CAPACITY:]
        self._kept[kind] = self._kept.get(kind, 0) + len(kept)
        last = self._chunks[-1] if len(self._chunks) > self._head else None
        joins = last is not None and last.kind == kind and len(last.data) + len(kept) <= _CHUNK
        if last is None or not joins:
            last = _Chunk(kind, self.end - len(kept), total - len(kept))
            self._chunks.append(last)
        last.data += kept
        self._size += len(kept)
        while self._size > CAPACITY or len(self._chunks) - self._head > _MOST_CHUNKS:
            self._drop_front()

    def first(self, kind: int) -> int:
        """The offset of the first byte of a kind that is still kept."""
        return self.totals.get(kind, 0) - self._kept.get(kind, 0)

    def read(self, position: int, most: int) -> tuple[int, bytes, int] | None:
        """`(kind, bytes, next position)` from `position` on, None at the end."""
        piece = self.piece(position, most)
        return None if piece is None else (piece.kind, piece.data, piece.next)

    def piece(self, position: int, most: int) -> Piece | None:
        """What is kept from `position` on, at most so many bytes; None at the end."""
        at = bisect_right(self._chunks, position, lo=self._head, key=lambda chunk: chunk.start) - 1
        at = max(at, self._head)
        while at < len(self._chunks):
            chunk = self._chunks[at]
            skip = max(0, position - chunk.start)
            if skip < len(chunk.data):
                data = bytes(chunk.data[skip : skip + most])
                return Piece(chunk.kind, chunk.offset + skip, data, chunk.start + skip + len(data))
            at += 1
        return None

    def _drop_front(self) -> None:
        front = self._chunks[self._head]
        excess = self._size - CAPACITY
        if 0 < excess < len(front.data):
            del front.data[:excess]
            front.start += excess
            front.offset += excess
            self._kept[front.kind] -= excess
            self._size = CAPACITY
            return
        self._size -= len(front.data)
        self._kept[front.kind] -= len(front.data)
        self._head += 1
        if self._head > len(self._chunks) // 2:
            del self._chunks[: self._head]
            self._head = 0
