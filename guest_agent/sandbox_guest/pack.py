"""A file or a tree as a tar archive, piece by piece, from what the folders hold meanwhile."""

from __future__ import annotations

import os
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from sandbox_guest.stream import BULK_MAX

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_END = bytes(2 * tarfile.BLOCKSIZE)


def archive(path: str) -> Iterator[bytes]:
    """The archive of `path` under its own name: the file, or the folder and all below it.

    Some pieces are empty: a moment to let others work, between two small files.

    Devices, sockets and FIFOs are left out; what vanishes while it is read, too.
    Raises `OSError` for `path` itself.
    """
    status = Path(path).stat()
    if stat.S_ISDIR(status.st_mode):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        yield from _joined(_tree(fd, Path(path).name))
    else:
        folder, name = os.path.split(os.path.realpath(path))
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield from _joined(_entry(fd, name, Path(path).name))
        finally:
            os.close(fd)


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Small pieces together: a header each would be a message each.  Empty ones keep time."""
    small = bytearray()
    for piece in pieces:
        if len(piece) >= BULK_MAX:
            yield bytes(small)
            small.clear()
            yield piece
            continue
        small += piece
        whole = bytes(small[:BULK_MAX]) if len(small) >= BULK_MAX else b""
        del small[: len(whole)]
        yield whole
    yield bytes(small)
    yield _END


def _tree(top: int, shown: str) -> Iterator[bytes]:
    """The folder `top`, which is closed here, and every entry below it; `/` has no name."""
    prefix = f"{shown}/" if shown else ""
    stack = [(top, prefix, _names(top))]
    try:
        if shown:
            yield _folder_header(os.fstat(top), shown)
        while stack:
            fd, prefix, names = stack[-1]
            if not names:
                stack.pop()
                os.close(fd)
                continue
            name = names.pop(0)
            try:
                yield from _entry(fd, name, prefix + name)
                if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                    below = os.open(name, _FOLDER, dir_fd=fd)
                    stack.append((below, f"{prefix}{name}/", _names(below)))
            except FileNotFoundError:
                continue
    finally:
        for fd, _, _ in stack:
            os.close(fd)


def _names(folder: int) -> list[str]:
    return sorted(os.listdir(folder))


def _entry(parent: int, name: str, shown: str) -> Iterator[bytes]:
    """One member: its header, and its data if it is a file."""
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    info = _info(status, shown)
    if stat.S_ISDIR(status.st_mode):
        yield _folder_header(status, shown)
    elif stat.S_ISLNK(status.st_mode):
        info.type = tarfile.SYMTYPE
        info.linkname = os.readlink(name, dir_fd=parent)
        yield _header(info)
    elif stat.S_ISREG(status.st_mode):
        fd = os.open(name, _FILE, dir_fd=parent)
        try:
            info.size = os.fstat(fd).st_size
            yield _header(info)
            yield from _data(fd, info.size)
        finally:
            os.close(fd)


def _info(status: os.stat_result, shown: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(shown)
    info.mode = stat.S_IMODE(status.st_mode)
    info.uid, info.gid = status.st_uid, status.st_gid
    info.mtime = int(status.st_mtime)
    return info


def _folder_header(status: os.stat_result, shown: str) -> bytes:
    info = _info(status, shown)
    info.type = tarfile.DIRTYPE
    return _header(info)


def _data(fd: int, size: int) -> Iterator[bytes]:
    """Exactly `size` bytes, as the header said, whatever the file has become."""
    left = size
    while left:
        data = os.read(fd, min(left, BULK_MAX)) or bytes(min(left, BULK_MAX))
        left -= len(data)
        yield data
    if padding := -size % tarfile.BLOCKSIZE:
        yield bytes(padding)


def _header(info: tarfile.TarInfo) -> bytes:
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
