"""Requests that two readers may read differently: refused, or framed anew (RFC 9112 11.2).

Each row is bytes of the kind that published work on request smuggling uses, in our own words;
what the upstream saw is the proof: a strict server, at most one request, never `/hidden`.
"""

from __future__ import annotations

import pytest

from tests.broker.world import TOKEN, World

HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: index.example\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


def post(fields: bytes, body: bytes = b"", first: bytes = b"POST /echo HTTP/1.1") -> bytes:
    return first + b"\r\nHost: HOST\r\nX-Sandbox-Token: TOKEN\r\n" + fields + b"\r\n" + body


def line(first: bytes, end: bytes = b"\r\n") -> bytes:
    return first + end + b"Host: HOST" + end + b"X-Sandbox-Token: TOKEN" + end + end


REFUSED = {
    # Two lengths, odd lengths.
    "two different lengths": post(b"Content-Length: 3\r\nContent-Length: 44\r\n", b"abc" + HIDDEN),
    "the same length twice": post(b"Content-Length: 3\r\nContent-Length: 3\r\n", b"abc"),
    "a list of lengths": post(b"Content-Length: 3, 3\r\n", b"abc"),
    "a signed length": post(b"Content-Length: +3\r\n", b"abc"),
    "a negative length": post(b"Content-Length: -1\r\n", b"abc"),
    "a length in hexadecimal": post(b"Content-Length: 0x3\r\n", b"abc"),
    "a length with an underscore": post(b"Content-Length: 1_0\r\n", b"abcdefghij"),
    "a length with a blank inside": post(b"Content-Length: 1 0\r\n", b"abcdefghij"),
    "a length in other digits": post("Content-Length: \u0663\r\n".encode(), b"abc"),
    "an empty length": post(b"Content-Length:\r\n", b"abc"),
    "a huge length": post(b"Content-Length: 99999999999999999999\r\n", b"abc"),
    "a length with a point": post(b"Content-Length: 3.0\r\n", b"abc"),
    "a length with an exponent": post(b"Content-Length: 3e0\r\n", b"abc"),
    "a length with NUL": post(b"Content-Length: 3\x00\r\n", b"abc"),
    "a length with a vertical tab": post(b"Content-Length:\x0b3\r\n", b"abc"),
    # Transfer codings.
    "an unknown coding": post(b"Transfer-Encoding: gzip\r\n", b"0\r\n\r\n"),
    "identity": post(b"Transfer-Encoding: identity\r\nContent-Length: 3\r\n", b"abc"),
    "gzip before chunked": post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    "chunked before identity": post(b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    "chunked twice": post(CHUNKED * 2, b"0\r\n\r\n"),
    "chunked in a list twice": post(b"Transfer-Encoding: chunked, chunked\r\n", b"0\r\n\r\n"),
    "a misspelt coding": post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    "a quoted coding": post(b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n"),
    "a coding with a parameter": post(b"Transfer-Encoding: chunked;q=1\r\n", b"0\r\n\r\n"),
    "a coding after a comma": post(b"Transfer-Encoding: ,chunked\r\n", b"0\r\n\r\n"),
    "an empty coding": post(b"Transfer-Encoding:\r\nContent-Length: 3\r\n", b"abc"),
    "a coding after a vertical tab": post(b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n"),
    "a coding with a form feed": post(b"Transfer-Encoding: chunked\x0c\r\n", b"0\r\n\r\n"),
    "two codings, one good": post(b"Transfer-Encoding: x\r\n" + CHUNKED, b"0\r\n\r\n"),
    "chunked in HTTP/1.0": post(CHUNKED, b"0\r\n\r\n", b"POST /echo HTTP/1.0"),
    # Field lines.
    "a blank before the colon": post(b"Content-Length : 3\r\n", b"abc"),
    "a tab before the colon": post(b"Transfer-Encoding\t: chunked\r\n", b"0\r\n\r\n"),
    "a folded coding": post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"),
    "a folded line": post(b"X-A: 1\r\n\tX-B: 2\r\n"),
    "a first field that is folded": line(b"GET / HTTP/1.1\r\n X: 1"),
    "a field without a colon": post(b"Content-Length\r\n"),
    "a field without a name": post(b": 1\r\n"),
    "a name with a blank": post(b"Content Length: 3\r\n", b"abc"),
    "a name with NUL": post(b"Transfer\x00-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "a name that is not ASCII": post(b"Transfer-Encoding\xff: chunked\r\n", b"0\r\n\r\n"),
    "a bare LF between fields": post(b"X-A: 1\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "a bare CR in a value": post(b"X-A: 1\rTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"),
    "NUL in a value": post(b"X-A: a\x00b\r\n"),
    "all lines end in LF": line(b"GET / HTTP/1.1", b"\n"),
    "two hosts": post(b"Host: open.example\r\n"),
    # Request lines.
    "a tab in the first line": line(b"GET\t/ HTTP/1.1"),
    "two blanks": line(b"GET  / HTTP/1.1"),
    "a blank in the target": line(b"GET /a b HTTP/1.1"),
    "a request in the target": line(b"GET / HTTP/1.1 HTTP/1.1"),
    "no version": line(b"GET /"),
    "HTTP/0.9": line(b"GET / HTTP/0.9"),
    "HTTP/2 in a first line": line(b"PRI * HTTP/2.0"),
    "an odd version": line(b"GET / HTTP/1.1a"),
    "a lower-case version": line(b"GET / http/1.1"),
    "a method that is no token": line(b"G(T / HTTP/1.1"),
    "a blank before the method": line(b" GET / HTTP/1.1"),
    "an empty line before the method": line(b"\r\nGET / HTTP/1.1"),
    "a fragment": line(b"GET /a#b HTTP/1.1"),
    "a backslash": line(b"GET /\\hidden HTTP/1.1"),
    "NUL in the target": line(b"GET /\x00 HTTP/1.1"),
    "a target that is not ASCII": line(b"GET /\xff HTTP/1.1"),
    "a target without a slash": line(b"GET hidden HTTP/1.1"),
    "an asterisk": line(b"OPTIONS * HTTP/1.1"),
    "userinfo": line(b"GET http://open.example@index.example/ HTTP/1.1"),
    "a fragment in an absolute target": line(b"GET http://index.example/#x HTTP/1.1"),
    "another scheme": line(b"GET ftp://index.example/ HTTP/1.1"),
    "a backslash for the host": line(b"GET http://index.example\\@open.example/ HTTP/1.1"),
    "an empty host": line(b"GET http:///x HTTP/1.1"),
    "a port of nothing": line(b"GET http://index.example:/ HTTP/1.1"),
    "port zero": line(b"GET http://index.example:0/ HTTP/1.1"),
    "a port too high": line(b"GET http://index.example:65536/ HTTP/1.1"),
    "CONNECT without a port": line(b"CONNECT index.example HTTP/1.1"),
    "CONNECT to a path": line(b"CONNECT /hidden HTTP/1.1"),
    "CONNECT to an address with a scheme": line(b"CONNECT https://index.example:443 HTTP/1.1"),
}
# The head is fine and the body is not: nothing complete may reach the upstream.
BAD_BODIES = {
    "a chunk size that is none": post(CHUNKED, b"zz\r\nabc\r\n0\r\n\r\n"),
    "a signed chunk size": post(CHUNKED, b"+3\r\nabc\r\n0\r\n\r\n"),
    "a negative chunk size": post(CHUNKED, b"-3\r\nabc\r\n0\r\n\r\n"),
    "a chunk size with 0x": post(CHUNKED, b"0x3\r\nabc\r\n0\r\n\r\n"),
    "a chunk size too long": post(CHUNKED, b"0" * 30 + b"3\r\nabc\r\n0\r\n\r\n"),
    "a chunk longer than its size": post(CHUNKED, b"3\r\nabcdef\r\n0\r\n\r\n"),
    "a chunk that ends in other bytes": post(CHUNKED, b"3\r\nabcXX0\r\n\r\n"),
    "a chunk that ends in LF alone": post(CHUNKED, b"3\r\nabc\n0\r\n\r\n"),
    "a blank before the chunk size": post(CHUNKED, b" 3\r\nabc\r\n0\r\n\r\n"),
}


def sent(world: World, raw: bytes) -> bytes:
    host = f"index.example:{world.port}".encode()
    data = raw.replace(b"HOST", host).replace(b"TOKEN", TOKEN.encode())
    with world.broker.dial() as wire:
        wire.send(data)
        import socket

        wire.sock.shutdown(socket.SHUT_WR)
        return wire.read_all()


@pytest.mark.parametrize("name", REFUSED)
def test_refused_and_nothing_reaches_the_upstream(world: World, name: str) -> None:
    answer = sent(world, REFUSED[name])
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"\r\n\r\n") == 1
    assert not world.upstream.seen
    assert not world.upstream.faults


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_bad_body_is_400_and_never_complete(world: World, name: str) -> None:
    assert sent(world, BAD_BODIES[name]).startswith(b"HTTP/1.1 400 ")
    assert not any(seen.complete for seen in world.upstream.seen)


def test_chunked_wins_over_a_length_and_the_rest_is_another_request(world: World) -> None:
    raw = post(b"Content-Length: 4\r\n" + CHUNKED, b"3\r\nabc\r\n0\r\n\r\n" + HIDDEN)
    answer = sent(world, raw)
    # The bytes after the last chunk are a request of their own, without a token.
    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 401") == 1
    (seen,) = world.upstream.seen
    assert (seen.body, seen.values("content-length")) == (b"abc", [])
    assert seen.values("transfer-encoding") == ["chunked"]


def test_chunk_extensions_are_ignored_and_trailers_dropped(world: World) -> None:
    body = b'3;a="b"\r\nabc\r\n0;x\r\nX-Trailer: 1\r\nContent-Length: 9\r\n\r\n'
    answer = sent(world, post(CHUNKED + b"Connection: close\r\n", body))
    assert answer.startswith(b"HTTP/1.1 200 ")
    (seen,) = world.upstream.seen
    assert seen.body == b"abc"
    assert not seen.values("x-trailer")
    assert not world.upstream.faults


def test_connection_cannot_take_away_what_frames_or_names_a_request(world: World) -> None:
    fields = b"Connection: Host, Content-Length, Transfer-Encoding, close\r\nContent-Length: 3\r\n"
    assert sent(world, post(fields, b"abc")).startswith(b"HTTP/1.1 200 ")
    (seen,) = world.upstream.seen
    assert seen.body == b"abc"
    assert seen.values("host") == [f"index.example:{world.port}"]


def test_a_head_over_64_kib_is_refused_and_one_below_is_not(world: World) -> None:
    assert sent(world, post(b"X-A: " + b"a" * (64 << 10) + b"\r\n")).startswith(b"HTTP/1.1 400 ")
    close = b"Connection: close\r\n"
    large = post(close + b"X-A: " + b"a" * (60 << 10) + b"\r\n")
    assert sent(world, large).startswith(b"HTTP/1.1 200 ")


def test_the_corpus_has_at_least_sixty_requests() -> None:
    assert len(REFUSED) + len(BAD_BODIES) >= 60
