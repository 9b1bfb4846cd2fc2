"""`ports.templates.TemplatePins`: generations that a sandbox or a saved state stands on.

A pin is an empty file named by the generation's digest, because builders, which delete
replaced generations, are processes of their own.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path


class Pins:
    """Pins of one data folder; those of an earlier engine stay until `sweep()`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        self._folder = folder
        self._held: Counter[str] = Counter()

    def hold(self, digest: str) -> None:
        """See `ports.templates.TemplatePins`."""
        self._held[digest] += 1
        if digest and self._held[digest] == 1:
            (self._folder / digest).touch()

    def release(self, digest: str) -> None:
        """See `ports.templates.TemplatePins`."""
        self._held[digest] -= 1
        if self._held[digest] <= 0:
            del self._held[digest]
            (self._folder / digest).unlink(missing_ok=True)

    def sweep(self) -> None:
        """See `ports.templates.TemplatePins`."""
        for path in self._folder.iterdir():
            if path.name not in self._held:
                path.unlink(missing_ok=True)
