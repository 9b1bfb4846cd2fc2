"""Passes to a port of a sandbox, signed: what is in a preview's address.  Pure.

A pass names the sandbox, the port, the node that owns it and when it ends.  Nothing is
kept of it: a sandbox that is gone takes its passes along.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

import msgspec
from msgspec import Struct

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.sandbox import MAX_LEASE_S

DEFAULT_S = 3600
"""How long an address lives that asks for no time, unless the lease ends before."""
MAX_PASS = 1024


class PreviewRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of the call."""

    token: str = ""
    port: int = 0
    ttl_seconds: int = 0

    def check(self) -> None:
        """Raise `InvalidArgument`, naming the field."""
        if not 1 <= self.port <= 65535:
            raise InvalidArgument("port", "must be 1 to 65535")
        if self.ttl_seconds < 0:
            raise InvalidArgument("ttl_seconds", "must not be negative")


class Pass(Struct, frozen=True, array_like=True):
    """What is signed."""

    sandbox: str
    port: int
    owner: str
    """Where the node that has the sandbox is reached; empty for one that says nothing of it."""
    expires: int
    """Unix seconds."""


_decoder = msgspec.json.Decoder(Pass)


def ends_at(asked_s: int, now: float, deadline: float | None) -> int:
    """When a pass ends: never after the lease, and after a day at most."""
    end = now + min(asked_s or DEFAULT_S, MAX_LEASE_S)
    return int(end if deadline is None else min(end, deadline))


def sign(key: bytes, what: Pass) -> str:
    """The word for an address: letters, digits, `-`, `_` and one dot."""
    return _word(key, msgspec.json.encode(what))


def read(key: bytes, word: str) -> Pass | None:
    """The pass that `word` is; None unless the key's holder signed it.

    Whether it has expired is the caller's to see.
    """
    if len(word) > MAX_PASS:
        return None
    try:
        body = _bytes(word.partition(".")[0])
    except (binascii.Error, ValueError):
        return None
    # Compared as text: base64 has several spellings of the same bytes, and one is ours.
    if not hmac.compare_digest(_word(key, body).encode(), word.encode(errors="replace")):
        return None
    try:
        return _decoder.decode(body)
    except msgspec.MsgspecError:
        return None


def _word(key: bytes, body: bytes) -> str:
    mac = hmac.new(key, b"preview\0" + body, hashlib.sha256).digest()
    return f"{_text(body)}.{_text(mac)}"


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
