"""Laws of the ring that keeps a command's last output."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_guest.ring import CAPACITY, Ring


def replay(ring: Ring, most: int, position: int = 0) -> list[tuple[int, bytes]]:
    pieces = []
    while (piece := ring.read(position, most)) is not None:
        kind, data, position = piece
        assert 0 < len(data) <= most
        pieces.append((kind, data))
    assert position <= ring.end
    return pieces


@settings(deadline=None)
@given(
    writes=st.lists(st.tuples(st.sampled_from([2, 3]), st.integers(1, 90_000)), max_size=30),
    most=st.integers(1000, 300_000),
)
def test_a_replay_is_the_end_of_what_was_written(writes: list[tuple[int, int]], most: int) -> None:
    ring, whole = Ring(), b""
    for number, (kind, size) in enumerate(writes):
        data = bytes([number]) * size
        ring.append(kind, data)
        whole += data
    kept = b"".join(data for _, data in replay(ring, most))
    assert kept == whole[-CAPACITY:]
    assert ring.end == len(whole)


@given(st.lists(st.tuples(st.sampled_from([2, 3]), st.binary(min_size=1, max_size=20))))
def test_kinds_stay_apart_and_in_order(writes: list[tuple[int, bytes]]) -> None:
    ring = Ring()
    for kind, data in writes:
        ring.append(kind, data)
    expected = b"".join(bytes([kind]) * len(data) for kind, data in writes)
    assert b"".join(bytes([kind]) * len(data) for kind, data in replay(ring, 7)) == expected


def test_a_reader_that_fell_behind_goes_on_with_what_is_left() -> None:
    ring = Ring()
    ring.append(2, b"a" * 10)
    ring.append(2, b"b" * CAPACITY)
    kind, data, position = ring.read(5, 100) or (0, b"", 0)
    assert (kind, data) == (2, b"b" * 100)
    assert position == 110


def test_alternating_bytes_cost_a_bounded_number_of_chunks() -> None:
    ring = Ring()
    for number in range(40_000):
        ring.append(2 + number % 2, b"x")
    assert len(ring._chunks) < 20_000
    assert sum(len(data) for _, data in replay(ring, 1)) == 8192
