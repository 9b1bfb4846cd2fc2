"""What the engine needs of catalog images on disk."""

from __future__ import annotations

from typing import Protocol


class VolumeImages(Protocol):
    """Images by their paths, and the marker beside one that a guest may be writing."""

    def size(self, path: str) -> int | None:
        """Bytes of the image; None where it cannot be had."""

    def open(self, path: str, *, writable: bool) -> int:
        """A descriptor, the caller's to close.  Raises `VmmError`."""

    def is_dirty(self, path: str) -> bool:
        """Whether the marker stands."""

    def mark(self, path: str) -> None:
        """Write the marker; durable when this returns.  Raises `NoSpace`."""

    def clear(self, path: str) -> None:
        """Remove the marker, unless the filesystem says itself that it was not left cleanly."""
