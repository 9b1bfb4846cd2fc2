"""`ports.volumes` on files: `IMAGE.dirty` beside an image that a guest may be writing."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import structlog

from sandbox_engine.errors import NoSpace, VmmError

_SUPERBLOCK, _MAGIC, _STATE, _INCOMPAT = 1024, 0x38, 0x3A, 0x60
_CLEAN, _RECOVER = 0x1, 0x4
"""ext4's own word (kernel documentation, "The Super Block"): unmounted, and a journal to replay."""
_log = structlog.get_logger(__name__)


class FileImages:
    """See `ports.volumes.VolumeImages`."""

    def size(self, path: str) -> int | None:
        """See `ports.volumes.VolumeImages`."""
        try:
            found = Path(path).stat()
        except OSError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def open(self, path: str, *, writable: bool) -> int:
        """See `ports.volumes.VolumeImages`."""
        try:
            return os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        except OSError as error:  # without the path, which is nobody's business
            raise VmmError(f"a volume's image cannot be opened: {error.strerror}") from error

    def is_dirty(self, path: str) -> bool:
        """See `ports.volumes.VolumeImages`."""
        return _marker(path).exists()

    def mark(self, path: str) -> None:
        """See `ports.volumes.VolumeImages`."""
        try:
            fd = os.open(_marker(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            _sync_folder(path)
        except OSError as error:
            raise NoSpace(f"a volume's marker cannot be written: {error.strerror}") from error

    def clear(self, path: str) -> None:
        """See `ports.volumes.VolumeImages`."""
        if not _left_cleanly(path):
            _log.warning("a volume was not left cleanly", image=path)
            return
        _marker(path).unlink(missing_ok=True)
        _sync_folder(path)


def _marker(path: str) -> Path:
    return Path(path + ".dirty")


def _sync_folder(path: str) -> None:
    fd = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _left_cleanly(path: str) -> bool:
    try:
        with Path(path).open("rb") as image:
            image.seek(_SUPERBLOCK)
            block = image.read(1024)
    except OSError:
        return False
    magic = int.from_bytes(block[_MAGIC : _MAGIC + 2], "little")
    state = int.from_bytes(block[_STATE : _STATE + 2], "little")
    incompat = int.from_bytes(block[_INCOMPAT : _INCOMPAT + 4], "little")
    return magic == 0xEF53 and bool(state & _CLEAN) and not incompat & _RECOVER
