"""One connection, many threads; forks; memory that runs out.  Under the sanitizers."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from sandbox.v1 import legacy_pb2 as pb

from tests.sdk_c.building import VALGRIND, c_programs
from tests.sdk_c.driving import Driver, op, run
from tests.sdk_c.frame_daemon import Connection, FrameDaemon

FLAVOURS = ["plain", "asan", "tsan"]


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_64_threads_share_a_connection(daemon: FrameDaemon, flavour: str) -> None:
    daemon.free_machines = 6
    out = await run(c_programs(flavour) / "threads", daemon.path, "64", "2", "base")
    assert out == "ok\n"
    assert len(daemon.connections) == 1
    assert len(daemon.destroyed) == 128


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_creates_are_in_flight_together_and_answered_backwards(
    daemon: FrameDaemon, flavour: str
) -> None:
    """The first create is answered last, once 32 of 32 threads have asked."""
    turns: list[asyncio.Event] = []

    async def backwards(connection: Connection, message: pb.ClientMessage) -> None:
        turns.append(asyncio.Event())
        mine = len(turns) - 1
        if len(turns) == 32:
            turns[mine].set()
        await turns[mine].wait()
        await daemon.obey(connection, message)
        if mine:
            turns[mine - 1].set()

    daemon.script["create"] = backwards
    out = await run(c_programs(flavour) / "threads", daemon.path, "32", "1", "base")
    assert out == "ok\n"


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_cleanup_and_init_while_others_call(daemon: FrameDaemon, flavour: str) -> None:
    out = await run(c_programs(flavour) / "cleanups", daemon.path, "base")
    assert out == "ok\n"


@pytest.mark.parametrize("flavour", ["plain", "tsan"])
async def test_a_thread_that_is_cancelled_in_a_call(daemon: FrameDaemon, flavour: str) -> None:
    """Not under ASan, which takes the unwound stack of any cancelled thread for an overflow."""
    asked, released = asyncio.Event(), asyncio.Event()

    async def held(connection: Connection, message: pb.ClientMessage) -> None:
        asked.set()
        await released.wait()
        ended = pb.GuestResponse(exec=pb.GuestExecResponse())
        connection.reply(pb.ServerMessage(request_id=message.request_id, guest=ended))

    async def once_asked(connection: Connection, message: pb.ClientMessage) -> None:
        await asked.wait()
        await daemon.obey(connection, message)

    async def release(connection: Connection, message: pb.ClientMessage) -> None:
        released.set()
        await daemon.obey(connection, message)

    daemon.script = {"exec": held, "pause": once_asked, "inspect": release}
    assert await run(c_programs(flavour) / "cancels", daemon.path, "base") == "ok\n"


@pytest.mark.parametrize("flavour", ["plain", "asan"])
async def test_fork_while_another_thread_calls(daemon: FrameDaemon, flavour: str) -> None:
    """Each child opens a session of its own; the parent's ends with the parent."""
    out = await run(c_programs(flavour) / "forks", daemon.path, "base")
    assert out == "ok\n"
    assert len(daemon.connections) == 6
    for connection in daemon.connections:
        await connection.closed.wait()


async def test_a_child_does_not_keep_the_session_open(daemon: FrameDaemon, tmp_path: Path) -> None:
    """The daemon sees the parent's connection close although a child of it still lives."""
    fifo = tmp_path / "until"
    os.mkfifo(fifo)
    process = await asyncio.create_subprocess_exec(
        c_programs("plain") / "orphan", daemon.path, "base", fifo
    )
    assert await process.wait() == 0
    await daemon.connections[0].closed.wait()
    assert daemon.destroyed == [1]
    await asyncio.to_thread(fifo.write_bytes, b"")  # waits for the child to be there


@pytest.mark.parametrize("flavour", ["plain", "asan"])
async def test_every_allocation_fails_once(daemon: FrameDaemon, flavour: str) -> None:
    total = int(await run(c_programs(flavour) / "malloc_fails", daemon.path, "base"))
    assert total > 10
    for connection in daemon.connections:
        await connection.closed.wait()
    created = sum(m.HasField("create") for m in daemon.seen)
    assert len(daemon.destroyed) == created


async def test_valgrind_of_everything(daemon: FrameDaemon) -> None:
    lines = await Driver(daemon.path, "valgrind").sandbox(
        op("pause"),
        op("inspect"),
        op("resume"),
        op("exec", sh="cat; echo err >&2", fill=1000),
        op("mkdir", path="/workspace/d"),
        op("write", path="/workspace/d/f", fill=100000),
        op("read", path="/workspace/d/f"),
        op("stat", path="/workspace/d/f"),
        op("list", path="/workspace"),
        op("remove", path="/workspace/d", recursive=1),
        op("renew", key="absent"),
        op("destroy"),
        op("inspect", h=0),
    )
    assert [line.code for line in lines] == [*[0] * 10, -8, 0, -4]


async def test_valgrind_of_threads(daemon: FrameDaemon) -> None:
    out = await run(*VALGRIND, c_programs("plain") / "threads", daemon.path, "8", "1", "base")
    assert out == "ok\n"


async def test_helgrind_agrees_about_the_locks(daemon: FrameDaemon) -> None:
    checker = ["valgrind", "-q", "--tool=helgrind", "--error-exitcode=99"]
    out = await run(*checker, c_programs("plain") / "threads", daemon.path, "4", "1", "base")
    assert out == "ok\n"


async def test_valgrind_of_a_daemon_that_dies(daemon: FrameDaemon) -> None:
    async def die(connection: Connection, message: pb.ClientMessage) -> None:
        daemon.die()

    daemon.script["exec"] = die
    ran, seen = await Driver(daemon.path, "valgrind").sandbox(op("exec", sh="true"), op("inspect"))
    assert (ran.code, seen.code) == (-3, -3)
