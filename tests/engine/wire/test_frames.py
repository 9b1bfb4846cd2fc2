"""Frames are cut the same however the stream is, and a limit is looked at first."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers, lists
from sandbox_engine.wire.frames import HEADER, FrameDecoder, FrameTooLarge, encode


def drain(decoder: FrameDecoder) -> list[bytes]:
    taken = []
    while (payload := decoder.next()) is not None:
        taken.append(payload)
    return taken


@given(payloads=lists(binary(max_size=64)), cuts=lists(integers(0, 999)))
def test_frames_do_not_depend_on_how_the_stream_is_cut(
    payloads: list[bytes], cuts: list[int]
) -> None:
    wire = b"".join(map(encode, payloads))
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    decoder = FrameDecoder(limit=64)
    taken = []
    for start, end in pairwise(edges):
        decoder.feed(wire[start:end])
        taken += drain(decoder)
    assert taken == payloads


@given(payloads=lists(binary(max_size=64)), cuts=lists(integers(0, 999)))
def test_frames_do_not_depend_on_when_they_are_taken(
    payloads: list[bytes], cuts: list[int]
) -> None:
    wire = b"".join(map(encode, payloads))
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    decoder = FrameDecoder(limit=64)
    taken = []
    for number, (start, end) in enumerate(pairwise(edges)):
        decoder.feed(wire[start:end])
        if number % 2 and (payload := decoder.next()) is not None:
            taken.append(payload)
    assert taken + drain(decoder) == payloads


@given(size=integers(65, 2**32 - 1))
def test_a_length_over_the_limit_is_refused_before_its_body(size: int) -> None:
    decoder = FrameDecoder(limit=64)
    decoder.feed(encode(b"before") + HEADER.pack(size))
    assert decoder.next() == b"before"
    with pytest.raises(FrameTooLarge) as caught:
        decoder.next()
    assert (caught.value.size, caught.value.limit) == (size, 64)


def test_the_limit_itself_is_allowed() -> None:
    decoder = FrameDecoder(limit=64)
    decoder.feed(encode(bytes(64)))
    assert decoder.next() == bytes(64)


def test_a_payload_over_the_limit_is_not_encoded() -> None:
    with pytest.raises(FrameTooLarge):
        encode(bytes(65), limit=64)


@given(data=binary(max_size=300))
def test_garbage_ends_in_payloads_or_one_error(data: bytes) -> None:
    decoder = FrameDecoder(limit=64)
    decoder.feed(data)
    try:
        taken = drain(decoder)
    except FrameTooLarge:
        return
    assert all(len(payload) <= 64 for payload in taken)
