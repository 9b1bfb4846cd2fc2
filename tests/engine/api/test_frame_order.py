"""Correlation and legacy order on the socket itself (seed "Request correlation")."""

from __future__ import annotations

import asyncio

from sandbox.v1 import legacy_pb2 as pb

from tests.engine.api.clients import FrameClient, until
from tests.engine.api.fakes import World


def create(request_id: int) -> pb.ClientMessage:
    return pb.ClientMessage(create=pb.CreateRequest(template_name="base"), request_id=request_id)


def inspect(request_id: int, sandbox_id: int = 1) -> pb.ClientMessage:
    return pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=sandbox_id), request_id=request_id)


def kind(reply: pb.ServerMessage) -> str | None:
    return reply.WhichOneof("response")


async def test_creates_with_ids_run_at_once_and_are_passed_by_others(
    client: FrameClient, world: World
) -> None:
    await client.ask(create(1))
    world.sandboxes.gate = asyncio.Event()
    client.send(*map(create, range(10, 18)))
    await until(lambda: world.sandboxes.creating == 8)
    assert (await client.ask(inspect(99))).request_id == 99
    world.sandboxes.gate.set()
    replies = [await client.receive() for _ in range(8)]
    assert {reply.request_id for reply in replies} == set(range(10, 18))
    assert len({reply.create.sandbox_id for reply in replies}) == 8


async def test_creates_without_ids_run_one_at_a_time(client: FrameClient, world: World) -> None:
    world.sandboxes.gate = asyncio.Event()
    client.send(create(0), create(0), create(0))
    await until(lambda: world.sandboxes.creating == 1)
    await client.ask(inspect(5))  # whatever was to start, had the time
    assert world.sandboxes.creating == 1
    world.sandboxes.gate.set()
    replies = [await client.receive() for _ in range(3)]
    assert [reply.create.sandbox_id for reply in replies] == [1, 2, 3]
    assert all(reply.request_id == 0 for reply in replies)


async def test_replies_without_ids_come_in_request_order(client: FrameClient, world: World) -> None:
    world.sandboxes.gate = asyncio.Event()
    destroy = pb.ClientMessage(destroy=pb.DestroyRequest(sandbox_id=1))
    client.send(create(0), inspect(0), destroy, inspect(0))
    await until(lambda: world.sandboxes.creating == 1)
    world.sandboxes.gate.set()
    replies = [await client.receive() for _ in range(4)]
    assert list(map(kind, replies)) == ["create", "inspect", "destroy", "error"]


async def test_a_request_without_an_id_waits_for_creates_in_flight(
    client: FrameClient, world: World
) -> None:
    await client.ask(create(1))
    world.sandboxes.gate = asyncio.Event()
    client.send(create(2), inspect(0))
    await until(lambda: world.sandboxes.creating == 1)
    assert (await client.ask(inspect(3))).request_id == 3  # came later, and may pass
    world.sandboxes.gate.set()
    first, second = await client.receive(), await client.receive()
    assert (first.request_id, kind(first)) == (2, "create")
    assert (second.request_id, kind(second)) == (0, "inspect")


async def test_a_guest_operation_without_an_id_is_refused_in_its_turn(
    client: FrameClient,
) -> None:
    stat = pb.GuestRequest(sandbox_id=1, stat=pb.GuestStatRequest(path="/workspace"))
    client.send(create(0), pb.ClientMessage(guest=stat), inspect(0))
    replies = [await client.receive() for _ in range(3)]
    assert list(map(kind, replies)) == ["create", "error", "inspect"]
    assert replies[1].error.error_code == -2


async def test_a_long_queue_without_ids_is_answered_whole(client: FrameClient) -> None:
    await client.ask(create(1))
    client.send(*(inspect(0) for _ in range(3000)))
    for _ in range(3000):
        assert kind(await client.receive()) == "inspect"


async def test_a_long_pipeline_with_ids_is_answered_whole(client: FrameClient) -> None:
    await client.ask(create(1))
    client.send(*(inspect(number) for number in range(1, 3001)))
    answered = {(await client.receive()).request_id for _ in range(3000)}
    assert answered == set(range(1, 3001))
