"""The public guest protocol between its two wires: lines of JSON, and messages of the channel.

Pure.  A client speaks NDJSON with base64 in `data`; the agent speaks `sandbox_guest.framing`.
Control lines pass through as they are, unread.  Bulk is found by the form in which clients
write it and translated by slicing; only a bulk line of another form is parsed as JSON.

What is no frame at all is passed on too: the agent judges it, in its place among the
requests before it.  Only a line over the limit ends the stream, which cannot be followed
any further.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error

import msgspec
from pybase64 import b64decode, b64encode
from sandbox_guest.framing import FrameKind, Message

MAX_LINE = 8 << 20
"""Longest line in either direction, its newline included."""
BULK_PIECE = 3 << 20
"""Bytes of bulk in one line at most; their base64 stays below `MAX_LINE`."""

_HEADS = {
    FrameKind.STDOUT: b'{"type":"stdout","data":"',
    FrameKind.STDERR: b'{"type":"stderr","data":"',
    FrameKind.DATA: b'{"type":"data","data":"',
}
_TAIL = b'"}\n'
_OVERSIZED = b'{"type":"error","kind":"internal","message":"a reply over the 8 MiB of a frame"}\n'
_OPS = {b"stdin": FrameKind.STDIN, b"data": FrameKind.DATA}
_BULK = re.compile(
    rb'\s*\{\s*(?:"v"\s*:\s*1\s*,\s*)?"op"\s*:\s*"(stdin|data)"\s*,'
    rb'\s*(?:"v"\s*:\s*1\s*,\s*)?"data"\s*:\s*"'
)
_BULK_END = re.compile(rb'"\s*\}\s*\Z')
_END_SPAN = 16  # how much of a line's end is looked at; more white space is the slow path's


class LineTooLong(Exception):
    """A line over `MAX_LINE`: where the next one starts is not known."""


class _Loose(msgspec.Struct):
    """A bulk line that has its fields in another order, or more of them."""

    op: str = ""
    data: str | None = None


_decode_loose = msgspec.json.Decoder(_Loose).decode


class LineDecoder:
    """Cuts a client's bytes into lines, each translated into a message for the agent.

    Holds at most one line that has not arrived whole.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """Absorb `data`; the messages that it completed.  A raise ends the stream.

        Raises `LineTooLong`, after which nothing may be fed.
        """
        messages: list[Message] = []
        start, end = 0, data.find(b"\n")
        if self._held and end >= 0:
            self._hold(data[:end])
            messages.append(_translate(self._held))
            self._held = bytearray()
            start, end = end + 1, data.find(b"\n", end + 1)
        while end >= 0:
            if end - start >= MAX_LINE:
                raise LineTooLong
            messages.append(_translate(data[start:end]))
            start, end = end + 1, data.find(b"\n", end + 1)
        if start < len(data):
            self._hold(data[start:])
        return [message for message in messages if message[1] or message[0] != FrameKind.CONTROL]

    def _hold(self, data: bytes) -> None:
        if len(self._held) + len(data) >= MAX_LINE:
            raise LineTooLong
        self._held += data


def _translate(line: bytes | bytearray) -> Message:
    head = _BULK.match(line)
    if head is not None:
        tail = _BULK_END.search(line, max(head.end(), len(line) - _END_SPAN))
        if tail is not None:
            body = _decoded(memoryview(line)[head.end() : tail.start()])
            if body is not None:
                return _OPS[head[1]], body
    if b'"data"' in line and (message := _loose(line)) is not None:
        return message
    return FrameKind.CONTROL, bytes(line).strip()


def _decoded(text: memoryview | bytes) -> bytes | None:
    try:
        return b64decode(text, validate=True)
    except Base64Error:
        return None


def _loose(line: bytes | bytearray) -> Message | None:
    try:
        frame = _decode_loose(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    kind = _OPS.get(frame.op.encode(errors="replace"))
    if kind is None or frame.data is None:
        return None
    body = _decoded(frame.data.encode(errors="replace"))
    return None if body is None else (kind, body)


def encode(kind: int, body: bytes) -> list[bytes]:
    """One message of the agent as what a client reads, in pieces to be written in order."""
    if kind == FrameKind.CONTROL:
        return [body, b"\n"] if len(body) < MAX_LINE else [_OVERSIZED]
    head = _HEADS[FrameKind(kind)]
    if len(body) <= BULK_PIECE:
        return [head, b64encode(body), _TAIL]
    pieces: list[bytes] = []
    for start in range(0, len(body), BULK_PIECE):
        pieces += encode(kind, body[start : start + BULK_PIECE])
    return pieces
