"""Whole trees by descriptor: what is walked is what was opened, whatever is renamed meanwhile."""

from __future__ import annotations

import os
import stat

from sandbox_guest.pace import Pace

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def kind_of(mode: int) -> str:
    """`file`, `dir`, `symlink` or `other`."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "dir"
    return "symlink" if stat.S_ISLNK(mode) else "other"


async def remove(parent: int, name: str, *, recursive: bool) -> None:
    """Remove `name` in the folder `parent`: a file, a link, an empty folder, or a tree.

    Never follows a link.  Gives way to other work; what is removed when it is cancelled
    stays removed.  Raises `OSError`, ENOTEMPTY for a tree without `recursive`.
    """
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=parent)
    elif recursive:
        await _remove_tree(parent, name)
    else:
        os.rmdir(name, dir_fd=parent)


async def _remove_tree(parent: int, name: str) -> None:
    """Depth first with a stack of open folders: no recursion, no path is ever rebuilt."""
    pace = Pace()
    stack = [_Level(parent, name)]
    try:
        while stack:
            await pace()
            top = stack[-1]
            below = top.next_folder()
            if below is not None:
                stack.append(_Level(top.fd, below))
                continue
            stack.pop().close()
            os.rmdir(top.name, dir_fd=stack[-1].fd if stack else parent)
    finally:
        for level in stack:
            level.close()


class _Level:
    """One folder being emptied."""

    __slots__ = ("_names", "fd", "name")

    def __init__(self, parent: int, name: str) -> None:
        self.name = name
        self.fd = os.open(name, _FOLDER, dir_fd=parent)
        self._names = os.listdir(self.fd)  # noqa: PTH208 - of a descriptor, not of a path

    def next_folder(self) -> str | None:
        """Remove entries until a folder comes; None once there are none."""
        while self._names:
            name = self._names.pop()
            try:
                os.unlink(name, dir_fd=self.fd)
            except IsADirectoryError:
                return name
            except FileNotFoundError:
                continue  # somebody else was faster
        return None

    def close(self) -> None:
        os.close(self.fd)
