"""Folders that work is done in, and the locks that tell live work from what a crash left.

A work folder is locked (`flock` on the folder itself) for as long as the process that
made it is at it; the kernel lets go when that process ends, however it ends.  Whoever
finds an unlocked one may remove it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sandbox_engine.errors import TemplateBusy

PREFIX = "partial-"


@contextlib.contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """A new private folder (0700) below `parent`, removed at the end if it is still there.

    What is to stay is renamed out of it.
    """
    make_folders(parent)
    folder, lock = _locked_folder(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked_folder(parent: Path) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)  # a sweeper took it for stale before the lock was ours


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[bool]:
    """Hold a work folder of a process that is gone; yields False if somebody is at it."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    try:
        yield _try_lock(lock)
    finally:
        os.close(lock)


def stale_folders(parent: Path) -> list[Path]:
    """Work folders below `parent`, live ones too: `claimed` tells."""
    return sorted(parent.glob(PREFIX + "*"))


@contextlib.contextmanager
def exclusive(lock_file: Path, what: str) -> Iterator[None]:
    """Hold `lock_file`, or raise `TemplateBusy` at once if another process or call does."""
    make_folders(lock_file.parent)
    lock = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        if not _try_lock(lock):
            raise TemplateBusy(f"{what} is being built or removed by another call")
        yield
    finally:
        os.close(lock)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_folders(folder: Path) -> None:
    """Make `folder` and what is above it, passable to the VMMs' users whatever the umask."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)


def publish(source: Path, target: Path) -> None:
    """Move a finished file or folder to its place in one step, durably.

    Where another build was first with the same content, that one stays.  Nothing is
    seen at `target` before its bytes are on the disk.
    """
    make_folders(target.parent)
    _sync_tree(source)
    try:
        source.rename(target)
    except OSError:
        if not target.exists():
            raise
    sync(target.parent)


def link(target: Path, name: Path, work: Path) -> None:
    """Point the symbolic link `name` at `target`, in one step and durably.

    `work` is where unfinished work lies, on the same filesystem.
    """
    make_folders(name.parent)
    with work_folder(work) as folder:
        fresh = folder / "link"
        fresh.symlink_to(os.path.relpath(target, name.parent))
        fresh.replace(name)
    sync(name.parent)


def _sync_tree(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        for child in path.iterdir():
            _sync_tree(child)
    if not path.is_symlink():
        sync(path)


def sync(path: Path) -> None:
    """Put a file's or folder's content on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
