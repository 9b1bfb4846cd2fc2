"""Both doors on sockets of their own, with fakes behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import grpc.aio
import pytest
from sandbox_engine.api.frames.server import FrameServer
from sandbox_engine.api.rpc.server import RpcServer
from sandbox_engine.observe.tasks import settle
from sandbox_engine.services.sessions import Sessions

from tests.engine.api.clients import FrameClient
from tests.engine.api.fakes import FakeStates, World


@pytest.fixture
def world() -> World:
    """Fakes nobody has touched."""
    return World()


@pytest.fixture
async def frame_socket(world: World, tmp_path: Path) -> AsyncIterator[Path]:
    """The frame door, serving."""
    path = tmp_path / "run" / "engine.sock"
    server = FrameServer(
        sandboxes=world.sandboxes,
        execs=world.execs,
        files=world.files,
        sessions=Sessions(world.sandboxes),
        path=path,
        allowed_uids=None,
    )
    await server.start()
    yield path
    await server.stop()
    await settle()


@pytest.fixture
async def connect(frame_socket: Path) -> AsyncIterator[Callable[[], Awaitable[FrameClient]]]:
    """Opens connections to it."""
    opened: list[FrameClient] = []

    async def connect() -> FrameClient:
        opened.append(await FrameClient.connect(frame_socket))
        return opened[-1]

    yield connect
    for client in opened:
        await client.close()


@pytest.fixture
async def client(connect: Callable[[], Awaitable[FrameClient]]) -> FrameClient:
    """One connection to it."""
    return await connect()


@pytest.fixture
async def rpc_socket(world: World, tmp_path: Path) -> AsyncIterator[Path]:
    """The gRPC door, serving."""
    path = tmp_path / "run" / "grpc.sock"
    server = RpcServer(
        sandboxes=world.sandboxes,
        execs=world.execs,
        files=world.files,
        sessions=Sessions(world.sandboxes),
        templates=world.templates,
        states=FakeStates(),
        node=world.node,
        path=path,
    )
    await server.start()
    yield path
    await server.stop()
    await settle()


@pytest.fixture
async def channel(rpc_socket: Path) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to it."""
    async with grpc.aio.insecure_channel(f"unix:{rpc_socket}") as channel:
        yield channel
