"""Reads the server name of a TLS ClientHello (RFC 8446 4.1.2, RFC 6066 3).  Pure."""

from __future__ import annotations

import enum

MAX_HELLO = 64 << 10


class Peek(enum.Enum):
    """What the first bytes of a tunnel are, where they tell no name."""

    MORE = "more"
    """A ClientHello that is not complete yet."""
    OPAQUE = "opaque"
    """Something else than TLS."""
    UNNAMED = "unnamed"
    """A ClientHello without a name."""
    BROKEN = "broken"
    """It begins as TLS and goes on as nothing."""


def server_name(data: bytes) -> str | Peek:
    """The lower-case name that a ClientHello asks for."""
    if not data:
        return Peek.MORE
    if data[0] != 0x16 or (len(data) > 1 and data[1] != 3):
        return Peek.OPAQUE
    hello, at = b"", 0
    while len(data) - at >= 5 and data[at] == 0x16:
        size = int.from_bytes(data[at + 3 : at + 5])
        hello += data[at + 5 : at + 5 + size]
        at += 5 + size
        if len(hello) >= 4 and len(hello) >= 4 + int.from_bytes(hello[1:4]):
            return _name_in(hello[4 : 4 + int.from_bytes(hello[1:4])], hello[0])
    if at < len(data) and data[at] != 0x16:
        return Peek.BROKEN
    return Peek.MORE if len(data) < MAX_HELLO else Peek.BROKEN


def _name_in(body: bytes, kind: int) -> str | Peek:
    if kind != 1:
        return Peek.BROKEN
    try:
        return _extension(body)
    except (IndexError, ValueError):
        return Peek.BROKEN


def _extension(body: bytes) -> str | Peek:
    at = 34  # version and random
    at += 1 + body[at]  # session
    at += 2 + int.from_bytes(body[at : at + 2])  # cipher suites
    at += 1 + body[at]  # compressions
    end = at + 2 + int.from_bytes(body[at : at + 2])
    at += 2
    while at + 4 <= min(end, len(body)):
        kind = int.from_bytes(body[at : at + 2])
        size = int.from_bytes(body[at + 2 : at + 4])
        if kind == 0:
            entry = body[at + 4 : at + 4 + size]
            length = int.from_bytes(entry[3:5])
            if entry[2] != 0 or len(entry) != 5 + length:
                return Peek.BROKEN
            return entry[5:].decode("ascii").lower().removesuffix(".")
        at += 4 + size
    return Peek.UNNAMED
