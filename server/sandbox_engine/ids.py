"""Identifiers and tokens: made here so that their forms are written down once."""

from __future__ import annotations

import hashlib
import hmac
import os
from pathlib import Path
from typing import Self

_PREFIX = "sb_"


def new_sandbox_id() -> str:
    """`sb_` and 20 hex digits: unguessable, and nearly a host name label."""
    return _PREFIX + os.urandom(10).hex()


def new_machine_id() -> str:
    """The content of /etc/machine-id: 32 hex digits."""
    return os.urandom(16).hex()


class TokenMint:
    """Makes each sandbox's token from its id and the node's key.

    A token is never stored: whoever may be told it again (a replayed create, the
    operator reading one sandbox) is told the same one, and a stolen journal holds none.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    @classmethod
    def load(cls, path: Path) -> Self:
        """The node's key; made, readable by root only, where there is none yet."""
        try:
            return cls(path.read_bytes())
        except FileNotFoundError:
            key = os.urandom(32)
            partial = path.with_suffix(".partial")
            partial.touch(mode=0o600)
            partial.write_bytes(key)
            partial.replace(path)
            return cls(key)

    def token(self, sandbox_id: str) -> str:
        """64 hex digits (seed "Wire protocol")."""
        return hmac.new(self._key, sandbox_id.encode(), hashlib.sha256).hexdigest()

    def session_token(self, sandbox_id: str) -> str:
        """64 hex digits, by which its guest is known to the broker and to nobody else.

        The sandbox's id and a MAC of 176 bits: whose it is need not be looked up.
        """
        identifier = sandbox_id.removeprefix(_PREFIX)
        mac = hmac.new(self.key_for("session"), sandbox_id.encode(), hashlib.sha256)
        return (identifier + mac.hexdigest())[:64]

    def session_owner(self, token: str) -> str | None:
        """The id of the sandbox whose session token this is, in constant time."""
        sandbox_id = _PREFIX + token[:20]
        known = self.session_token(sandbox_id).encode()
        return sandbox_id if hmac.compare_digest(known, token.encode()) else None

    def key_for(self, purpose: str) -> bytes:
        """Another key, made of the node's."""
        return hmac.new(self._key, b"key\0" + purpose.encode(), hashlib.sha256).digest()

    def matches(self, sandbox_id: str, token: str) -> bool:
        """Whether `token` is that sandbox's, in constant time."""
        return hmac.compare_digest(self.token(sandbox_id).encode(), token.encode())
