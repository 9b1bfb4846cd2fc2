"""Requests out of bytes: every cut, every limit, every ambiguity refused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis.strategies import binary, booleans, integers, lists, tuples
from sandbox_engine.api.node.reader import MAX_BODY, MAX_HEAD, Refused, Request, RequestReader


def request(body: bytes, *, chunked: bool = False, cuts: list[int] | None = None) -> bytes:
    head = b"POST /v1/claim?a=1&b= HTTP/1.1\r\nHost: x\r\n"
    if not chunked:
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    edges = [0, *sorted({min(cut, len(body)) for cut in cuts or []} - {0, len(body)}), len(body)]
    chunks = [body[start:end] for start, end in itertools.pairwise(edges) if end > start]
    coded = b"".join(b"%x;note=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\nTrailer: 1\r\n\r\n"


def read_all(reader: RequestReader) -> list[Request]:
    found = []
    while (one := reader.next()) is not None:
        found.append(one)
    return found


@given(
    bodies=lists(tuples(binary(max_size=60), booleans()), max_size=4),
    chunk_cuts=lists(integers(0, 60), max_size=3),
    cuts=lists(integers(0, 1500)),
)
def test_requests_do_not_depend_on_how_the_stream_is_cut(
    bodies: list[tuple[bytes, bool]], chunk_cuts: list[int], cuts: list[int]
) -> None:
    wire = b"".join(request(body, chunked=coded, cuts=chunk_cuts) for body, coded in bodies)
    edges = [0, *sorted(min(cut, len(wire)) for cut in cuts), len(wire)]
    reader, found = RequestReader(), []
    for start, end in itertools.pairwise(edges):
        reader.feed(wire[start:end])
        found += read_all(reader)
    assert [one.body for one in found] == [body for body, _ in bodies]
    assert not reader.inside


def test_a_request_says_what_was_sent() -> None:
    reader = RequestReader()
    reader.feed(
        b"GET /v1/sandboxes/a%2Fb?claim_ref=x%20y&metadata=k=v HTTP/1.1\r\nHost: x\r\n"
        b"AUTHORIZATION: bearer  tok \r\nX-Two: 1\r\nX-Two: 2\r\n\r\n"
    )
    found = reader.next()
    assert found is not None
    assert found.segments() == ["v1", "sandboxes", "a/b"]
    assert found.parameters() == [("claim_ref", "x y"), ("metadata", "k=v")]
    assert (found.bearer, found.headers["x-two"], found.keep_alive) == ("tok", "1,2", True)


@pytest.mark.parametrize("connection", [b"Connection: Upgrade\r\n", b""])
def test_bytes_behind_an_upgrade_are_left_alone(connection: bytes) -> None:
    reader = RequestReader()
    early = b'{"v":1,"op":"info"}\n{"v":1,"op":"ps"}\n'
    reader.feed(b"GET /x HTTP/1.1\r\nHost: x\r\n" + connection + b"Upgrade: SILKD\r\n\r\n" + early)
    found = reader.next()
    assert found is not None
    assert found.upgrade == "silkd"
    assert reader.take_rest() == early


@pytest.mark.parametrize(
    ("head", "stays"),
    [
        (b"HTTP/1.1\r\n", True),
        (b"HTTP/1.1\r\nConnection: Keep-Alive, Close\r\n", False),
        (b"HTTP/1.0\r\n", False),
        (b"HTTP/1.0\r\nConnection: keep-alive\r\n", True),
    ],
)
def test_whether_the_connection_stays(head: bytes, stays: bool) -> None:
    reader = RequestReader()
    reader.feed(b"GET / " + head + b"\r\n")
    found = reader.next()
    assert found is not None
    assert found.keep_alive is stays


BAD = {
    "no http": b"hello there\r\n\r\n",
    "two lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "length and chunks": b"POST / HTTP/1.1\r\nContent-Length: 1\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n",
    "another coding": b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "a negative length": b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "a folded header": b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
    "a space before the colon": b"GET / HTTP/1.1\r\nA : b\r\n\r\n",
    "a bare line feed": b"GET / HTTP/1.1\r\nA: b\n\r\nGET / HTTP/1.1\r\n\r\n",
    "a control byte": b"GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
    "http/2": b"PRI * HTTP/2.0\r\n\r\n",
    "a chunk without size": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk too long": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    "a size with a sign": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n+1\r\na\r\n",
    "an endless chunk line": b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;"
    + b"a" * 9000,
}


@pytest.mark.parametrize("wire", BAD.values(), ids=BAD.keys())
def test_what_could_be_read_two_ways_is_refused(wire: bytes) -> None:
    reader = RequestReader()
    reader.feed(wire)
    with pytest.raises(Refused) as refused:
        read_all(reader)
    assert refused.value.status in (400, 505)


def test_a_head_over_the_limit_is_refused_before_it_ends() -> None:
    reader = RequestReader()
    reader.feed(b"GET / HTTP/1.1\r\nA: " + b"a" * MAX_HEAD)
    with pytest.raises(Refused) as refused:
        reader.next()
    assert refused.value.status == 431


def test_a_body_of_the_limit_passes_and_one_byte_more_is_refused_by_its_length() -> None:
    reader = RequestReader()
    reader.feed(request(bytes(MAX_BODY)))
    found = reader.next()
    assert found is not None
    assert len(found.body) == MAX_BODY
    reader.feed(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (MAX_BODY + 1))
    with pytest.raises(Refused) as refused:
        reader.next()
    assert (refused.value.status, refused.value.message) == (400, "invalid request body")


def test_a_chunked_body_over_the_limit_is_refused() -> None:
    reader = RequestReader()
    reader.feed(request(bytes(MAX_BODY + 1), chunked=True, cuts=[1000]))
    with pytest.raises(Refused) as refused:
        reader.next()
    assert (refused.value.status, refused.value.message) == (400, "invalid request body")


def test_a_client_that_waits_for_permission_is_seen_once() -> None:
    reader = RequestReader()
    reader.feed(b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    assert reader.next() is None
    assert [reader.awaits_permission(), reader.awaits_permission()] == [True, False]
    reader.feed(b"ok")
    found = reader.next()
    assert found is not None
    assert found.body == b"ok"
