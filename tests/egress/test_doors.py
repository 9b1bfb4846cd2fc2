"""256 connections a door, on both sides: the agent's own, and what a hostile one may open."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.ports.guest import GuestPort
from sandbox_engine.services.doors import MAX_CONNECTIONS, Doors
from sandbox_guest import doors as agent

BOUND = 256


class Endless:
    """A guest's stream that says nothing until it is reset."""

    def __init__(self) -> None:
        self.over = asyncio.Event()

    async def receive(self) -> None:
        await self.over.wait()

    def finish(self) -> None:
        pass

    def reset(self) -> None:
        self.over.set()


class EndlessBroker:
    """Takes connections and never answers."""

    def __init__(self, path: Path) -> None:
        self.path, self.taken = path, 0

    async def connect(self, sandbox_id: str, door: str) -> Any:
        self.taken += 1
        return await asyncio.open_unix_connection(str(self.path))


class Everything:
    """Every sandbox there is, with both doors open."""

    def get(self, caller: Any, sandbox_id: str) -> str:
        return sandbox_id

    def doors(self, sandbox: Any) -> list[str]:
        return ["http"]


async def test_a_guest_s_257th_connection_is_refused_by_the_host(tmp_path: Path) -> None:
    assert MAX_CONNECTIONS == BOUND

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    path = tmp_path / "doors.sock"
    server = await asyncio.start_unix_server(hold, str(path), backlog=1024)
    broker, every = EndlessBroker(path), Everything()
    doors = Doors(broker, every, every)  # type: ignore[arg-type]  # as much of them as it asks
    streams = [Endless() for _ in range(BOUND + 1)]
    try:
        for stream in streams:
            doors.accept("sb_1", GuestPort.HTTP_DOOR, stream)  # type: ignore[arg-type]  # a stub
        assert [stream.over.is_set() for stream in streams] == [False] * BOUND + [True]
        other = Endless()
        doors.accept("sb_2", GuestPort.HTTP_DOOR, other)  # type: ignore[arg-type]  # a stub
        assert not other.over.is_set()  # another guest's are its own
        closed = Endless()
        doors.accept("sb_1", GuestPort.SOCKS_DOOR, closed)  # type: ignore[arg-type]  # a stub
        assert closed.over.is_set()  # that door is not open
    finally:
        await doors.close()
        server.close()
        await server.wait_closed()


class NoStream:
    """A channel whose streams stay open."""

    def __init__(self) -> None:
        self.opened = 0
        self.waiters: list[asyncio.Event] = []

    def open(self, port: int) -> Any:
        self.opened += 1
        assert port == 2049
        return _Silent()


class _Silent:
    async def receive(self) -> None:
        await asyncio.Event().wait()

    def half_close(self) -> None:
        pass

    def reset(self) -> None:
        pass


async def test_the_agent_s_257th_waits_until_another_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert agent.MAX_CONNECTIONS == BOUND
    monkeypatch.setattr(agent, "PORTS", {"http": (0, 2049)})  # any free port of this host
    channel = NoStream()
    doors = agent.Doors()
    doors.channel = channel
    doors.set(["http"])
    host, port = doors._open["http"]._listener.getsockname()
    clients = []
    try:
        for _ in range(BOUND + 1):
            clients.append(await asyncio.open_connection(host, port))
        while channel.opened < BOUND:
            await asyncio.sleep(0.01)
        door = doors._open["http"]
        assert (channel.opened, door._places.locked()) == (BOUND, True)
        door._connections.copy().pop().cancel()
        while channel.opened <= BOUND:
            await asyncio.sleep(0.01)
    finally:
        connections = set(doors._open["http"]._connections)
        doors.set([])
        await asyncio.wait(connections)
        for _, writer in clients:
            writer.close()
