"""Watch a file, a folder, or a whole tree, by the kernel's inotify.

A tree is watched folder by folder, so a folder that appears while watching is walked as
soon as it is watched: what was put in it before is reported as created.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

from sandbox_guest import linux

_HEADER = struct.Struct("=iIII")
_READ = 64 << 10

_MODIFY = 0x002
_ATTRIB = 0x004
_MOVED_FROM = 0x040
_MOVED_TO = 0x080
_CREATE = 0x100
_DELETE = 0x200
_DELETE_SELF = 0x400
_OVERFLOW = 0x4000
_IGNORED = 0x8000
_DONT_FOLLOW = 0x2000000
_IS_FOLDER = 0x40000000
_CHANGES = _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF

Change = tuple[str, str]
"""`(kind, path)`: created, modified, deleted or renamed."""


class Overflow(Exception):
    """The kernel dropped events: what was reported is not all."""


class Watch:
    """An armed watch: from its construction on nothing is missed.

    `fd` is readable when `changes()` has something to say.
    """

    def __init__(self, path: str, *, recursive: bool) -> None:
        """Raises `OSError`; ENOSPC when the kernel grants no more watches."""
        self.fd = linux.inotify()
        self._recursive = recursive
        self._paths: dict[int, str] = {}
        self._moved: tuple[int, str] | None = None  # cookie and old path, until its other half
        try:
            if recursive and stat.S_ISDIR(Path(path).stat().st_mode):
                for _ in self._arm(path):
                    pass
            else:
                self._add(path, 0)
        except BaseException:
            os.close(self.fd)
            raise

    def close(self) -> None:
        """Watch no more."""
        os.close(self.fd)

    def changes(self) -> Iterator[Change]:
        """What happened since.  Raises `Overflow`."""
        try:
            data = os.read(self.fd, _READ)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            wd, mask, cookie, size = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            name = os.fsdecode(data[at : at + size].rstrip(b"\0"))
            at += size
            yield from self._change(wd, mask, cookie, name)
        if self._moved is not None:  # no other half came with it: it left the tree
            yield "deleted", self._moved[1]
            self._moved = None

    def _change(self, wd: int, mask: int, cookie: int, name: str) -> Iterator[Change]:
        if mask & _OVERFLOW:
            raise Overflow
        folder = self._paths.get(wd)
        if folder is None:
            return
        path = f"{folder.rstrip('/')}/{name}" if name else folder
        if self._moved is not None and not (mask & _MOVED_TO and cookie == self._moved[0]):
            yield "deleted", self._moved[1]
            self._moved = None
        if mask & _IGNORED:
            del self._paths[wd]
        elif mask & _MOVED_FROM:
            self._moved = (cookie, path)
        elif mask & _MOVED_TO:
            yield from self._arrived(path, bool(mask & _IS_FOLDER))
        elif mask & _CREATE:
            yield "created", path
            if self._recursive and mask & _IS_FOLDER:
                yield from self._arm(path)
        elif mask & _DELETE or (mask & _DELETE_SELF and len(self._paths) == 1):
            yield "deleted", path
        elif mask & (_MODIFY | _ATTRIB) and (name or not mask & _IS_FOLDER):
            yield "modified", path

    def _arrived(self, path: str, is_folder: bool) -> Iterator[Change]:
        if self._moved is None:
            yield "created", path
            if self._recursive and is_folder:
                yield from self._arm(path)
            return
        old, self._moved = self._moved[1], None
        yield "renamed", path
        if is_folder:  # its watches moved with it
            for wd, watched in self._paths.items():
                if watched == old or watched.startswith(old + "/"):
                    self._paths[wd] = path + watched[len(old) :]

    def _arm(self, folder: str) -> Iterator[Change]:
        """Watch `folder` and all below, then report what is in there already."""
        try:
            self._add(folder, _DONT_FOLLOW)
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            yield "created", entry.path
            if entry.is_dir(follow_symlinks=False):
                yield from self._arm(entry.path)

    def _add(self, path: str, flags: int) -> None:
        self._paths[linux.inotify_add(self.fd, path, _CHANGES | flags)] = path
