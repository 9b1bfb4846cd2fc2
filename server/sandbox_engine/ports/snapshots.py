"""What the engine needs of its store of saved states.

A record is published whole or not at all, and replaced in one step; a layer is kept as
long as a record or a sandbox holds it.  Every store passes `tests/snapshots/test_store.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct

from sandbox_engine.model.snapshot import Kind, Record


class Files(Protocol):
    """The two files of a state, open; they stay readable whatever happens to the record.

    A context manager, or `close()` it.
    """

    @property
    def memory_fd(self) -> int:
        """What `Machine.save_memory` writes."""

    @property
    def state_fd(self) -> int:
        """What `Machine.save_state` writes."""

    def close(self) -> None:
        """Close both; an unpublished draft is gone with it.  Idempotent."""

    def __enter__(self) -> Self:
        """Hold them."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close them."""


class Space(Struct, frozen=True, kw_only=True):
    """What the store takes, in bytes on disk."""

    records: int
    layers: int


class SnapshotStore(Protocol):
    """Records, and the disk layers under them."""

    def draft(self) -> Files:
        """Files to save a state into.  Raises `NoSpace`."""

    def copy(self, files: Files) -> Files:
        """A draft with the content of other files.  Raises `NoSpace`."""

    async def publish(self, draft: Files, record: Record) -> None:
        """Make the draft the state called `record.id`, in place of an earlier one.

        Durable when it returns, its layers too.  Raises `NoSpace`; then nothing changed.
        """

    def find(self, record_id: str) -> Record | None:
        """The record, if there is one."""

    def open(self, record_id: str) -> Files:
        """Its files.  Raises `SnapshotNotFound`, `SnapshotCorrupt`."""

    def amend(self, record: Record) -> None:
        """Put another record over the same files.  Raises `SnapshotNotFound`, `NoSpace`."""

    def all(self, kind: Kind) -> list[Record]:
        """Every record of a kind, newest first."""

    def remove(self, record_id: str) -> bool:
        """Remove a record and give back its layers; whether there was one."""

    def layer(self, name: str) -> Path:
        """Where a layer is."""

    def add_layer(self, name: str, disk: Path) -> None:
        """Name `disk` a layer, held once.  It is written on until `seal_layer`."""

    def seal_layer(self, name: str) -> None:
        """Nobody writes it any more: readable by every VMM, writable by none."""

    def hold(self, layers: Iterable[str]) -> None:
        """Keep these layers until they are released as often."""

    def release(self, layers: Iterable[str]) -> None:
        """Give them back; what nobody holds is deleted."""

    def sweep(self) -> None:
        """Delete what nobody holds, and drafts of an earlier engine."""

    def space(self) -> Space:
        """What it takes now."""
