"""What a channel and the guest behind it promise (`ports.guest`), asked of an agent in a real
machine and of the fake guest.

One machine serves all of them; each test connects anew, as an engine does after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    InvalidArgument,
    PathExists,
    PathNotFound,
)
from sandbox_engine.guest.channel import PROTOCOL, Channel
from sandbox_engine.ports.guest import GuestPort, GuestStream
from sandbox_engine.ports.vmm import Machine
from sandbox_engine.wire.guest_status import error_of, parse
from sandbox_guest.framing import FrameKind

from tests.conformance.machines import (
    ANSWER_S,
    Bench,
    greeted,
    identity_of,
    launched,
    printed,
    soon,
)

FOLDER = "/workspace"


@pytest.fixture(scope="module")
async def machine(bench: Bench) -> AsyncIterator[Machine]:
    async with launched(bench, "guest") as made:
        await made.start()
        yield made


@pytest.fixture
async def channel(machine: Machine) -> AsyncIterator[Channel]:
    async with greeted(machine, resync=True) as made:
        yield made


async def begin(channel: Channel, *argv: str, **fields: Any) -> GuestStream:
    """A command that has started."""
    stream = channel.open(GuestPort.ENGINE, {"op": "exec", "argv": list(argv), **fields})
    message = parse(await received(stream))
    if message["type"] == "error":
        raise error_of(message)
    assert message["type"] == "started"
    return stream


async def received(stream: GuestStream) -> tuple[int, bytes]:
    message = await stream.receive()
    assert message is not None, "the guest ended the operation"
    return message


async def ended(stream: GuestStream) -> tuple[dict[str, Any], bytes]:
    """How a command ended, and what it printed."""
    output = b""
    while True:
        kind, body = await received(stream)
        if kind == FrameKind.CONTROL:
            assert await stream.receive() is None, "nothing follows the end"
            return parse((kind, body)), output
        output += body


async def write(channel: Channel, path: str, content: bytes, **fields: Any) -> None:
    stream = channel.open(GuestPort.ENGINE, {"op": "write_file", "path": path, **fields})
    if content:
        await stream.send_bulk(FrameKind.DATA, content)
    await stream.send({"op": "data_end"})
    answer = parse(await received(stream))
    if answer["type"] == "error":
        raise error_of(answer)


async def read(channel: Channel, path: str, **fields: Any) -> tuple[bytes, dict[str, Any]]:
    stream = channel.open(GuestPort.ENGINE, {"op": "read_file", "path": path, **fields})
    content = b""
    while True:
        kind, body = await received(stream)
        if kind == FrameKind.CONTROL:
            answer = parse((kind, body))
            if answer["type"] == "error":
                raise error_of(answer)
            return content, answer
        content += body


async def test_a_greeting_confirms_the_identity_and_says_who_is_there(machine: Machine) -> None:
    async with greeted(machine, resync=True) as channel:
        first = await channel.greet(identity_of({}), timeout_s=ANSWER_S)
        assert first.protocol == PROTOCOL
        assert first.identity_confirmed
        assert first.agent_version
        assert first.kernel
        assert len(first.boot_id) == 36
        again = await channel.greet(None, timeout_s=ANSWER_S)
        assert again.boot_id == first.boot_id, "without an identity it stays who it is"


async def test_variables_of_the_identity_reach_commands_until_they_are_replaced(
    channel: Channel,
) -> None:
    await channel.greet(identity_of({"ONE": "1", "TWO": "2"}), timeout_s=ANSWER_S)
    assert await printed(channel, "printenv", "ONE") == b"1\n"
    await channel.call({"op": "configure", "env": {"TWO": "zwei"}})
    assert await printed(channel, "printenv", "TWO") == b"zwei\n"
    assert await printed(channel, "printenv", "ONE") == b""


async def test_a_command_has_its_own_variables_too(channel: Channel) -> None:
    await channel.call({"op": "configure", "env": {"ONE": "1"}})
    stream = await begin(channel, "printenv", "ONE", env={"ONE": "mine"})
    assert (await ended(stream))[1] == b"mine\n"
    assert await printed(channel, "printenv", "ONE") == b"1\n"


async def test_what_nobody_waits_for_precedes_what_is_opened_after_it(channel: Channel) -> None:
    for number in range(5):
        channel.notify({"op": "configure", "env": {"N": str(number)}})
        assert await printed(channel, "printenv", "N") == f"{number}\n".encode()


@pytest.mark.parametrize(("argv", "code"), [("true", 0), ("false", 1)])
async def test_a_command_ends_with_its_code(channel: Channel, argv: str, code: int) -> None:
    end, output = await ended(await begin(channel, argv))
    assert output == b""
    assert end.pop("duration_ms") >= 0
    assert end == {
        "type": "exit",
        "code": code,
        "signal": 0,
        "timed_out": False,
        "truncated": False,
        "out_total": 0,
        "err_total": 0,
    }


async def test_a_program_that_is_not_there_is_an_error(channel: Channel) -> None:
    with pytest.raises(PathNotFound, match="no-such-program"):
        await begin(channel, "no-such-program")


async def test_input_goes_in_and_comes_out_until_its_end(channel: Channel) -> None:
    stream = await begin(channel, "cat", stdin=True)
    for piece in (b"one", b"two"):
        await stream.send_bulk(FrameKind.STDIN, piece)
        assert await received(stream) == (FrameKind.STDOUT, piece)
    await stream.send({"op": "stdin_close"})
    end, _ = await ended(stream)
    assert (end["code"], end["out_total"]) == (0, 6)


async def test_output_is_cut_to_the_head_and_the_total_is_true(channel: Channel) -> None:
    stream = await begin(channel, "cat", stdin=True, head_out=4)
    await stream.send_bulk(FrameKind.STDIN, b"0123456789")
    await stream.send({"op": "stdin_close"})
    end, output = await ended(stream)
    assert output == b"0123"
    assert end["out_total"] == 10


async def test_a_signal_ends_a_command(channel: Channel) -> None:
    stream = await begin(channel, "sleep", "1000")
    await stream.send({"op": "signal", "signal": 15})
    end, _ = await ended(stream)
    assert (end["code"], end["signal"]) == (-1, 15)


async def test_an_unknown_operation_is_refused_by_name(channel: Channel) -> None:
    with pytest.raises(InvalidArgument, match="'fly'"):
        await channel.call({"op": "fly"})
    assert await channel.call({"op": "ping"}) == {"type": "pong"}


async def test_a_reader_that_stops_stops_its_command_and_no_other(channel: Channel) -> None:
    flood = await begin(channel, "yes")
    assert (await received(flood))[1].startswith(b"y\n")
    assert await printed(channel, "echo", "on") == b"on\n"
    kind, body = await received(flood)
    assert kind == FrameKind.STDOUT
    assert set(body) <= set(b"y\n")
    flood.reset()
    flood.reset()
    assert await channel.call({"op": "ping"}) == {"type": "pong"}


async def test_more_than_a_window_comes_whole(channel: Channel) -> None:
    content = bytes(range(256)) * (3 << 12)
    await write(channel, f"{FOLDER}/large", content)
    found, answer = await read(channel, f"{FOLDER}/large")
    assert found == content
    assert (answer["size"], answer["truncated"]) == (len(content), False)
    await channel.call({"op": "remove", "path": f"{FOLDER}/large"})


async def test_files_are_written_read_listed_and_removed(channel: Channel) -> None:
    path = f"{FOLDER}/file"
    await write(channel, path, b"one")
    await write(channel, path, b"two", append=True)
    found, answer = await read(channel, path, offset=2, max_bytes=3)
    assert found == b"etw"
    assert (answer["size"], answer["truncated"]) == (6, True)
    stat = await channel.call({"op": "stat", "path": path})
    assert (stat["kind"], stat["size"]) == ("file", 6)
    await write(channel, f"{FOLDER}/other", b"")
    listed = await channel.call({"op": "list_dir", "path": FOLDER, "max_entries": 100})
    assert [(row["name"], row["kind"], row["size"]) for row in listed["entries"]] == [
        ("file", "file", 6),
        ("other", "file", 0),
    ]
    assert not listed["truncated"]
    listed = await channel.call({"op": "list_dir", "path": FOLDER, "max_entries": 1})
    assert len(listed["entries"]) == 1
    assert listed["truncated"]
    for name in ("file", "other"):
        await channel.call({"op": "remove", "path": f"{FOLDER}/{name}"})
    listed = await channel.call({"op": "list_dir", "path": FOLDER, "max_entries": 1})
    assert listed["entries"] == []


@pytest.mark.parametrize("op", ["read_file", "stat", "remove"])
async def test_a_file_that_is_not_there_is_not_found(channel: Channel, op: str) -> None:
    with pytest.raises(PathNotFound):
        await channel.call({"op": op, "path": f"{FOLDER}/nothing"})


async def test_what_must_be_new_does_not_replace(channel: Channel) -> None:
    path = f"{FOLDER}/new"
    await write(channel, path, b"first", excl=True)
    with pytest.raises(PathExists):
        await write(channel, path, b"second", excl=True)
    assert (await read(channel, path))[0] == b"first"
    await channel.call({"op": "remove", "path": path})


async def test_half_a_file_replaces_nothing(channel: Channel) -> None:
    path = f"{FOLDER}/whole"
    await write(channel, path, b"whole")
    stream = channel.open(GuestPort.ENGINE, {"op": "write_file", "path": path})
    await stream.send_bulk(FrameKind.DATA, b"half")
    stream.reset()
    assert (await read(channel, path))[0] == b"whole"
    await channel.call({"op": "remove", "path": path})


async def test_a_greeting_ends_what_ran_before(channel: Channel) -> None:
    stream = await begin(channel, "sleep", "1000")
    await channel.greet(None, timeout_s=ANSWER_S)
    with pytest.raises(GuestUnavailable):
        await stream.receive()
    with pytest.raises(GuestUnavailable):
        await stream.send({"op": "signal", "signal": 15})
    assert await printed(channel, "echo", "on") == b"on\n"


async def test_an_operation_that_began_before_a_rest_goes_on_after_it(channel: Channel) -> None:
    stream = await begin(channel, "cat", stdin=True)
    await channel.quiesce()
    await stream.send_bulk(FrameKind.STDIN, b"held")
    await channel.resume()
    assert await received(stream) == (FrameKind.STDOUT, b"held")
    stream.reset()


async def test_the_clock_can_be_set(channel: Channel) -> None:
    await channel.set_clock()
    with pytest.raises(InvalidArgument, match="clock_ns"):
        await channel.call({"op": "clock"})


async def test_a_closed_channel_refuses_at_once(machine: Machine) -> None:
    async with greeted(machine, resync=True) as channel:
        stream = await begin(channel, "sleep", "1000")
        for _ in range(2):
            await channel.close()
        await soon(channel.lost)
        with pytest.raises(GuestUnavailable):
            await stream.receive()
        for refused in (channel.call({"op": "ping"}), channel.greet(None), channel.quiesce()):
            with pytest.raises(GuestUnavailable):
                await refused
        with pytest.raises(GuestUnavailable):
            channel.open(GuestPort.ENGINE)


async def test_operations_run_beside_each_other(channel: Channel) -> None:
    words = [str(number) for number in range(8)]
    outputs = await asyncio.gather(*(printed(channel, "echo", word) for word in words))
    assert outputs == [f"{word}\n".encode() for word in words]


async def test_an_error_is_an_engines(channel: Channel) -> None:
    """Whatever a guest answers, no foreign exception crosses the port."""
    for message in ({"op": "exec"}, {"op": "stat"}, {"op": "configure", "env": {"": "x"}}):
        with pytest.raises(EngineError):
            await channel.call(message)
