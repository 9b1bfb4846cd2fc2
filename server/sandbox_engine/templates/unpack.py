"""Unpacks a tar that may be hostile into an empty folder.

Every member is reached by descriptor, one component at a time, never through a symbolic
link: nothing outside the folder can be named, whatever was unpacked before.  Absolute
names, `..`, hard links out of the tree and devices are refused.  Symbolic links are
kept as they are: what they mean inside the guest is the guest's business, and here
nobody follows them.

Device nodes below `dev/` are left out instead: container and bootstrap tools write a few
there, and every guest mounts its own /dev over them.
"""

from __future__ import annotations

import contextlib
import errno
import lzma
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Self

from msgspec import Struct

CHUNK = 1 << 20
CAPABILITY = "security.capability"
PAX_CAPABILITY = f"SCHILY.xattr.{CAPABILITY}"


class BadTree(Exception):
    """The archive is broken, hostile or too large; the message names the member."""


class Limits(Struct, frozen=True):
    """How much may be unpacked."""

    max_bytes: int
    max_entries: int


Rename = Callable[[str], str | None]
"""A member's name (no leading `./`) to the one it is unpacked as; None leaves it out."""


def unpack(stream: IO[bytes], root: Path, limits: Limits, rename: Rename | None = None) -> None:
    """Unpack the tar in `stream` (plain, gzip, bzip2 or xz) below `root`.  Blocks.

    Owners, modes, times and file capabilities are kept, so it takes root.
    Raises `BadTree`, `OSError`.
    """
    with _Tree(root, limits, rename) as tree:
        try:
            with tarfile.open(fileobj=stream, mode="r|*", errorlevel=2) as archive:
                for member in archive:
                    tree.add(archive, member)
                    # It remembers every member otherwise.
                    archive.members.clear()  # type: ignore[attr-defined] # typeshed omits it
        except tarfile.TarError as error:
            raise BadTree(f"not a readable tar archive: {error}") from error
        except (EOFError, ValueError, ArithmeticError, zlib.error, lzma.LZMAError) as error:
            raise BadTree(f"a broken archive: {error}") from error
        tree.finish()


class _Tree:
    """The folder being filled."""

    def __init__(self, root: Path, limits: Limits, rename: Rename | None) -> None:
        self._limits, self._rename = limits, rename
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self._parent: tuple[tuple[str, ...], int] | None = None
        self._folders: list[tuple[tuple[str, ...], tarfile.TarInfo]] = []
        self._bytes = self._entries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._forget_parent()
        os.close(self._root)

    def add(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Unpack one member."""
        path = self._path(member.name)
        if path is None or self._is_covered_device(path, member):
            return
        self._count(member)
        if not path:
            if not member.isdir():
                raise BadTree(f"{member.name!r} is the root and no folder")
            self._folders.append((path, member))
            return
        with _blamed_on(member):
            self._make(archive, member, path, self._parent_of(path))

    def finish(self) -> None:
        """Give the folders their modes and times, which unpacking into them changes."""
        for path, member in reversed(self._folders):
            with _blamed_on(member):
                fd = self._open_folder(path, create=False)
                try:
                    _dress(fd, member)
                finally:
                    os.close(fd)

    def _path(self, name: str) -> tuple[str, ...] | None:
        parts = _parts(name, name)
        if self._rename is None:
            return parts
        renamed = self._rename("/".join(parts))
        return None if renamed is None else _parts(renamed, name)

    def _is_covered_device(self, path: tuple[str, ...], member: tarfile.TarInfo) -> bool:
        if not (member.ischr() or member.isblk()):
            return False
        if path[:1] == ("dev",):
            return True
        raise BadTree(f"{member.name!r} is a device; only /dev may hold those")

    def _count(self, member: tarfile.TarInfo) -> None:
        if member.size < 0:
            raise BadTree(f"{member.name!r} has a negative size")
        self._entries += 1
        self._bytes += member.size if member.isreg() else 0
        if self._entries > self._limits.max_entries:
            raise BadTree(f"more than {self._limits.max_entries} files")
        if self._bytes > self._limits.max_bytes:
            raise BadTree(f"more than {self._limits.max_bytes} bytes of files")

    def _make(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, path: tuple[str, ...], parent: int
    ) -> None:
        name = path[-1]
        if member.isdir():
            os.close(self._open_folder(path, create=True))
            self._folders.append((path, member))
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)  # a later member replaces; it never writes through
        if member.isreg():
            self._write(archive, member, name, parent)
        elif member.issym():
            os.symlink(member.linkname, name, dir_fd=parent)
            os.chown(name, member.uid, member.gid, dir_fd=parent, follow_symlinks=False)
        elif member.islnk():
            self._hard_link(member, name, parent)
        elif member.isfifo():
            os.mkfifo(name, member.mode & 0o7777, dir_fd=parent)
            os.chown(name, member.uid, member.gid, dir_fd=parent, follow_symlinks=False)
        else:
            raise BadTree(f"{member.name!r} is of an unknown kind")

    def _write(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, name: str, parent: int
    ) -> None:
        content = archive.extractfile(member)
        assert content is not None
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(name, flags, 0o600, dir_fd=parent)
        with os.fdopen(fd, "wb", buffering=0) as file:
            left = member.size
            while left:
                data = content.read(min(CHUNK, left))
                if not data:
                    raise BadTree(f"{member.name!r} is cut short")
                _write_all(file, data)
                left -= len(data)
            _dress(file.fileno(), member)

    def _hard_link(self, member: tarfile.TarInfo, name: str, parent: int) -> None:
        target = self._path(member.linkname)
        if not target:
            raise BadTree(f"{member.name!r} is a hard link to what was left out")
        folder = self._open_folder(target[:-1], create=False)
        try:
            found = os.stat(target[-1], dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISREG(found.st_mode):
                raise BadTree(f"{member.name!r} is a hard link to what is no file")
            os.link(target[-1], name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
        finally:
            os.close(folder)

    def _parent_of(self, path: tuple[str, ...]) -> int:
        """The folder of `path`, open; kept because its neighbours come next."""
        if self._parent is None or self._parent[0] != path[:-1]:
            self._forget_parent()
            self._parent = (path[:-1], self._open_folder(path[:-1], create=True))
        return self._parent[1]

    def _forget_parent(self) -> None:
        if self._parent is not None:
            os.close(self._parent[1])
            self._parent = None

    def _open_folder(self, path: tuple[str, ...], *, create: bool) -> int:
        """Open a folder of the tree, a component at a time, never through a link."""
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self._root)
        for part in path:
            try:
                if create:
                    _make_folder(part, fd)
                deeper = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            finally:
                os.close(fd)
            fd = deeper
        return fd


@contextlib.contextmanager
def _blamed_on(member: tarfile.TarInfo) -> Iterator[None]:
    """What the kernel refuses is the archive's fault, except where the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise BadTree(f"{member.name!r}: {error.strerror or error}") from error


def _parts(name: str, shown: str) -> tuple[str, ...]:
    if name.startswith("/"):
        raise BadTree(f"{shown!r} is an absolute name")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise BadTree(f"{shown!r} leaves the tree")
    return parts


def _make_folder(name: str, parent: int) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)


def _write_all(file: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _dress(fd: int, member: tarfile.TarInfo) -> None:
    """Owner, mode, capabilities, time: in this order, since each undoes those after it."""
    os.fchown(fd, member.uid, member.gid)
    os.fchmod(fd, member.mode & 0o7777)
    capability = member.pax_headers.get(PAX_CAPABILITY)
    if capability is not None:
        os.setxattr(fd, CAPABILITY, capability.encode(errors="surrogateescape"))
    os.utime(fd, (member.mtime, member.mtime))
