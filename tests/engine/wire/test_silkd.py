"""The client's lines and the agent's messages: each bulk form, each cut, each limit."""

from __future__ import annotations

import base64
import itertools
import json

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers, lists, sampled_from
from sandbox_engine.wire.silkd import (
    BULK_PIECE,
    MAX_LINE,
    LineDecoder,
    LineTooLong,
    encode,
)
from sandbox_guest.framing import FrameKind

DATA, STDIN, CONTROL = FrameKind.DATA, FrameKind.STDIN, FrameKind.CONTROL


def b64(body: bytes) -> str:
    return base64.b64encode(body).decode()


def client_bulk(op: str, body: bytes) -> bytes:
    return b'{"v":1,"op":"%s","data":"%s"}\n' % (op.encode(), base64.b64encode(body))


def joined(kind: int, body: bytes) -> bytes:
    return b"".join(encode(kind, body))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"v":1,"op":"data","data":"%s"}', id="canonical"),
        pytest.param('{"v": 1, "op": "data", "data": "%s"}', id="json.dumps"),
        pytest.param('{"op":"data","v":1,"data":"%s"}', id="op first"),
        pytest.param('{"op":"data","data":"%s"}', id="no version"),
        pytest.param('{"data":"%s","op":"data","v":1}', id="alphabetical"),
        pytest.param('{"v":1,"op":"data","data":"%s","seq":7}', id="an unknown field"),
        pytest.param('  {"v":1,"op":"data","data":"%s"}  \r', id="white space around"),
        pytest.param('{"v":1,"op":"d\\u0061ta","data":"%s"}', id="escapes"),
    ],
)
def test_bulk_is_recognised_however_it_is_written(line: str) -> None:
    body = bytes(range(256))
    assert LineDecoder().feed((line % b64(body)).encode() + b"\n") == [(DATA, body)]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"v":1,"op":"data","data":"!!!!"}', id="not base64"),
        pytest.param(b'{"v":1,"op":"data","data":"QUJ"}', id="padding missing"),
        pytest.param(b'{"v":1,"op":"data","data":"QUJD\\n"}', id="an escape in base64"),
        pytest.param(b'{"v":1,"op":"data","data":"QUJD"', id="cut short"),
        pytest.param(b'{"v":1,"op":"data","data":7}', id="not a string"),
        pytest.param(b'{"v":1,"op":"data"}', id="no data"),
        pytest.param(b'{"v":1,"op":"exec","argv":["data"],"data":"x"}', id="another op"),
        pytest.param(b"no json at all", id="no JSON"),
        pytest.param(b'{"v":1,"op":"fs_stat","path":"\xff\xfe"}', id="not UTF-8"),
        pytest.param(b'{"data":"\xff","op":"data"}', id="bulk that is not UTF-8"),
    ],
)
def test_what_is_no_bulk_goes_on_as_it_is(line: bytes) -> None:
    assert LineDecoder().feed(line + b"\n") == [(CONTROL, line)]


def test_blank_lines_are_nothing() -> None:
    assert LineDecoder().feed(b'\n \r\n{"v":1,"op":"ps"}\r\n\n') == [
        (CONTROL, b'{"v":1,"op":"ps"}')
    ]


def test_empty_bulk_is_still_a_message() -> None:
    assert LineDecoder().feed(client_bulk("stdin", b"")) == [(STDIN, b"")]


@given(
    bodies=lists(binary(max_size=40), max_size=6),
    ops=lists(sampled_from(["stdin", "data"]), min_size=6, max_size=6),
    cuts=lists(integers(0, 2000)),
)
def test_messages_do_not_depend_on_how_the_stream_is_cut(
    bodies: list[bytes], ops: list[str], cuts: list[int]
) -> None:
    control = b'{"v":1,"op":"info"}'
    wire = b"".join(
        control + b"\n" + client_bulk(op, body) for op, body in zip(ops, bodies, strict=False)
    )
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    decoder = LineDecoder()
    messages = [
        message
        for start, end in itertools.pairwise(edges)
        for message in decoder.feed(wire[start:end])
    ]
    kinds = {"stdin": STDIN, "data": DATA}
    assert messages == [
        message
        for op, body in zip(ops, bodies, strict=False)
        for message in ((CONTROL, control), (kinds[op], body))
    ]


def test_a_frame_split_at_every_byte() -> None:
    wire = client_bulk("data", b"a quick brown fox") + b'{"v":1,"op":"data_end"}\n'
    whole = LineDecoder().feed(wire)
    for cut in range(len(wire) + 1):
        decoder = LineDecoder()
        assert decoder.feed(wire[:cut]) + decoder.feed(wire[cut:]) == whole


def test_a_line_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    assert LineDecoder().feed(b"x" * (MAX_LINE - 1) + b"\n") == [(CONTROL, b"x" * (MAX_LINE - 1))]
    with pytest.raises(LineTooLong):
        LineDecoder().feed(b"x" * MAX_LINE + b"\n")


def test_a_line_is_refused_before_it_has_arrived_whole() -> None:
    decoder = LineDecoder()
    with pytest.raises(LineTooLong):
        for _ in range(129):
            decoder.feed(b"x" * (64 << 10))


@given(body=binary(max_size=300))
def test_replies_have_the_form_that_clients_slice(body: bytes) -> None:
    assert joined(FrameKind.STDOUT, body) == b'{"type":"stdout","data":"%s"}\n' % base64.b64encode(
        body
    )
    assert json.loads(joined(FrameKind.STDERR, body)) == {"type": "stderr", "data": b64(body)}
    assert json.loads(joined(DATA, body)) == {"type": "data", "data": b64(body)}


def test_bulk_over_a_line_becomes_several() -> None:
    body = bytes(BULK_PIECE * 2 + 1)
    lines = joined(DATA, body).splitlines(keepends=True)
    assert [len(line) < MAX_LINE for line in lines] == [True] * 3
    assert b"".join(base64.b64decode(json.loads(line)["data"]) for line in lines) == body


def test_a_control_reply_over_the_limit_is_an_error_of_its_rpc() -> None:
    assert joined(CONTROL, b"x" * (MAX_LINE - 1)) == b"x" * (MAX_LINE - 1) + b"\n"
    assert json.loads(joined(CONTROL, b"x" * MAX_LINE))["kind"] == "internal"
