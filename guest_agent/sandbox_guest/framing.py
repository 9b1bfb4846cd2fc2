"""The agent's messages on one stream of the channel: JSON for control, raw bytes for bulk.

Pure: bytes in, messages out.  A message is `kind u8, length u32` (big endian) and a
body.  Control is one JSON object, as a client would see it on a line; bulk is the bytes
themselves, since base64 costs an emulated guest more than the copy does.

A bulk message is handed on in pieces as its bytes arrive: for every reader here a
bulk kind is a byte stream and message boundaries in it carry no meaning.
"""

from __future__ import annotations

import enum
import json
import struct
from typing import Any

HEADER = struct.Struct(">BI")
MAX_CONTROL = 8 << 20
"""Largest control message, as on the public wire."""


class FrameKind(enum.IntEnum):
    """What a message carries."""

    CONTROL = 1
    STDOUT = 2
    STDERR = 3
    STDIN = 4
    DATA = 5


Message = tuple[int, bytes]
"""`(kind, body)`: a whole control message, or a piece of bulk."""

Control = dict[str, Any]


class FramingError(Exception):
    """The stream holds what no message is."""


def control(message: Control) -> bytes:
    """Encode one control message."""
    body = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(
        errors="surrogateescape"
    )
    return HEADER.pack(FrameKind.CONTROL, len(body)) + body


def control_text(message: Control) -> bytes:
    """The same for a reader of plain JSON: a file name that is not UTF-8 is shown, not escaped."""
    encoded = control(message)
    try:
        encoded.decode()
    except UnicodeDecodeError:
        body = encoded[HEADER.size :].decode(errors="replace").encode()
        encoded = HEADER.pack(FrameKind.CONTROL, len(body)) + body
    return encoded


def parse_control(body: bytes) -> Control:
    """Decode one control message.  Raises `FramingError`."""
    try:
        message = json.loads(body.decode(errors="surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise FramingError(f"not JSON: {error}") from error
    if not isinstance(message, dict):
        raise FramingError("a control message is a JSON object")
    return message


def bulk_header(kind: FrameKind, size: int) -> bytes:
    """The header of a bulk message of `size` bytes, to be followed by the bytes."""
    return HEADER.pack(kind, size)


class FrameDecoder:
    """Cuts a byte stream into messages."""

    __slots__ = ("_buffer", "_kind", "_left", "_need")

    def __init__(self) -> None:
        self._buffer = bytearray()  # the start of what has not arrived whole
        self._need = 0  # how long that must be before it is looked at again
        self._kind = 0
        self._left = 0  # bytes of a bulk message still to come

    def feed(self, data: bytes) -> list[Message]:
        """Absorb `data`; return what it completed.  A raise ends the stream.

        Bulk is a view of `data` if that was one (`events.Data`); control is always bytes.
        """
        kept = self._buffer
        if kept:
            kept += data
            if len(kept) < self._need:
                return []
            data = bytes(kept)
            kept.clear()
        if self._left >= len(data):  # the common case of a bulk stream
            self._left -= len(data)
            return [(self._kind, data)] if data else []
        messages: list[Message] = []
        at, end = 0, len(data)
        while at < end:
            start = at
            at = self._take(data, at, messages)
            if at == start:
                kept += data[at:]
                break
        return messages

    def _take(self, data: bytes, at: int, messages: list[Message]) -> int:
        """Where the next message starts; `at` itself if `_need` bytes are not here yet."""
        if self._left:
            piece = data[at : at + self._left]
            self._left -= len(piece)
            messages.append((self._kind, piece))
            return at + len(piece)
        body = at + HEADER.size
        self._need = HEADER.size
        if len(data) < body:
            return at
        size: int
        kind, size = HEADER.unpack_from(data, at)
        if not FrameKind.CONTROL <= kind <= FrameKind.DATA:
            raise FramingError(f"unknown message kind {kind}")
        if kind != FrameKind.CONTROL:
            self._kind, self._left = kind, size
            return body
        if size > MAX_CONTROL:
            raise FramingError(f"a control message of {size} bytes; the limit is {MAX_CONTROL}")
        self._need += size
        if len(data) < body + size:
            return at
        messages.append((FrameKind.CONTROL, bytes(data[body : body + size])))
        return body + size
