"""Names that follow from who asks and what it calls its session: pure (seed "Sessions")."""

from __future__ import annotations

import hashlib
import re
import secrets

from sandbox_api.errors import ApiError

MAX_KEY = 127
SESSION = re.compile(r"ses_[0-9a-f]{24}")
_KEY = re.compile(r"[\x20-\x7e]{1,127}")


def session_id(owner: str, key: str) -> str:
    """`ses_` and 24 hex digits of SHA-256; the same for the same owner and key, always."""
    return "ses_" + _digest("session", owner, key)[:24]


def workspace_key(owner: str, key: str) -> str:
    """The engine's key of that session's workspace: another owner's is another one."""
    return "api-" + _digest("workspace", owner, key)[:48]


def random_key() -> str:
    """For a session whose caller named none."""
    return "auto-" + secrets.token_hex(16)


def check_key(key: str) -> None:
    """1-127 printable bytes without a quote or a backslash, as the engine's.

    Raises `ApiError`.
    """
    if not _KEY.fullmatch(key) or '"' in key or "\\" in key:
        raise ApiError.invalid('key: must be 1-127 printable bytes without `"` or `\\`')


def _digest(what: str, owner: str, key: str) -> str:
    # Neither holds a NUL, so no two triples are hashed as the same bytes.
    return hashlib.sha256(f"{what}\0{owner}\0{key}".encode()).hexdigest()
