"""Identifiers: made here so that their forms are written down once."""

from __future__ import annotations

import hashlib
import os
import secrets


def new_sandbox_id() -> str:
    """`sb_` and 20 hex digits: unguessable, and a valid host name label."""
    return "sb_" + os.urandom(10).hex()


def new_token() -> str:
    """A session token: 64 hex digits (seed "Wire protocol")."""
    return secrets.token_hex(32)


def token_hash(token: str) -> str:
    """The only form in which a token is kept."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_machine_id() -> str:
    """The content of /etc/machine-id: 32 hex digits."""
    return os.urandom(16).hex()
