"""What the engine needs of the volumes of sessions: files that become disks."""

from __future__ import annotations

from typing import Protocol


class Volumes(Protocol):
    """The volumes on this host, each known by a name that is never used again."""

    async def make(self, volume: str, size_bytes: int) -> None:
        """Make an empty one; it is whole or it is not there.  Raises `NoSpace`, `VmmError`."""

    async def repair(self, volume: str) -> None:
        """Put in order what a guest that ended at once left.  Raises `WorkspaceDamaged`."""

    def open(self, volume: str) -> int:
        """A descriptor to read and write it; the caller closes it.  Raises `WorkspaceDamaged`."""

    def remove(self, volume: str) -> None:
        """Remove it.  Idempotent."""

    def used_bytes(self, volume: str) -> int:
        """The space it takes on the host."""

    def names(self) -> list[str]:
        """Every volume there is."""
