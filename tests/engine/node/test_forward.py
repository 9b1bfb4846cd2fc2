"""Ports over gRPC: each direction ends on its own, and any failure ends the call."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from sandbox.v1 import guest_pb2 as pb
from sandbox_engine.api.rpc import forward
from sandbox_engine.errors import EngineError, GuestUnavailable, InvalidArgument, TooLarge
from sandbox_engine.model.caller import Caller
from sandbox_engine.services.relay import Ports

from tests.engine.node.world import World


class Forward:
    """One call, in the node's loop."""

    def __init__(self, node: World, first: pb.ForwardPortRequest) -> None:
        self._node = node
        self._up: asyncio.Queue[pb.ForwardPortRequest | None] = asyncio.Queue()
        self.put(first)
        self._call = forward.run(Ports(node.sandboxes), self._requests(), Caller(name="node"))

    async def _requests(self) -> AsyncIterator[pb.ForwardPortRequest]:
        while (request := await self._up.get()) is not None:
            yield request

    def put(self, request: pb.ForwardPortRequest | None) -> None:
        async def hand_in() -> None:
            self._up.put_nowait(request)

        self._node.call(hand_in())

    def send(self, data: bytes) -> None:
        self.put(pb.ForwardPortRequest(data=data))

    def next(self) -> pb.ForwardPortResponse | None:
        async def one() -> pb.ForwardPortResponse | None:
            return await anext(self._call, None)

        return self._node.call(one())

    def fails(self, kind: type[EngineError]) -> None:
        with pytest.raises(kind):
            self.next()


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


@pytest.fixture
def call(node: World, claim: Any, listening: socket.socket) -> tuple[Forward, socket.socket]:
    """A call that is connected, and the guest's end of it."""
    made = opened(node, claim, listening.getsockname()[1])
    answer = made.next()
    assert answer is not None
    assert answer.HasField("opened")
    return made, listening.accept()[0]


def opened(node: World, claim: Any, port: int) -> Forward:
    to = pb.ForwardPortOpen(sandbox_id=claim["id"], port=port)
    return Forward(node, pb.ForwardPortRequest(open=to))


def read_to_end(guest: socket.socket) -> bytes:
    return b"".join(iter(lambda: guest.recv(65536), b""))


def test_the_client_ends_first(call: tuple[Forward, socket.socket]) -> None:
    made, guest = call
    with guest:
        made.send(bytes(range(256)))
        made.put(None)
        assert read_to_end(guest) == bytes(range(256))
        guest.sendall(b"still here")
    answers = [made.next(), made.next(), made.next()]
    assert answers == [
        pb.ForwardPortResponse(data=b"still here"),
        pb.ForwardPortResponse(closed=pb.ForwardPortClosed()),
        None,
    ]


def test_the_guest_ends_first(call: tuple[Forward, socket.socket]) -> None:
    made, guest = call
    with guest:
        guest.shutdown(socket.SHUT_WR)
        assert made.next() == pb.ForwardPortResponse(closed=pb.ForwardPortClosed())
        made.send(b"not yet")
        made.put(None)
        assert read_to_end(guest) == b"not yet"
        assert made.next() is None


def test_what_may_not_follow_ends_the_call(call: tuple[Forward, socket.socket]) -> None:
    made, guest = call
    with guest:
        made.put(pb.ForwardPortRequest(open=pb.ForwardPortOpen()))
        made.fails(InvalidArgument)
        assert read_to_end(guest) == b""


@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_of_a_message(call: tuple[Forward, socket.socket], over: int) -> None:
    made, guest = call
    with guest:
        made.send(bytes(forward.MAX_DATA + over))
        made.put(None)
        if over:
            made.fails(TooLarge)
        else:
            assert len(read_to_end(guest)) == forward.MAX_DATA


def test_what_cannot_be_opened(node: World, claim: Any, listening: socket.socket) -> None:
    port = listening.getsockname()[1]
    listening.close()
    opened(node, claim, port).fails(GuestUnavailable)
    for wrong in (0, 65536):
        opened(node, claim, wrong).fails(InvalidArgument)
    Forward(node, pb.ForwardPortRequest(data=b"x")).fails(InvalidArgument)
