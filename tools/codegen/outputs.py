"""Compares a freshly generated tree with the committed one.

Generated folders hold nothing else than generated files and the few names in `BY_HAND`:
that is how a file whose proto is gone is found.
"""

from __future__ import annotations

import shutil
from pathlib import Path

BY_HAND = {"__init__.py", "py.typed"}
MIXED = {Path("proto"), Path("sdk/c/src"), Path("docs")}
"""Folders of sources that hold a generated file too: nothing in them is ever stale."""


def _files(tree: Path) -> set[Path]:
    return {path.relative_to(tree) for path in tree.rglob("*") if path.is_file()}


def stale(fresh: Path, committed: Path) -> list[Path]:
    """Committed files beside generated ones that are generated no longer."""
    made = _files(fresh)
    folders = {path.parent for path in made} - MIXED
    return sorted(
        path
        for folder in folders
        for path in (committed / folder).glob("*")
        if path.is_file() and path.name not in BY_HAND and path.relative_to(committed) not in made
    )


def differences(fresh: Path, committed: Path) -> list[str]:
    """Names of files that are missing, differ, or are generated no longer."""
    drift = [
        str(name)
        for name in sorted(_files(fresh))
        if not (committed / name).is_file()
        or (committed / name).read_bytes() != (fresh / name).read_bytes()
    ]
    return drift + [str(path.relative_to(committed)) for path in stale(fresh, committed)]


def publish(fresh: Path, committed: Path) -> None:
    """Copy what differs, so that unchanged files keep their times."""
    for name in differences(fresh, committed):
        if (fresh / name).is_file():
            (committed / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fresh / name, committed / name)
