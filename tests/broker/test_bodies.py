"""Bodies: streamed both ways in bounded memory, framed anew, limited (seed 000)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.world import TOKEN, Wire, World, basic, rule
from tests.support.wait import until

MIB = 1 << 20
LIMIT = 1000


@pytest.fixture(scope="module")
def small() -> Iterator[World]:
    world = World(MAX_BODY=str(LIMIT), MAX_CONNS="2")
    world.engine.grant(TOKEN, "sb_one", rule("index.example"))
    yield world
    world.close()


@pytest.fixture(autouse=True)
def forgotten(small: World) -> None:
    small.upstream.seen.clear()


def head(world: World, *fields: str, path: str = "/echo", method: str = "POST") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: index.example:{world.port}", *fields]
    return "\r\n".join([*lines, f"X-Sandbox-Token: {TOKEN}", "", ""]).encode()


def memory_of_workers(world: World) -> int:
    """Peak resident KiB of the broker's largest process."""
    pid = world.broker.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    peaks = []
    for each in children:
        status = Path(f"/proc/{each}/status").read_text().splitlines()
        peaks += [int(line.split()[1]) for line in status if line.startswith("VmHWM")]
    return max(peaks)


def upload(world: World, size: int) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, f"Content-Length: {size}", path="/"))
        piece = b"u" * MIB
        for _ in range(size // MIB):
            wire.send(piece)
        assert wire.answer().status == 200
    assert world.upstream.seen[-1].size == size


def download(world: World, size: int) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, path=f"/big/{size}", method="GET"))
        answer, got = wire.answer(), 0
        while piece := answer.read(MIB):
            got += len(piece)
    assert got == size


def test_300_mib_up_and_down_cost_less_than_16_mib(world: World) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("index.example"))
    world.upstream.seen.clear()
    for size in (16 * MIB, 256 * MIB):
        upload(world, size)
        download(world, size)
        if size == 16 * MIB:
            before = memory_of_workers(world)
    with world.broker.dial() as wire:  # and 300 MiB of a download, in chunks of the guest's pace
        wire.send(head(world, path=f"/big/{300 * MIB}", method="GET"))
        answer, got = wire.answer(), 0
        while piece := answer.read(MIB):
            got += len(piece)
    assert got == 300 * MIB
    assert memory_of_workers(world) - before < 16 << 10


def test_a_slow_guest_costs_a_bounded_buffer(world: World) -> None:
    download(world, 16 * MIB)
    before = memory_of_workers(world)
    wires: list[Wire] = []
    for _ in range(4):
        wire = world.broker.dial().send(head(world, path=f"/big/{64 * MIB}", method="GET"))
        assert wire.answer().status == 200
        wires.append(wire)
    download(world, 16 * MIB)
    assert memory_of_workers(world) - before < 16 << 10
    for wire in wires:
        wire.sock.close()


def test_a_content_length_body_is_forwarded_with_that_length(world: World) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, "Content-Length: 5") + b"12345")
        assert wire.answer().read() == b"12345"
    (seen,) = world.upstream.seen
    assert seen.values("content-length") == ["5"]
    assert not seen.values("transfer-encoding")


def test_a_chunked_body_is_decoded_as_it_arrives_and_chunked_anew(world: World) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, "Transfer-Encoding: chunked") + b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")
        assert wire.answer().read() == b"abc"
    assert world.upstream.seen[0].values("transfer-encoding") == ["chunked"]


def test_a_body_waits_for_100_continue_where_the_guest_asks(world: World) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, "Content-Length: 2", "Expect: 100-continue"))
        assert wire.sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.send(b"ok")
        assert wire.answer().read() == b"ok"
    assert not world.upstream.seen[0].values("expect")


def test_a_body_that_ends_early_is_400_and_not_complete_upstream(world: World) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, "Content-Length: 5") + b"12")
        wire.sock.shutdown(1)
        assert wire.answer().status == 400
    assert not world.upstream.seen[0].complete


def test_an_answer_may_come_before_the_body_is_sent(world: World) -> None:
    with world.broker.dial() as wire:
        wire.send(head(world, "Content-Length: 500", path="/early"))
        assert wire.answer().status == 409


def test_a_declared_length_at_the_limit_goes_and_one_over_it_is_413_before_anything(
    small: World,
) -> None:
    with small.broker.dial() as wire:
        wire.send(head(small, f"Content-Length: {LIMIT}") + b"x" * LIMIT)
        assert len(wire.answer().read()) == LIMIT
    small.upstream.seen.clear()
    with small.broker.dial() as wire:
        wire.send(head(small, f"Content-Length: {LIMIT + 1}"))
        answer = wire.answer()
        assert answer.status == 413
        assert str(LIMIT) in answer.read().decode()
    assert not small.upstream.seen


def test_a_chunked_body_is_cut_off_when_it_crosses_the_limit(small: World) -> None:
    framed = b"%x\r\n" % LIMIT + b"x" * LIMIT + b"\r\n"
    with small.broker.dial() as wire:
        wire.send(head(small, "Transfer-Encoding: chunked") + framed + b"0\r\n\r\n")
        assert len(wire.answer().read()) == LIMIT
    small.upstream.seen.clear()
    with small.broker.dial() as wire:
        wire.send(head(small, "Transfer-Encoding: chunked") + framed + b"1\r\nx\r\n0\r\n\r\n")
        assert wire.answer().status == 413
    assert not any(seen.complete for seen in small.upstream.seen)


def test_connections_up_to_the_limit_are_served_and_the_next_gets_503(small: World) -> None:
    until(lambda: small.broker.metric("broker_connections") == 0)  # those of other tests
    with small.broker.dial() as first, small.broker.dial() as second:
        for wire in (first, second):
            assert wire.send(head(small, "Content-Length: 0")).answer().read() == b""
        with small.broker.dial() as third:
            assert third.answer().status == 503
        until(lambda: small.broker.metric("broker_connections") == 2)


def test_server_sent_events_come_as_they_are_sent(world: World) -> None:
    world.upstream.gate.clear()
    with world.broker.dial() as wire:
        wire.send(head(world, path="/sse", method="GET"))
        answer = wire.answer()
        assert [answer.readline(), answer.readline()] == [b"data: 1\n", b"\n"]
        world.upstream.gate.set()
        assert answer.read() == b": comment\n\ndata: 2\n\n"


@pytest.mark.parametrize("shape", ["origin", "absolute"])
def test_a_websocket_is_relayed_both_ways(world: World, shape: str) -> None:
    where = f"index.example:{world.port}"
    first = {
        "origin": f"GET /ws HTTP/1.1\nHost: {where}\nX-Sandbox-Token: {TOKEN}",
        "absolute": f"GET http://{where}/ws HTTP/1.1\nHost: x\nProxy-Authorization: {basic(TOKEN)}",
    }
    with world.broker.dial() as wire:
        upgrade = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: k"
        wire.send(f"{first[shape]}\n{upgrade}\n\n".replace("\n", "\r\n"))
        data = b""
        while not data.endswith(b"first") and (piece := wire.sock.recv(4096)):
            data += piece
        assert data.startswith(b"HTTP/1.1 101 ")
        wire.send(b"\x81\x00ping")
        assert wire.sock.recv(100) == b"\x81\x00ping"
    assert world.upstream.seen[0].values("upgrade") == ["websocket"]
