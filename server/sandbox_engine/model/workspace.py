"""A session's workspace: how long it lives, and who has it.  Pure (seed "Session volumes")."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from sandbox_engine.errors import InvalidArgument, SessionExpired, SessionLimit

DEFAULT_TTL_S = 7 * 24 * 3600
MAX_TTL_S = 30 * 24 * 3600


class Workspace(Struct, frozen=True, kw_only=True):
    """One workspace, as it is on record.

    The record outlives the volume by the longest lifetime, so that an owner who comes back
    is told that it expired and not that it never was.
    """

    owner: str
    """The caller's name; a key is unique among its owner's."""
    key: str
    volume: str
    """Name of its file; never used for another."""
    size_bytes: int
    created_at: float
    expires_at: float
    sandbox: str = ""
    """The sandbox that has it, or had it when the engine died."""
    clean: bool = True
    """It was unmounted in order since a guest last had it."""
    gone: bool = False
    """Its volume is removed."""

    def expired(self, now: float) -> bool:
        """Its time is over."""
        return self.gone or self.expires_at <= now


def granted(asked_s: int, max_ttl_s: int) -> int:
    """The lifetime that is given for what was asked: 0 is the default, too long is clamped."""
    if asked_s < 0:
        raise InvalidArgument("ttl_seconds", "must not be negative")
    return min(asked_s or DEFAULT_TTL_S, max_ttl_s)


def attached(found: Workspace, now: float, ttl_s: int, max_ttl_s: int) -> Workspace:
    """A create names it again: it lives at least as long as that create asked for."""
    end = min(now + granted(ttl_s, max_ttl_s), found.created_at + max_ttl_s)
    return replace(found, expires_at=max(found.expires_at, end))


def renewed(found: Workspace, now: float, extra_s: int, max_ttl_s: int) -> Workspace:
    """`extra_s` more, up to the platform's longest lifetime.

    Raises `SessionExpired`, `SessionLimit`, `InvalidArgument`.
    """
    if extra_s <= 0:
        raise InvalidArgument("extra_seconds", "must be at least 1")
    if found.expired(now):
        raise SessionExpired(f"session {found.key!r} has expired; its files are gone")
    limit = found.created_at + max_ttl_s
    if found.expires_at >= limit:
        raise SessionLimit(f"session {found.key!r} already has the longest lifetime, {max_ttl_s} s")
    return replace(found, expires_at=min(found.expires_at + extra_s, limit))
