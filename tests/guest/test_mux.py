"""Laws of the channel codec: two ends on an in-memory link."""

from __future__ import annotations

import os
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_guest.events import (
    Data,
    Event,
    Finished,
    Hello,
    Lost,
    Opened,
    Quiesce,
    Quiesced,
    Resume,
    Resumed,
    WasReset,
    Welcome,
    Writable,
)
from sandbox_guest.mux import (
    GRANT,
    HEADER,
    MAGIC,
    MAX_GREETING,
    MAX_PAYLOAD,
    WINDOW,
    Kind,
    Mux,
    Role,
)


def taken(mux: Mux) -> bytes:
    return b"".join(mux.take())


def greeted(nonce: bytes = b"n" * 16) -> tuple[Mux, Mux]:
    """A host and a guest in an epoch."""
    host, guest = Mux(Role.HOST), Mux(Role.GUEST)
    host.hello(nonce, b"hello")
    assert guest.receive(taken(host)) == [Hello(nonce, b"hello")]
    guest.welcome(nonce, b"welcome")
    assert host.receive(taken(guest)) == [Welcome(b"welcome")]
    return host, guest


def cut(wire: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(wire)) for place in places), len(wire)]
    return [wire[start:end] for start, end in pairwise(edges)]


def joined(events: list[Event]) -> list[Event]:
    """Neighbouring pieces of one stream as one."""
    result: list[Event] = []
    for event in events:
        last = result[-1] if result else None
        if isinstance(event, Data) and isinstance(last, Data) and last.stream == event.stream:
            result[-1] = Data(event.stream, last.data + event.data)
        else:
            result.append(event)
    return result


@given(
    bodies=st.lists(st.binary(max_size=300), min_size=1, max_size=6),
    places=st.lists(st.integers(0, 2500)),
)
def test_events_do_not_depend_on_how_the_link_is_cut(
    bodies: list[bytes], places: list[int]
) -> None:
    host, guest = greeted()
    for number, body in enumerate(bodies):
        stream = host.open_stream(number)
        host.send(stream, body)
        if number % 2:
            host.finish(stream)
        else:
            host.reset(stream, "why")
    wire = taken(host)
    events = [event for piece in cut(wire, places) for event in guest.receive(piece)]
    expected: list[Event] = []
    for number, body in enumerate(bodies):
        stream = 2 * number + 1
        expected.append(Opened(stream, number))
        if body:
            expected.append(Data(stream, body))
        expected.append(Finished(stream) if number % 2 else WasReset(stream, "why"))
    assert joined(events) == expected


def test_a_wire_read_a_byte_at_a_time() -> None:
    host, guest = greeted()
    stream = host.open_stream(7)
    host.send(stream, b"abc")
    host.finish(stream)
    events = [event for byte in taken(host) for event in guest.receive(bytes([byte]))]
    assert joined(events) == [Opened(1, 7), Data(1, b"abc"), Finished(1)]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, WINDOW))))
def test_credit_is_never_exceeded_and_always_comes_back(steps: list[tuple[bool, int]]) -> None:
    """A receiver that disposes of all it got leaves the sender credit for all but `GRANT`."""
    host, guest = greeted()
    stream = host.open_stream(1)
    guest.receive(taken(host))
    sent = received = granted = 0
    for send, size in steps:
        if send:
            sent += host.send(stream, bytes(size))
            for event in guest.receive(taken(host)):
                assert isinstance(event, Data)
                received += len(event.data)
        else:
            size = min(size, received - granted)  # noqa: PLW2901 - what there is to dispose of
            guest.grant(stream, size)
            granted += size
            for event in host.receive(taken(guest)):
                assert event == Writable(stream)
        assert sent == received
        assert sent - granted <= WINDOW
    guest.grant(stream, received - granted)
    host.receive(taken(guest))
    assert host.credit(stream) > WINDOW - GRANT


def test_what_exceeds_the_window_ends_the_epoch() -> None:
    host, guest = greeted()
    stream = host.open_stream(1)
    host._streams[stream].credit = 1 << 40
    for _ in range(WINDOW // MAX_PAYLOAD + 1):
        host.send(stream, bytes(MAX_PAYLOAD))
    events = guest.receive(taken(host))
    assert isinstance(events[-1], Lost)
    assert not guest.open


def test_more_credit_than_was_used_ends_the_epoch() -> None:
    host, guest = greeted()
    stream = host.open_stream(1)
    guest.receive(taken(host))
    guest._streams[stream].window = 0
    guest.grant(stream, GRANT)
    assert isinstance(host.receive(taken(guest))[-1], Lost)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(bytes(HEADER.size), id="zeros"),
        pytest.param(HEADER.pack(99, 0, 0, 1, 0), id="no such kind"),
        pytest.param(HEADER.pack(Kind.DATA, 0, 0, 1, MAX_PAYLOAD + 1), id="oversized data"),
        pytest.param(HEADER.pack(Kind.FIN, 0, 0, 1, 1025), id="oversized control"),
        pytest.param(HEADER.pack(Kind.OPEN, 0, 0, 2, 0), id="a stream of the wrong parity"),
    ],
)
def test_what_no_frame_is_ends_the_epoch_and_a_greeting_starts_anew(frame: bytes) -> None:
    host, guest = greeted()
    host.open_stream(1)
    events = guest.receive(taken(host) + frame)
    assert [type(event) for event in events] == [Opened, Lost]
    host.hello(b"m" * 16, b"again")
    assert guest.receive(b"rubbish" + taken(host)) == [Hello(b"m" * 16, b"again")]


@settings(deadline=None)
@given(garbage=st.binary(max_size=400), places=st.lists(st.integers(0, 600)))
def test_garbage_then_a_greeting_recovers(garbage: bytes, places: list[int]) -> None:
    guest = Mux(Role.GUEST)
    host = Mux(Role.HOST)
    host.hello(b"m" * 16, b"body")
    wire = garbage + taken(host)
    stream = host.open_stream(3)
    wire += taken(host)
    events = [event for piece in cut(wire, places) for event in guest.receive(piece)]
    assert events == [Hello(b"m" * 16, b"body"), Opened(stream, 3)]


@pytest.mark.parametrize("cut_at", [1, 11, 12, 5000, MAX_PAYLOAD])
def test_resync_ends_any_frame_the_guest_is_in(cut_at: int) -> None:
    """A host that died in the middle of a frame: the next one's greeting still arrives."""
    host, guest = greeted()
    stream = host.open_stream(1)
    host.send(stream, bytes(MAX_PAYLOAD))
    guest.receive(taken(host)[: HEADER.size + cut_at])
    host = Mux(Role.HOST)
    host.resync()
    host.hello(b"m" * 16, b"new")
    events = guest.receive(taken(host))
    assert events == [Hello(b"m" * 16, b"new")]


def test_a_greeting_ends_what_came_before_it() -> None:
    """Streams of two epochs are never in one list: their numbers are the same."""
    host, guest = greeted()
    stream = host.open_stream(1)
    host.send(stream, b"old")
    wire = taken(host)
    host.hello(b"m" * 16, b"new")
    host.open_stream(2)
    assert guest.receive(wire + taken(host)) == [Hello(b"m" * 16, b"new"), Opened(1, 2)]


def test_an_answer_to_an_older_greeting_is_not_taken() -> None:
    host = Mux(Role.HOST)
    guest = Mux(Role.GUEST)
    guest.welcome(b"o" * 16, b"stale")
    stale = taken(guest)
    host.hello(b"n" * 16, b"")
    host.take()
    assert host.receive(stale) == []
    assert not host.open
    guest.welcome(b"n" * 16, b"fresh")
    assert host.receive(b"tail of a frame" + taken(guest)) == [Welcome(b"fresh")]


def test_a_greeting_larger_than_its_limit_is_skipped() -> None:
    guest = Mux(Role.GUEST)
    header = HEADER.pack(Kind.HELLO, 0, 0, 0, MAX_GREETING + 1)
    assert guest.receive(header + MAGIC + bytes(100)) == []
    host = Mux(Role.HOST)
    host.hello(b"n" * 16, b"x" * (MAX_GREETING - 32))
    (event,) = guest.receive(taken(host))
    assert isinstance(event, Hello)


def test_quiesce_and_resume_keep_the_epoch() -> None:
    host, guest = greeted()
    stream = host.open_stream(1)
    host.quiesce()
    assert guest.receive(taken(host)) == [Opened(stream, 1), Quiesce()]
    guest.quiesced()
    assert guest.quiet
    assert host.receive(taken(guest)) == [Quiesced()]
    host.resume()
    assert guest.receive(taken(host)) == [Resume()]
    guest.resumed()
    assert not guest.quiet
    guest.send(stream, b"on")
    assert host.receive(taken(guest)) == [Resumed(), Data(stream, b"on")]


def test_half_closes_and_late_frames() -> None:
    host, guest = greeted()
    stream = host.open_stream(1)
    host.finish(stream)
    guest.receive(taken(host))
    assert guest.send(stream, b"answer") == 6
    guest.finish(stream)
    assert not guest.knows(stream)
    guest.grant(stream, 10)  # of a stream that ended: nothing to say
    assert host.receive(taken(guest)) == [Data(stream, b"answer"), Finished(stream)]
    assert host.send(stream, b"more") == 0
    host.reset(stream)
    assert taken(host) == b""


def test_data_after_the_end_breaks_the_protocol() -> None:
    host, guest = greeted()
    stream = host.open_stream(1)
    host.finish(stream)
    guest.receive(taken(host))
    events = guest.receive(HEADER.pack(Kind.DATA, 0, 0, stream, 1) + b"x")
    assert isinstance(events[-1], Lost)


def test_a_message_in_one_frame_needs_credit_for_all_of_it() -> None:
    host, guest = greeted()
    stream = host.open_stream(1)
    assert host.send_message(stream, b"head", b"body")
    assert guest.receive(taken(host)) == [Opened(stream, 1), Data(stream, b"headbody")]
    assert not host.send_message(stream, b"head", bytes(MAX_PAYLOAD))
    host.send(stream, bytes(WINDOW))
    assert not host.send_message(stream, b"head", b"body")
    assert not host.send_message(99, b"head", b"body")


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000)))
def test_no_input_breaks_an_end(wire: bytes, places: list[int]) -> None:
    for role in Role:
        fresh = Mux(role)
        for piece in cut(wire, places):
            fresh.receive(piece)
    for end in greeted():
        for piece in cut(wire, places):
            end.receive(piece)


def test_large_streams_in_pages_arrive_whole() -> None:
    """As the kernel hands them over: a page at a time, frames across pages."""
    host, guest = greeted()
    stream = host.open_stream(1)
    body = os.urandom(WINDOW)
    assert host.send(stream, body) == WINDOW
    wire = taken(host)
    events = [
        event for at in range(0, len(wire), 4096) for event in guest.receive(wire[at : at + 4096])
    ]
    assert joined(events) == [Opened(stream, 1), Data(stream, body)]
