"""Days on which the daemon is not there, dies, or says what no daemon says."""

from __future__ import annotations

import asyncio
import ctypes
import struct
from pathlib import Path

import pytest
from sandbox.v1 import legacy_pb2 as pb

from tests.sdk_c.building import c_programs
from tests.sdk_c.driving import Driver, op, run
from tests.sdk_c.frame_daemon import Connection, FrameDaemon, encode, failure


async def test_nobody_listens(driver: Driver, tmp_path: Path) -> None:
    lines = await driver.raw(
        op("init", socket=tmp_path / "absent.sock"),
        op("init", socket="/" + "x" * 200),
        op("init"),
        op("create", template="base"),
    )
    assert [line.code for line in lines] == [-3, -3, -3, -3]


async def test_a_file_that_is_no_socket(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    [opened] = await driver.raw(op("init", socket=tmp_path / "file"))
    assert opened.code == -3


async def test_a_daemon_that_dies_in_a_call(driver: Driver, daemon: FrameDaemon) -> None:
    async def die(connection: Connection, message: pb.ClientMessage) -> None:
        daemon.die()

    daemon.script["exec"] = die
    ran, seen, created = await driver.sandbox(
        op("exec", sh="true"), op("inspect", h=0), op("create", template="base")
    )
    assert (ran.code, seen.code, created.code) == (-3, -3, -3)


async def test_a_lost_session_is_replaced_by_init(driver: Driver, daemon: FrameDaemon) -> None:
    async def hang_up(connection: Connection, message: pb.ClientMessage) -> None:
        connection.drop()

    daemon.script["pause"] = hang_up
    paused, reopened, stale, created, seen = await driver.sandbox(
        op("pause"),
        op("init", socket=daemon.path),
        op("inspect", h=0),
        op("create", template="base"),
        op("inspect", h=1),
    )
    assert [paused.code, reopened.code, stale.code, created.code, seen.code] == [-3, 0, -4, 0, 0]


async def test_a_session_that_was_lost_while_idle_is_replaced_by_init(daemon: FrameDaemon) -> None:
    """Bound by name, as a language without C headers does."""
    library = ctypes.CDLL(str(c_programs("plain").parents[2] / "sdk/c/libsandbox.so"))
    path = str(daemon.path).encode()
    assert await asyncio.to_thread(library.sandbox_init, path) == 0
    while not daemon.connections:
        await asyncio.sleep(0)
    daemon.connections[0].drop()
    await daemon.connections[0].closed.wait()
    try:
        assert await asyncio.to_thread(library.sandbox_init, path) == 0
        assert await asyncio.to_thread(library.sandbox_session_renew, b"k", 1, None) == -8
        assert len(daemon.connections) == 2
    finally:
        await asyncio.to_thread(library.sandbox_cleanup)


def body(size: int) -> bytes:
    return struct.pack(">I", size)


NOISE = [
    pytest.param(b"\xff" * 64, id="no frame at all"),
    pytest.param(body(5) + b"\xff\xff\xff\xff\xff", id="garbage in a frame"),
    pytest.param(body(0), id="an empty frame"),
    pytest.param(body(65537), id="a frame that is too long"),
    pytest.param(encode(failure(0, -2)), id="a reply without an id"),
    pytest.param(encode(failure(999, -2)), id="a reply to nothing"),
    pytest.param(encode(pb.ServerMessage(pause=pb.PauseResponse())), id="a success without an id"),
]


@pytest.mark.parametrize("noise", NOISE)
async def test_noise_ends_the_session_and_nothing_else(
    driver: Driver, daemon: FrameDaemon, noise: bytes
) -> None:
    async def make_noise(connection: Connection, message: pb.ClientMessage) -> None:
        connection.raw(noise)

    daemon.script["exec"] = make_noise
    ran, seen = await driver.sandbox(op("exec", sh="true"), op("inspect"))
    assert (ran.code, seen.code) == (-3, -3)


async def test_a_frame_that_is_cut_off(driver: Driver, daemon: FrameDaemon) -> None:
    async def cut_off(connection: Connection, message: pb.ClientMessage) -> None:
        connection.raw(encode(failure(message.request_id, -2))[:-1])
        connection.writer.close()

    daemon.script["exec"] = cut_off
    [ran] = await driver.sandbox(op("exec", sh="true"))
    assert ran.code == -3


WRONG = [
    pytest.param(pb.ServerMessage(pause=pb.PauseResponse()), id="another answer"),
    pytest.param(pb.ServerMessage(), id="no answer"),
    pytest.param(pb.ServerMessage(guest=pb.GuestResponse()), id="no result"),
    pytest.param(
        pb.ServerMessage(guest=pb.GuestResponse(mkdir=pb.GuestMkdirResponse())),
        id="the result of another operation",
    ),
]


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_answer_is_internal_and_the_session_goes_on(
    driver: Driver, daemon: FrameDaemon, wrong: pb.ServerMessage
) -> None:
    async def answer(connection: Connection, message: pb.ClientMessage) -> None:
        wrong.request_id = message.request_id
        connection.reply(wrong)

    daemon.script["exec"] = answer
    ran, seen = await driver.sandbox(op("exec", sh="true"), op("inspect"))
    assert (ran.code, seen.code) == (-5, 0)


async def test_a_piece_of_nothing_with_more_to_come_is_no_loop(
    driver: Driver, daemon: FrameDaemon
) -> None:
    async def answer(connection: Connection, message: pb.ClientMessage) -> None:
        piece = pb.GuestReadFileResponse(file_size=10, truncated=True)
        guest = pb.GuestResponse(read_file=piece)
        connection.reply(pb.ServerMessage(request_id=message.request_id, guest=guest))

    daemon.script["read_file"] = answer
    [read] = await driver.sandbox(op("read", path="/workspace/f"))
    assert read.code == -5


async def test_replies_a_byte_at_a_time(driver: Driver, daemon: FrameDaemon) -> None:
    async def dribble(connection: Connection, message: pb.ClientMessage) -> None:
        ran = pb.GuestExecResponse(out=b"slow", out_total=4)
        guest = pb.GuestResponse(exec=ran)
        for byte in encode(pb.ServerMessage(request_id=message.request_id, guest=guest)):
            connection.raw(bytes([byte]))
            await connection.writer.drain()
            await asyncio.sleep(0)

    daemon.script["exec"] = dribble
    [ran] = await driver.sandbox(op("exec", sh="true"))
    assert (ran.code, ran.data("out")) == (0, b"slow")


async def test_a_failed_destroy_can_be_tried_again(driver: Driver, daemon: FrameDaemon) -> None:
    async def refuse(connection: Connection, message: pb.ClientMessage) -> None:
        del daemon.script["destroy"]
        connection.reply(failure(message.request_id, -5))

    daemon.script["destroy"] = refuse
    first, second = await driver.sandbox(op("destroy"), op("destroy"))
    assert (first.code, second.code) == (-5, 0)


async def test_cleanup_does_not_wait_for_ever(daemon: FrameDaemon) -> None:
    """The daemon reads and never answers: after ten seconds the connection is closed."""

    async def ignore(connection: Connection, message: pb.ClientMessage) -> None:
        pass

    daemon.script["destroy"] = ignore
    await Driver(daemon.path, "plain").sandbox()
    await daemon.connections[0].closed.wait()
    assert daemon.destroyed == [1]


async def test_a_client_that_is_killed_in_a_call_leaves_nothing(daemon: FrameDaemon) -> None:
    asked = asyncio.Event()

    async def run_it(connection: Connection, message: pb.ClientMessage) -> None:
        asked.set()
        await daemon.obey(connection, message)

    daemon.script["exec"] = run_it
    process = await asyncio.create_subprocess_exec(
        c_programs("plain") / "driver",
        *op("init", socket=daemon.path).argv,
        *op("create", template="base").argv,
        *op("exec", arg=["sleep", "1000"]).argv,  # one process: asyncio kills no children of it
        stdout=asyncio.subprocess.DEVNULL,
    )
    await asked.wait()
    process.kill()
    await process.wait()
    await daemon.connections[0].closed.wait()
    assert daemon.destroyed == [1]


@pytest.mark.parametrize("flavour", ["plain", "asan", "tsan"])
async def test_a_daemon_that_dies_fails_every_waiter(daemon: FrameDaemon, flavour: str) -> None:
    """64 threads wait in a call; the program checks that each got its -3, and no SIGPIPE."""
    count = 0

    async def hang(connection: Connection, message: pb.ClientMessage) -> None:
        nonlocal count
        count += 1
        if count == 64:
            daemon.die()

    daemon.script["inspect"] = hang
    program = c_programs(flavour) / "waiters"
    assert await run(program, daemon.path, "base", "inspect", "64") == "waiting\n64\n"


@pytest.mark.parametrize("flavour", ["plain", "asan", "tsan"])
async def test_a_daemon_that_dies_while_commands_run(daemon: FrameDaemon, flavour: str) -> None:
    """16 commands run; one more operation is refused, and then the daemon is gone."""

    async def refuse(connection: Connection, message: pb.ClientMessage) -> None:
        if connection.guest_operations == 16:
            connection.reply(failure(message.request_id, -9))
            await connection.writer.drain()
            daemon.die()
        else:
            await daemon.obey(connection, message)

    daemon.script["stat"] = refuse
    program = c_programs(flavour) / "waiters"
    assert await run(program, daemon.path, "base", "exec", "16") == "waiting\n16\n"
