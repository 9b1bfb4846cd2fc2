"""Who asks, as far as rules care.  Doors make these; nothing else about a door gets in."""

from __future__ import annotations

from msgspec import Struct


class Caller(Struct, frozen=True, kw_only=True):
    """The party behind one request."""

    name: str
    """For logs and idempotency scopes: `uid:1000`, `local`, `token:ci`."""
    uid: int | None = None
    """Peer uid where the door knows it; caps per uid count by it."""
    session: str | None = None
    """The connection or attach stream the call belongs to.  Sandboxes created under a
    session die with it, and a caller bound to one (`confined`) sees only its own."""
    confined: bool = False
