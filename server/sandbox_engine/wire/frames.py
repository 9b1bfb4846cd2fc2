"""The frames of the legacy socket: a 4-byte big-endian length and that many bytes.

Pure: bytes in, payloads out, and the limit is looked at before any byte of the body.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct(">I")
MAX_REQUEST = 256 << 10
"""Longest payload from a client; 64 KiB of input and an argv fit."""
MAX_REPLY = 64 << 10
"""Longest payload to a client (seed "Functions")."""


class FrameTooLarge(Exception):
    """A length over the limit: the stream cannot be followed any further."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"a frame of {size} bytes; the limit is {limit}")
        self.size, self.limit = size, limit


def encode(payload: bytes, limit: int = MAX_REPLY) -> bytes:
    """One frame.  Raises `FrameTooLarge`."""
    if len(payload) > limit:
        raise FrameTooLarge(len(payload), limit)
    return HEADER.pack(len(payload)) + payload


class FrameDecoder:
    """Cuts a byte stream into payloads, one `next()` at a time.

    Payloads are taken singly so that a reader may stop between two of them; what it has
    not taken stays here.  Bytes that arrive as whole frames are not copied on the way in.
    """

    __slots__ = ("_at", "_buffer", "_limit")

    def __init__(self, limit: int = MAX_REQUEST) -> None:
        self._limit = limit
        self._buffer: bytes | bytearray = b""
        self._at = 0

    def feed(self, data: bytes) -> None:
        """Absorb `data`."""
        if self._at == len(self._buffer):
            self._buffer, self._at = data, 0
            return
        rest = self._buffer
        if isinstance(rest, bytearray):
            del rest[: self._at]  # in place: CPython moves an offset, not the bytes
        else:
            rest = bytearray(rest[self._at :])
        rest += data
        self._buffer, self._at = rest, 0

    def next(self) -> bytes | None:
        """The next payload, None until it is there.  A raise ends the stream.

        Raises `FrameTooLarge`.
        """
        start = self._at + HEADER.size
        if start > len(self._buffer):
            return None
        (size,) = HEADER.unpack_from(self._buffer, self._at)
        if size > self._limit:
            raise FrameTooLarge(size, self._limit)
        if start + size > len(self._buffer):
            return None
        self._at = start + size
        return bytes(self._buffer[start : self._at])
