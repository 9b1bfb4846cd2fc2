"""Frames that are empty, oversized, truncated, garbage, or arrive a byte at a time."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import binary
from sandbox.v1 import legacy_pb2 as pb
from sandbox_engine.api.frames.connection import MAX_PENDING
from sandbox_engine.wire.frames import MAX_REQUEST

from tests.engine.api.clients import FrameClient, until
from tests.engine.api.fakes import World

Connect = Callable[[], Awaitable[FrameClient]]
CREATE = pb.ClientMessage(create=pb.CreateRequest(template_name="base"), request_id=1)


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


async def test_a_longer_length_is_answered_without_an_id_and_then_closed(
    client: FrameClient, world: World
) -> None:
    await client.ask(CREATE)
    client.writer.write(struct.pack(">I", MAX_REQUEST + 1))
    reply = await client.receive()
    assert (reply.request_id, reply.error.error_code) == (0, -2)
    assert str(MAX_REQUEST) in reply.error.message
    assert await client.closed_by_peer()
    await until(lambda: not world.sandboxes.boxes)


async def test_what_came_before_an_oversized_frame_is_served(client: FrameClient) -> None:
    client.writer.write(FrameClient.frame(CREATE) + struct.pack(">I", 2**32 - 1))
    assert (await client.receive()).create.sandbox_id == 1
    assert (await client.receive()).error.error_code == -2
    assert await client.closed_by_peer()


async def test_the_longest_frame_is_served(client: FrameClient, world: World) -> None:
    message = pb.ClientMessage(create=pb.CreateRequest(template_name="base"), request_id=1)
    overhead = len(message.SerializeToString()) + 16
    message.create.env_vars.append("A=" + "x" * (MAX_REQUEST - overhead - 2))
    assert MAX_REQUEST - 16 < message.ByteSize() <= MAX_REQUEST
    assert (await client.ask(message)).create.sandbox_id == 1
    assert len(world.sandboxes.boxes["sb_1"].spec.env["A"]) > MAX_REQUEST - 100


@pytest.mark.parametrize(
    "body",
    [b"\xff" * 5, b"\x0a\x7f", bytes([0x0A, 0x02, 0x1A, 0x05]), b"\x0a\x04\x1a\x02\xff\xff"],
    ids=["garbage", "cut short", "cut inside", "no UTF-8"],
)
async def test_a_body_that_is_no_message_is_answered_and_the_connection_stays(
    client: FrameClient, body: bytes
) -> None:
    client.writer.write(framed(body))
    reply = await client.receive()
    assert (reply.request_id, reply.error.error_code) == (0, -2)
    assert (await client.ask(CREATE)).create.sandbox_id == 1


async def test_a_message_that_asks_nothing_is_answered_with_its_id(client: FrameClient) -> None:
    reply = await client.ask(pb.ClientMessage(request_id=77))
    assert (reply.request_id, reply.error.error_code) == (77, -2)


async def test_an_empty_frame_is_a_message_that_asks_nothing(client: FrameClient) -> None:
    client.writer.write(framed(b""))
    reply = await client.receive()
    assert (reply.request_id, reply.error.error_code) == (0, -2)
    assert (await client.ask(CREATE)).create.sandbox_id == 1


async def test_a_request_of_a_later_protocol_is_answered_with_its_id(client: FrameClient) -> None:
    unknown = bytes([0xF2, 0x03, 0x00]) + pb.ClientMessage(request_id=5).SerializeToString()
    client.writer.write(framed(unknown))
    reply = await client.receive()
    assert (reply.request_id, reply.error.error_code) == (5, -2)


async def test_an_unknown_guest_operation_is_answered(client: FrameClient) -> None:
    await client.ask(CREATE)
    message = pb.ClientMessage(guest=pb.GuestRequest(sandbox_id=1), request_id=6)
    reply = await client.ask(message)
    assert (reply.request_id, reply.error.error_code) == (6, -2)


async def test_a_byte_at_a_time_is_the_same(client: FrameClient) -> None:
    data = FrameClient.frame(CREATE) + FrameClient.frame(
        pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=1), request_id=2)
    )
    for byte in data:
        client.writer.write(bytes([byte]))
        await client.writer.drain()
        await asyncio.sleep(0)
    assert (await client.receive()).create.sandbox_id == 1
    assert (await client.receive()).inspect.sandbox_id == 1


async def test_a_truncated_frame_is_dropped_with_its_connection(
    connect: Connect, world: World
) -> None:
    client = await connect()
    client.writer.write(FrameClient.frame(CREATE)[:-1])
    await client.close()
    await until(lambda: any(call[0] == "end_session" for call in world.sandboxes.calls))
    assert not world.sandboxes.boxes


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=binary(max_size=200))
def test_no_bytes_break_the_door(data: bytes, bytes_survived: Callable[[bytes], None]) -> None:
    bytes_survived(data)


@pytest.fixture
def bytes_survived(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], None]:
    """Sends bytes to a door of its own, then proves that it still serves the next client."""
    from sandbox_engine.api.frames.server import FrameServer
    from sandbox_engine.observe.tasks import settle
    from sandbox_engine.services.sessions import Sessions

    path = tmp_path_factory.mktemp("door") / "engine.sock"

    async def survives(data: bytes) -> None:
        world = World()
        server = FrameServer(
            sandboxes=world.sandboxes,
            execs=world.execs,
            files=world.files,
            sessions=Sessions(world.sandboxes),
            path=path,
            allowed_uids=None,
        )
        await server.start()
        rude = await FrameClient.connect(path)
        rude.writer.write(data)
        polite = await FrameClient.connect(path)
        assert (await polite.ask(CREATE)).create.sandbox_id
        await rude.close()
        await polite.close()
        await server.stop()
        await settle()

    def check(data: bytes) -> None:
        with asyncio.Runner() as runner:
            runner.run(survives(data))

    return check


async def test_a_client_that_reads_nothing_stops_being_read(connect: Connect, world: World) -> None:
    """Its replies fill the buffers, and then no request of it is taken any more."""
    await (reader := await connect()).ask(CREATE)
    stalled = await connect()
    await stalled.ask(CREATE)
    stalled.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a socket transport
    read = pb.GuestReadFileRequest(path="/workspace/big")
    world.files.files["/workspace/big"] = bytes(48 << 10)
    request = pb.GuestRequest(sandbox_id=2, read_file=read)
    data = FrameClient.frame(pb.ClientMessage(guest=request, request_id=3)) * 20_000
    stalled.writer.write(data)
    # The door stops reading, so the client's own buffer cannot drain.
    message = pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=1), request_id=4)
    for _ in range(200):
        assert (await reader.ask(message)).request_id == 4
    served = world.files.closed_reads
    assert stalled.writer.transport.get_write_buffer_size() > 0
    for _ in range(50):
        assert (await reader.ask(message)).request_id == 4
    assert world.files.closed_reads == served
    assert served < 20_000 // 10


async def test_requests_in_hand_are_bounded(client: FrameClient, world: World) -> None:
    world.sandboxes.gate = asyncio.Event()
    number = MAX_PENDING * 3
    creates = [
        pb.ClientMessage(create=pb.CreateRequest(template_name="base"), request_id=1 + each)
        for each in range(number)
    ]
    client.send(*creates)
    await until(lambda: world.sandboxes.creating == MAX_PENDING)
    world.sandboxes.gate.set()
    assert {(await client.receive()).request_id for _ in range(number)} == set(range(1, number + 1))
