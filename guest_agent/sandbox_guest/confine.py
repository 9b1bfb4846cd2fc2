"""Open paths beneath a folder, held there by the kernel.

`openat2` with RESOLVE_BENEATH refuses every way out (`..`, symbolic links, absolute
ones included, and magic links) while it walks, so there is no moment between check and
use.  A folder that is a mount of its own cannot be left by a hard link either.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path
from typing import Self

from sandbox_guest.linux import syscall

_OPENAT2 = 437
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_DIRECTORY = os.O_DIRECTORY | os.O_CLOEXEC


class Folder:
    """An open folder that paths are resolved against; a context manager that closes it."""

    def __init__(self, path: str, *, beneath: bool) -> None:
        """Open `path`.  With `beneath` nothing outside can be reached.  Raises `OSError`."""
        self._resolve = _NO_MAGICLINKS | (_BENEATH if beneath else 0)
        self.fd = os.open(path, os.O_PATH | _DIRECTORY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def open(self, path: str, flags: int, mode: int = 0) -> int:
        """Open the relative `path`.  Raises `OSError`, EXDEV for a way out."""
        return self.open_at(self.fd, path, flags, mode)

    def open_at(self, at: int, path: str, flags: int, mode: int = 0) -> int:
        """The same from the folder `at` beneath this one."""
        how = struct.pack("=QQQ", flags | os.O_CLOEXEC, mode, self._resolve)
        return syscall(_OPENAT2, at, os.fsencode(path or "."), how, ctypes.c_size_t(len(how)))

    def parent(self, path: str) -> tuple[int, str]:
        """An open descriptor of the folder that holds `path`, and its last name."""
        folder, _, name = path.rpartition("/")
        return self.open(folder, os.O_PATH | os.O_DIRECTORY), name

    def make(self, path: str, mode: int, *, parents: bool) -> None:
        """Make the folder `path`; with `parents` those above it too, and it may exist.

        `mode` is the last one's, whatever the umask is.  Raises `OSError`.
        """
        names = path.split("/")
        at = os.dup(self.fd)
        try:
            for depth, name in enumerate(names, 1):
                last = depth == len(names)
                made = (last or parents) and _make_one(at, name, may_exist=parents)
                below = self.open_at(at, name, os.O_PATH | os.O_DIRECTORY)
                if made and last:  # by descriptor: the name may be another folder's by now
                    Path(f"/proc/self/fd/{below}").chmod(mode)
                os.close(at)
                at = below
        finally:
            os.close(at)


def _make_one(at: int, name: str, *, may_exist: bool) -> bool:
    """True if it was not there before."""
    try:
        os.mkdir(name, dir_fd=at)
    except FileExistsError:
        if not may_exist:
            raise
        return False
    return True
