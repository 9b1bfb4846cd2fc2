"""The pages a machine changed: found, kept in a file, and put into another machine.

A clone maps its template's memory privately, so exactly what it changed are anonymous
pages of its process; everything else is the template's and is never copied.

    b"SBXPAGE1"  u64 number of runs  (u64 offset, u64 length) a run  zeros to 4096  the runs' bytes

Offsets and lengths are bytes of guest memory, whole pages, ascending and apart.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import struct
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from sandbox_engine.errors import NoSpace, VmmError
from sandbox_engine.vmm.process import PAGE_SIZE

MAGIC = b"SBXPAGE1"
_HEAD = struct.Struct("<8sQ")
_RUN = struct.Struct("<QQ")
_PIECE = 1 << 20
_SEGMENTS = 1024
"""Of one call of the kernel's (IOV_MAX)."""
_THREADS = min(4, os.cpu_count() or 1)
_WORTH_THREADS = 4
"""From so many pieces on."""
_libc = ctypes.CDLL(None, use_errno=True)
for _call in (_libc.process_vm_readv, _libc.process_vm_writev):
    _call.restype = ctypes.c_ssize_t
    _call.argtypes = (
        ctypes.c_int,
        ctypes.c_char_p, ctypes.c_ulong,
        ctypes.c_char_p, ctypes.c_ulong, ctypes.c_ulong,
    )  # fmt: skip
_own = threading.local()
_RUNS = re.compile(rb"\x01+")

Run = tuple[int, int]
"""Offset and length in bytes."""
Piece = tuple[int, list[Run]]
"""Where it stands in the file, and what it is of the memory."""


def _changed(flags: int) -> bool:
    """By the top byte of a pagemap entry: bit 7 present, 6 swapped, 5 of a file."""
    return bool(flags & 0x40 or (flags & 0x80 and not flags & 0x20))


_CHANGED = bytes(_changed(flags) for flags in range(256))


def changed_runs(entries: bytes) -> Iterator[Run]:
    """The runs of changed pages in a piece of `/proc/PID/pagemap`.  Pure."""
    marks = entries[7::8].translate(_CHANGED)
    for run in _RUNS.finditer(marks):
        yield run.start() * PAGE_SIZE, (run.end() - run.start()) * PAGE_SIZE


def encode_index(runs: list[Run]) -> bytes:
    """What stands before the bytes of `runs`.  Pure."""
    index = _HEAD.pack(MAGIC, len(runs)) + b"".join(_RUN.pack(*run) for run in runs)
    return index + bytes(-len(index) % PAGE_SIZE)


def decode_index(data: bytes | memoryview, memory: int) -> tuple[list[Run], int]:
    """The runs of a file, checked against `memory` bytes, and where their bytes begin.  Pure.

    Raises `ValueError`.
    """
    magic, count = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (b"", 0)
    end = _HEAD.size + count * _RUN.size
    if magic != MAGIC or end > len(data):
        raise ValueError("it is no file of pages")
    runs = list(_RUN.iter_unpack(data[_HEAD.size : end]))
    after, start = 0, end + -end % PAGE_SIZE
    for offset, length in runs:
        if offset % PAGE_SIZE or length % PAGE_SIZE or not length or offset < after:
            raise ValueError("its runs are not whole pages in order")
        after = offset + length
    if after > memory or start + sum(length for _, length in runs) != len(data):
        raise ValueError("it is cut short, or of a larger machine")
    return runs, start


def save(pid: int, address: int, memory: int, fd: int) -> int:
    """Write the pages that `pid`, standing still, changed; the number of their bytes.  Blocks.

    The file is empty.  Raises `VmmError`, `NoSpace`.
    """
    try:
        with Path(f"/proc/{pid}/pagemap").open("rb", buffering=0) as pagemap:
            entries = _read_exactly(
                pagemap.fileno(), address // PAGE_SIZE * 8, memory // PAGE_SIZE * 8
            )
        runs = list(changed_runs(entries))
        index = encode_index(runs)
        _write(fd, index, 0)
        pieces = [(at + len(index), segments) for at, segments in _pieces(runs)]
        _each(partial(_copy, pid, address, fd), pieces)
    except OSError as error:
        raise VmmError(f"cannot read the machine's memory: {error.strerror}") from error
    return sum(length for _, length in runs)


def _pieces(runs: list[Run]) -> Iterator[Piece]:
    """The runs in pieces to be copied in one go, each with where it stands behind the index."""
    at = size = 0
    segments: list[Run] = []
    for offset, length in runs:
        done = 0
        while done < length:
            part = min(length - done, _PIECE - size)
            segments.append((offset + done, part))
            done, size = done + part, size + part
            if size == _PIECE or len(segments) == _SEGMENTS:
                yield at, segments
                at, size, segments = at + size, 0, []
    if segments:
        yield at, segments


def _copy(pid: int, address: int, fd: int, piece: Piece) -> None:
    at, segments = piece
    buffer = _buffer()
    size = _moved(_libc.process_vm_readv, pid, address, buffer, segments)
    _write(fd, memoryview(buffer).cast("B")[:size], at)


def _moved(
    call: Any,
    pid: int,
    address: int,
    buffer: ctypes.Array[ctypes.c_char],
    segments: list[Run],
) -> int:
    """Between the buffer and the machine: one copy, where /proc/PID/mem makes two."""
    size = sum(length for _, length in segments)
    there = [number for offset, length in segments for number in (address + offset, length)]
    done = call(
        pid,
        struct.pack("=2Q", ctypes.addressof(buffer), size), 1,
        struct.pack(f"={len(there)}Q", *there), len(segments), 0,
    )  # fmt: skip
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if done != size:
        raise VmmError("the machine's memory ended early")
    return size


def _buffer() -> ctypes.Array[ctypes.c_char]:
    """Of this thread: a new one would be zeroed for each piece."""
    if not hasattr(_own, "buffer"):
        _own.buffer = ctypes.create_string_buffer(_PIECE)
    buffer: ctypes.Array[ctypes.c_char] = _own.buffer
    return buffer


def load(pid: int, address: int, memory: int, fd: int) -> None:
    """Put the pages of a file into `pid`, whose machine has not run yet.  Blocks.

    Raises `VmmError`.
    """
    try:
        with (
            mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ) as mapped,
            memoryview(mapped) as data,
        ):
            runs, start = decode_index(data, memory)
        pieces = [(start + at, segments) for at, segments in _pieces(runs)]
        _each(partial(_put, pid, address, fd), pieces)
    except OSError as error:
        raise VmmError(f"cannot fill the machine's memory: {error.strerror}") from error
    except ValueError as error:
        raise VmmError(f"cannot fill the machine's memory: {error}") from error


def _put(pid: int, address: int, fd: int, piece: Piece) -> None:
    at, segments = piece
    size = sum(length for _, length in segments)
    buffer = _buffer()
    view = memoryview(buffer).cast("B")[:size]
    done = 0
    while done < size:
        done += _some(os.preadv(fd, [view[done:]], at + done))
    _moved(_libc.process_vm_writev, pid, address, buffer, segments)


def _some(got: int) -> int:
    if not got:
        raise VmmError("a file of pages ended early")
    return got


def _each(work: Callable[[Piece], None], pieces: list[Piece]) -> None:
    """Do `work` to each, by several threads where that is worth it."""
    if len(pieces) < _WORTH_THREADS:
        for piece in pieces:
            work(piece)
        return
    with ThreadPoolExecutor(_THREADS, "pages") as pool:
        list(pool.map(work, pieces))


def _read_exactly(fd: int, offset: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.pread(fd, min(size, 8 << 20), offset)
        if not piece:
            raise VmmError("the machine's page table ended early")
        pieces.append(piece)
        offset, size = offset + len(piece), size - len(piece)
    return b"".join(pieces)


def _write(fd: int, data: bytes | memoryview, at: int) -> None:
    rest = memoryview(data)
    try:
        while rest:
            done = os.pwrite(fd, rest, at)
            rest, at = rest[done:], at + done
    except OSError as error:
        raise NoSpace(f"cannot keep the machine's memory: {error.strerror}") from error
