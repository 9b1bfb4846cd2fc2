"""Volumes that are empty files."""

from __future__ import annotations

import os
from pathlib import Path

from sandbox_engine.errors import NoSpace, WorkspaceDamaged


class FakeVolumes:
    """`ports.workspaces.Volumes`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.repaired: list[str] = []
        self.damaged = self.full = False

    async def make(self, volume: str, size_bytes: int) -> None:
        if self.full:
            raise NoSpace("full")
        (self.folder / volume).touch()

    async def repair(self, volume: str) -> None:
        if self.damaged:
            raise WorkspaceDamaged("it cannot be repaired")
        self.repaired.append(volume)

    def open(self, volume: str) -> int:
        return os.open(self.folder / volume, os.O_RDWR | os.O_CLOEXEC)

    def remove(self, volume: str) -> None:
        (self.folder / volume).unlink(missing_ok=True)

    def used_bytes(self, volume: str) -> int:
        return 4096

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))
