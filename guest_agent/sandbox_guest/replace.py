"""Write a file in pieces so that readers see the old one or the whole new one."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from typing import Self

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_DEFAULT_MODE = 0o644


class Replacement:
    """A temporary file beside its target; `commit()` renames it, leaving the block drops it.

    An overwritten file's owner is kept, and its mode where none is given.
    """

    def __init__(self, parent: int, name: str, mode: int | None = None) -> None:
        """Begin in the folder `parent`, which stays the caller's.  Raises `OSError`."""
        self._parent, self._name = parent, name
        self._temporary = f".{name[:200]}.{os.urandom(6).hex()}.tmp"
        self._fd = os.open(self._temporary, _NEW, 0o600, dir_fd=parent)
        try:
            self._dress(mode)
        except BaseException:
            self._drop()
            raise

    def _dress(self, mode: int | None) -> None:
        try:
            old = os.stat(self._name, dir_fd=self._parent, follow_symlinks=False)
        except FileNotFoundError:
            old = None
        if old is not None and stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        if old is not None and stat.S_ISREG(old.st_mode):
            os.fchown(self._fd, old.st_uid, old.st_gid)
            mode = stat.S_IMODE(old.st_mode) if mode is None else mode
        os.fchmod(self._fd, _DEFAULT_MODE if mode is None else mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()

    def write(self, data: bytes) -> None:
        """Append `data`.  Raises `OSError`."""
        write_all(self._fd, data)

    def commit(self, *, exclusive: bool = False) -> None:
        """Put it in place; `exclusive` raises `FileExistsError` if the name was taken."""
        if exclusive:  # a link fails where a rename would replace
            os.link(self._temporary, self._name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
            return  # the temporary name goes with `_drop`
        os.rename(self._temporary, self._name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
        self._temporary = ""

    def _drop(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        if self._temporary:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=self._parent)
            self._temporary = ""


def write_all(fd: int, data: bytes) -> None:
    """Write every byte.  Raises `OSError`."""
    size = os.write(fd, data)
    while size < len(data):
        data = data[size:]
        size = os.write(fd, data)
