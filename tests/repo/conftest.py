"""The tracked files, as every rule of this folder sees them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def tracked() -> list[Path]:
    """Every file that is, or is about to be, part of the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    paths = (ROOT / name for name in listing.split("\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


@pytest.fixture(scope="session")
def handwritten(tracked: list[Path]) -> list[Path]:
    """Source files that people wrote (generated code answers to the drift check)."""
    return [
        path
        for path in tracked
        if path.suffix in {".py", ".c", ".h", ".cpp", ".hpp", ".proto", ".sh"}
        and "gen" not in path.relative_to(ROOT).parts
    ]
