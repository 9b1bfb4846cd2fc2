"""Pages that a machine changed: found, kept, and put elsewhere."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_engine.errors import NoSpace, VmmError
from sandbox_engine.vmm import pages
from sandbox_engine.vmm.process import PAGE_SIZE

PAGES = 64
SIZE = PAGES * PAGE_SIZE
PRESENT, SWAPPED, FILE = 1 << 63, 1 << 62, 1 << 61


class Memory:
    """A private mapping of a template, as a clone's RAM is."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("template")
        os.pwrite(self.fd, b"".join(bytes([n]) * PAGE_SIZE for n in range(PAGES)), 0)
        self.map = mmap.mmap(self.fd, SIZE, mmap.MAP_PRIVATE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.map))


@pytest.fixture
def clone() -> Iterator[Memory]:
    made = Memory()
    yield made
    os.close(made.fd)


@given(st.lists(st.sampled_from([0, PRESENT, PRESENT | FILE, SWAPPED, FILE]), max_size=40))
def test_a_page_is_changed_when_it_is_the_process_s_own(entries: list[int]) -> None:
    found = set()
    for offset, length in pages.changed_runs(struct.pack(f"={len(entries)}Q", *entries)):
        found |= {at // PAGE_SIZE for at in range(offset, offset + length, PAGE_SIZE)}
    assert found == {n for n, entry in enumerate(entries) if entry in (PRESENT, SWAPPED)}


@given(st.sets(st.integers(0, PAGES - 1)))
def test_an_index_is_read_as_it_was_written(changed: set[int]) -> None:
    entries = [PRESENT if n in changed else 0 for n in range(PAGES)]
    runs = list(pages.changed_runs(struct.pack(f"={PAGES}Q", *entries)))
    body = pages.encode_index(runs) + bytes(sum(length for _, length in runs))
    found, start = pages.decode_index(body, SIZE)
    assert (found, start % PAGE_SIZE) == (runs, 0)


@given(st.binary(max_size=200), st.booleans())
def test_what_is_no_file_of_pages_is_refused(noise: bytes, begins_well: bool) -> None:
    data = pages.MAGIC + noise if begins_well else noise
    try:
        runs, start = pages.decode_index(data, SIZE)
    except ValueError:
        return
    assert start + sum(length for _, length in runs) == len(data)


@pytest.mark.parametrize(
    "runs",
    [
        [(PAGE_SIZE, PAGE_SIZE), (0, PAGE_SIZE)],
        [(0, 2 * PAGE_SIZE), (PAGE_SIZE, PAGE_SIZE)],
        [(1, PAGE_SIZE)],
        [(0, 1)],
        [(SIZE, PAGE_SIZE)],
        [(SIZE - PAGE_SIZE, 2 * PAGE_SIZE)],
        [(0, 0)],
    ],
)
def test_runs_outside_the_machine_or_out_of_order_are_refused(runs: list[pages.Run]) -> None:
    body = pages.encode_index(runs) + bytes(sum(length for _, length in runs))
    with pytest.raises(ValueError, match=r"its runs|cut short"):
        pages.decode_index(body, SIZE)


def test_only_changed_pages_are_kept_and_come_back(clone: Memory, tmp_path: Path) -> None:
    assert clone.map[:SIZE].count(1) == PAGE_SIZE  # reading makes no page the clone's own
    for n in (3, 4, 5, 40):
        clone.map[n * PAGE_SIZE] = 0xEE
    with (tmp_path / "pages").open("w+b") as file:
        saved = pages.save(os.getpid(), clone.address, SIZE, file.fileno())
        assert saved == 4 * PAGE_SIZE
        other = Memory()
        pages.load(os.getpid(), other.address, SIZE, file.fileno())
        assert other.map[:] == clone.map[:]
        assert os.pread(other.fd, SIZE, 0) != other.map[:]  # the template is as it was
        with (tmp_path / "again").open("w+b") as again:
            pages.save(os.getpid(), other.address, SIZE, again.fileno())
            assert os.pread(again.fileno(), SIZE, 0) == os.pread(file.fileno(), SIZE, 0)
        os.ftruncate(file.fileno(), PAGE_SIZE + 1)
        with pytest.raises(VmmError, match="cut short"):
            pages.load(os.getpid(), other.address, SIZE, file.fileno())
        os.close(other.fd)


def test_a_full_disk_is_told_apart(clone: Memory) -> None:
    clone.map[0] = 1
    with open("/dev/full", "wb", buffering=0) as full, pytest.raises(NoSpace):
        pages.save(os.getpid(), clone.address, SIZE, full.fileno())
