"""Laws of the messages on a stream."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_guest.framing import (
    HEADER,
    MAX_CONTROL,
    FrameDecoder,
    FrameKind,
    FramingError,
    Message,
    bulk_header,
    control,
    control_text,
    parse_control,
)

BULK = [kind for kind in FrameKind if kind is not FrameKind.CONTROL]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5
)
messages = st.lists(
    st.tuples(st.just(FrameKind.CONTROL), st.dictionaries(st.text(max_size=5), json_values))
    | st.tuples(st.sampled_from(BULK), st.binary(max_size=200)),
    max_size=8,
)


def joined(decoded: list[Message]) -> list[Message]:
    """Pieces of bulk of one kind as one, as a reader of a byte stream sees them."""
    result: list[Message] = []
    for kind, body in decoded:
        if result and kind != FrameKind.CONTROL and result[-1][0] == kind:
            result[-1] = (kind, result[-1][1] + body)
        elif body or kind == FrameKind.CONTROL:
            result.append((kind, body))
    return result


@given(messages, st.lists(st.integers(0, 2000)))
def test_messages_do_not_depend_on_how_the_stream_is_cut(
    sent: list[tuple[FrameKind, Any]], places: list[int]
) -> None:
    wire, expected = b"", []
    for kind, body in sent:
        if kind is FrameKind.CONTROL:
            wire += control(body)
            expected.append((int(kind), control(body)[HEADER.size :]))
        else:
            wire += bulk_header(kind, len(body)) + body
            expected.append((int(kind), body))
    edges = [0, *sorted(min(place, len(wire)) for place in places), len(wire)]
    decoder = FrameDecoder()
    decoded = [m for start, end in pairwise(edges) for m in decoder.feed(wire[start:end])]
    assert joined(decoded) == joined(expected)


@given(st.dictionaries(st.text(max_size=5), json_values))
def test_control_round_trip(message: dict[str, Any]) -> None:
    assert parse_control(control(message)[HEADER.size :]) == message


def test_a_file_name_that_is_not_utf_8_survives_or_is_shown() -> None:
    message = {"name": b"caf\xe9".decode(errors="surrogateescape")}
    assert parse_control(control(message)[HEADER.size :]) == message
    assert json.loads(control_text(message)[HEADER.size :]) == {"name": "caf\ufffd"}


@pytest.mark.parametrize("body", [b"", b"nope", b"[]", b"1", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(FramingError):
        parse_control(body)


@pytest.mark.parametrize(
    "wire",
    [
        HEADER.pack(0, 0),
        HEADER.pack(6, 0),
        HEADER.pack(FrameKind.CONTROL, MAX_CONTROL + 1),
    ],
)
def test_what_no_message_is_ends_the_stream(wire: bytes) -> None:
    with pytest.raises(FramingError):
        FrameDecoder().feed(wire)


def test_the_largest_control_message_passes() -> None:
    wire = control({"x": "y" * (MAX_CONTROL - 8)})
    assert len(wire) == HEADER.size + MAX_CONTROL
    decoder = FrameDecoder()
    pieces = [m for at in range(0, len(wire), 65536) for m in decoder.feed(wire[at : at + 65536])]
    assert pieces == [(FrameKind.CONTROL, wire[HEADER.size :])]
