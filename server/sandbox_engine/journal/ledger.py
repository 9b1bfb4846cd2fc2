"""`ports.ledger` on plain files."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from sandbox_engine.errors import InvalidArgument, NoSpace

ROTATE_AT = 64 << 20
"""Size at which a ledger becomes `.1` and starts anew (seed "Usage journal")."""
MODE = 0o640
_log = structlog.get_logger(__name__)


class LineFile:
    """A ledger: one `write` a line, to a file opened for appending.

    A line that an earlier engine left torn (only a full disk or a power loss does that)
    is cut off when the file is opened.
    """

    def __init__(self, path: Path, rotate_at: int = ROTATE_AT) -> None:
        self._path, self._rotate_at = path, rotate_at
        self._fd = -1
        self._size = 0
        self._broken = False
        try:
            self._open()
        except OSError as error:
            raise InvalidArgument(path.name, f"cannot open {path}: {error.strerror}") from error

    def append(self, line: bytes) -> None:
        """See `ports.ledger.Ledger`."""
        data = line + b"\n"
        try:
            if self._size and self._size + len(data) > self._rotate_at:
                self._rotate()
            written = os.write(self._fd, data)
            if written < len(data):  # the disk is full: take the torn piece back
                os.ftruncate(self._fd, self._size)
                self._complain("no space for a whole line")
                return
        except OSError as error:
            self._complain(str(error))
            return
        self._size += written
        self._broken = False

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, MODE)
        self._size = _end_of_last_line(self._fd)
        os.ftruncate(self._fd, self._size)

    def _rotate(self) -> None:
        os.close(self._fd)
        self._path.replace(self._path.with_name(self._path.name + ".1"))
        self._open()

    def _complain(self, problem: str) -> None:
        if not self._broken:  # once, not a line a line
            _log.error("a ledger cannot be written", path=str(self._path), error=problem)
        self._broken = True


def _end_of_last_line(fd: int) -> int:
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - 65536)
        at = os.pread(fd, end - start, start).rfind(b"\n")
        if at >= 0:
            return start + at + 1
        end = start
    return 0


class FileDocument:
    """A document: written beside, synced, renamed."""

    def __init__(self, path: Path, mode: int = 0o644) -> None:
        self._path, self._mode = path, mode

    def load(self) -> bytes | None:
        """See `ports.ledger.Document`."""
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InvalidArgument(self._path.name, f"cannot read it: {error.strerror}") from error

    def save(self, content: bytes) -> None:
        """See `ports.ledger.Document`."""
        partial = self._path.with_name(self._path.name + ".partial")
        try:
            partial.unlink(missing_ok=True)
            fd = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, self._mode)
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(self._path)
            _sync_folder(self._path.parent)
        except OSError as error:
            raise NoSpace(f"cannot write {self._path}: {error.strerror}") from error


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
