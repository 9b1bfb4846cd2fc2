"""How long a claim may be left alone before it is hibernated, archived and deleted.  Pure."""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument


class IdleRule(Struct, frozen=True, kw_only=True):
    """Seconds; 0 is never."""

    hibernate_s: float = 0
    archive_s: float = 0
    delete_s: float = 0

    def check(self) -> None:
        """Raise `InvalidArgument`, naming the field."""
        if min(self.hibernate_s, self.archive_s, self.delete_s) < 0:
            raise InvalidArgument("idle_hibernate_seconds", "no duration may be negative")
        if self.archive_s and self.archive_s <= self.hibernate_s:
            raise InvalidArgument("archive_after_seconds", "must be above idle_hibernate_seconds")

    def __bool__(self) -> bool:
        """Whether it says anything."""
        return bool(self.hibernate_s or self.archive_s or self.delete_s)


NO_RULE = IdleRule()
"""Says nothing: what is left alone is left alone."""
