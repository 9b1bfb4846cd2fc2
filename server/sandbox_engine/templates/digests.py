"""Hashes of large sparse files, and the identity that tells whether one has changed since.

A hole counts as the zeros it reads as, so a digest is what `sha256sum` prints, but it is
neither read nor copied.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox_engine.model.template import FileDigest

CHUNK = 1 << 20
PAGE = 4096
_ZEROS = bytes(CHUNK)
_libc = ctypes.CDLL(None, use_errno=True)
_PUNCH = 0x03  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
SETTLED_NS = 50_000_000
"""Longer than the kernel's coarsest clock tick; see `settle`."""

Identity = tuple[int, int, int, int, int]


def identity_of(stat: os.stat_result) -> Identity:
    """Changes whenever a file's content may have: no process can set a ctime at will."""
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def settle(stat: os.stat_result) -> None:
    """Wait until a further change of the file must give it another ctime.  Blocks, briefly.

    Times come from a clock that ticks every few milliseconds: a second change within the
    tick of the first would go unseen.
    """
    age = time.time_ns() - stat.st_ctime_ns
    if 0 <= age < SETTLED_NS:
        time.sleep((SETTLED_NS - age) / 1e9)


def digest_file(path: Path) -> FileDigest:
    """Hash a file by its path.  Blocks; raises `OSError`."""
    with path.open("rb", buffering=0) as file:
        return digest_fd(file.fileno())


def digest_fd(source: int, copy_to: int | None = None) -> FileDigest:
    """Hash an open file from its start, and copy its data extents into `copy_to`.  Blocks.

    What is copied is what was hashed: the file is read once.
    """
    digest = hashlib.sha256()
    size = os.fstat(source).st_size
    if copy_to is not None:
        os.truncate(copy_to, size)
    buffer = bytearray(CHUNK)
    at = 0
    for start, end in extents(source, size):
        _hash_zeros(digest, start - at)
        at = start
        while at < end:
            count = os.preadv(source, [memoryview(buffer)[: min(CHUNK, end - at)]], at)
            if not count:
                raise OSError(errno.EIO, "the file became shorter while it was read")
            piece = memoryview(buffer)[:count]
            digest.update(piece)
            if copy_to is not None:
                _copy(copy_to, piece, at)
            at += count
    _hash_zeros(digest, size - at)
    return FileDigest(sha256=digest.hexdigest(), size=size)


def extents(fd: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that hold data, as `(start, end)`; the rest is holes."""
    at = 0
    while at < size:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = min(os.lseek(fd, start, os.SEEK_HOLE), size)
        yield start, end
        at = end


def _hash_zeros(digest: hashlib._Hash, count: int) -> None:
    zeros = memoryview(_ZEROS)
    while count > 0:
        digest.update(zeros[: min(CHUNK, count)])
        count -= CHUNK


def _copy(target: int, piece: memoryview, at: int) -> None:
    # As bytes: they compare by memcmp, memoryviews element by element.
    if piece.tobytes() == (_ZEROS if len(piece) == CHUNK else bytes(len(piece))):
        return
    while piece:
        count = os.pwrite(target, piece, at)
        piece, at = piece[count:], at + count


def punch_zeros(fd: int) -> None:
    """Make holes of the zero pages of an open file, and free what was only reserved.  Blocks."""
    size = os.fstat(fd).st_size
    at = 0
    for start, end in extents(fd, size):
        _punch(fd, at, start - at)
        for zero_start, zero_end in _zero_runs(fd, start, end):
            _punch(fd, zero_start, zero_end - zero_start)
        at = end
    _punch(fd, at, size - at)


def _zero_runs(fd: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    run_start: int | None = None
    for at in range(start, end, CHUNK):
        data = os.pread(fd, min(CHUNK, end - at), at)
        for offset in range(0, len(data), PAGE):
            page = data[offset : offset + PAGE]
            if page == _ZEROS[: len(page)]:
                run_start = at + offset if run_start is None else run_start
            elif run_start is not None:
                yield run_start, at + offset
                run_start = None
    if run_start is not None:
        yield run_start, end


def _punch(fd: int, start: int, length: int) -> None:
    if length <= 0:
        return
    if _libc.fallocate(fd, _PUNCH, ctypes.c_int64(start), ctypes.c_int64(length)):
        number = ctypes.get_errno()
        raise OSError(number, f"cannot free unused space: {os.strerror(number)}")
