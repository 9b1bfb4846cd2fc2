"""Hashing, copying and punching sparse files."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sandbox_engine.templates.digests import (
    CHUNK,
    PAGE,
    digest_fd,
    digest_file,
    extents,
    identity_of,
    punch_zeros,
    settle,
)

from tests.engine.templates.making import flip_byte, sparse

SIZES = st.sampled_from(
    [0, 1, PAGE - 1, PAGE, PAGE + 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7]
)
PIECES = st.dictionaries(
    st.integers(0, 3 * CHUNK), st.sampled_from([b"x", b"\0", b"y" * 5000, bytes(9000)]), max_size=6
)
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def make(path: Path, size: int, pieces: dict[int, bytes]) -> bytes:
    """The file, and what it must read as."""
    content = bytearray(size)
    kept = {}
    for at, piece in pieces.items():
        data = piece[: max(0, size - at)]
        if data:
            content[at : at + len(data)] = data
            kept[at] = data
    sparse(path, size, kept)
    return path.read_bytes()


@shared_folder
@given(SIZES, PIECES)
def test_a_digest_is_that_of_the_bytes_as_read(
    tmp_path: Path, size: int, pieces: dict[int, bytes]
) -> None:
    content = make(tmp_path / "file", size, pieces)
    digest = digest_file(tmp_path / "file")
    assert (digest.sha256, digest.size) == (hashlib.sha256(content).hexdigest(), size)


@shared_folder
@given(SIZES, PIECES)
def test_a_copy_is_what_was_hashed(tmp_path: Path, size: int, pieces: dict[int, bytes]) -> None:
    content = make(tmp_path / "file", size, pieces)
    copy = os.memfd_create("copy")
    source = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        digest_fd(source, copy)
        assert os.pread(copy, size + 1, 0) == content
    finally:
        os.close(copy)
        os.close(source)


@shared_folder
@given(SIZES, PIECES)
def test_punching_changes_nothing_that_is_read(
    tmp_path: Path, size: int, pieces: dict[int, bytes]
) -> None:
    content = make(tmp_path / "file", size, pieces)
    fd = os.open(tmp_path / "file", os.O_RDWR)
    try:
        punch_zeros(fd)
    finally:
        os.close(fd)
    assert (tmp_path / "file").read_bytes() == content


def test_punching_frees_zeros_and_reservations(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a" * PAGE + bytes(64 * PAGE) + b"b" * PAGE)
    fd = os.open(path, os.O_RDWR)
    try:
        os.posix_fallocate(fd, 0, 16 << 20)
        punch_zeros(fd)
        assert path.stat().st_blocks * 512 <= 4 * PAGE
        assert sum(end - start for start, end in extents(fd, 16 << 20)) == 2 * PAGE
    finally:
        os.close(fd)


def test_holes_are_not_copied(tmp_path: Path) -> None:
    sparse(tmp_path / "file", 256 << 20, {100 << 20: b"x"})
    copy = os.memfd_create("copy")
    source = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        digest_fd(source, copy)
        stat = os.fstat(copy)
        assert stat.st_size == 256 << 20
        assert stat.st_blocks * 512 <= 2 << 20
    finally:
        os.close(copy)
        os.close(source)


def test_an_identity_changes_with_a_byte_even_where_size_and_time_are_put_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    before = path.stat()
    settle(before)
    flip_byte(path)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert identity_of(after) != identity_of(before)
