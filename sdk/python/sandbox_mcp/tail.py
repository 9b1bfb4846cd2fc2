"""What a spawned command wrote, as far as it is kept."""

from __future__ import annotations

KEPT = 256 << 10
"""Bytes kept of each command; what is older is dropped, and said to be."""


class Tail:
    """The last `KEPT` bytes of a stream, by their place in it."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._data = bytearray()
        self._begin = 0

    @property
    def end(self) -> int:
        """Bytes written so far."""
        return self._begin + len(self._data)

    def append(self, data: bytes) -> None:
        """It wrote this."""
        self._data += data
        excess = len(self._data) - self._kept
        if excess > 0:
            del self._data[:excess]
            self._begin += excess

    def since(self, offset: int, most: int) -> tuple[int, bytes]:
        """What is kept from `offset` on, at most `most` bytes, and where that begins."""
        begin = min(max(offset, self._begin), self.end)
        at = begin - self._begin
        return begin, bytes(self._data[at : at + most])
