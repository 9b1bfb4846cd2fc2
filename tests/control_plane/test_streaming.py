"""The seed's "Streaming", and what goes beyond it: events are live."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import aiohttp
from sandbox_guest.framing import FrameKind

from tests.control_plane.world import Plane, begin, code
from tests.fakes.guest import GuestStream, Message

AUTH = {"Authorization": "Bearer one"}
EXIT = {
    "code": 0, "signal": 0, "timed_out": False, "truncated": False,
    "out_total": 0, "err_total": 0, "duration_ms": 5,
}  # fmt: skip


def events(text: str) -> list[tuple[str, Any]]:
    found = re.findall(r"^event: (\w+)\ndata: (.*)\n\n", text, re.MULTILINE)
    return [(name, json.loads(data)) for name, data in found]


class Script:
    """A command whose output a test writes piece by piece."""

    def __init__(self, world: Plane, session: str) -> None:
        self.pieces: asyncio.Queue[tuple[FrameKind, bytes] | None] = asyncio.Queue()
        self.killed = asyncio.Event()
        world.guest(session).operations["exec"] = self.run

    async def run(self, stream: GuestStream, _: Message) -> None:
        await stream.send(type="started", pid=9)
        while True:
            getting = begin(self.pieces.get())
            ending = begin(stream.gone.wait())
            await asyncio.wait([getting, ending], return_when=asyncio.FIRST_COMPLETED)
            if stream.gone.is_set():
                getting.cancel()
                self.killed.set()
                return
            ending.cancel()
            piece = getting.result()
            if piece is None:
                await stream.send(type="exit", **EXIT)
                return
            await stream.bulk(*piece)

    def write(self, data: bytes, kind: FrameKind = FrameKind.STDOUT) -> None:
        self.pieces.put_nowait((kind, data))

    def end(self) -> None:
        self.pieces.put_nowait(None)


def opened(world: Plane, session: str, **fields: Any) -> Any:
    body = {"argv": ["x"], "stream": True, **fields}
    return world.http.post(f"{session}/exec", json=body, headers=AUTH)


async def read(reply: aiohttp.ClientResponse, until: bytes) -> str:
    """What came, up to and with the blank line after `until`."""
    found = b""
    while until not in found or not found.endswith(b"\n\n"):
        line = await reply.content.readline()
        assert line, found
        found += line
    return found.decode()


async def test_started_stdout_stderr_exit(world: Plane) -> None:
    session = await world.open()
    script = Script(world, session)
    script.write(b"out\n")
    script.write(b"err\n", FrameKind.STDERR)
    script.end()
    async with opened(world, session) as reply:
        assert reply.status == 200
        assert reply.headers["Content-Type"] == "text/event-stream; charset=utf-8"
        told = events(await reply.text())
    assert told == [
        ("started", {"pid": 9}),
        ("stdout", {"data": "out\n"}),
        ("stderr", {"data": "err\n"}),
        ("exit", {
            "exit_code": 0, "term_signal": 0, "timed_out": False, "output_truncated": False,
            "duration_ms": 5,
        }),
    ]  # fmt: skip


async def test_output_is_delivered_while_the_command_runs(world: Plane) -> None:
    session = await world.open()
    script = Script(world, session)
    async with opened(world, session) as reply:
        await read(reply, b"started")
        for word in (b"first", b"second"):
            script.write(word)
            assert events(await read(reply, word)) == [("stdout", {"data": word.decode()})]
        script.end()
        assert events(await reply.text())[-1][0] == "exit"


async def test_silence_is_filled_with_keepalive_comments(world: Plane) -> None:
    world.api.keepalive_s = 0.01
    session = await world.open()
    script = Script(world, session)
    async with opened(world, session) as reply:
        assert ": keepalive\n\n" in await read(reply, b": keepalive")
        script.end()
        await reply.text()


async def test_a_failure_on_the_way_is_an_error_event(world: Plane) -> None:
    session = await world.open()
    Script(world, session)
    async with opened(world, session) as reply:
        await read(reply, b"started")
        world.guest(session).hang_up()
        (name, facts) = events(await reply.text())[-1]
    assert (name, facts["code"]) == ("error", "guest_unavailable")


async def test_a_failure_before_the_start_is_a_status(world: Plane) -> None:
    answer = await world.exec(await world.open(), "none", stream=True)
    assert (answer.status, code(answer)) == (404, "path_not_found")


async def test_a_client_that_goes_ends_the_command(world: Plane) -> None:
    session = await world.open()
    script = Script(world, session)
    async with opened(world, session) as reply:
        await read(reply, b"started")
        reply.close()
    await script.killed.wait()
    while world.known(session).busy:
        await asyncio.sleep(0)


async def test_a_client_that_goes_ends_a_buffered_command_too(world: Plane) -> None:
    session = await world.open()
    script = Script(world, session)
    running = begin(world.exec(session, "x"))
    while not any(each["op"] == "exec" for each in world.guest(session).calls):
        await asyncio.sleep(0)
    running.cancel()
    await script.killed.wait()


async def test_a_character_in_two_pieces_is_one_character(world: Plane) -> None:
    session = await world.open()
    script = Script(world, session)
    whole = "ä€".encode()
    for at in range(len(whole)):
        script.write(whole[at : at + 1])
    script.write(b"\xff")
    script.write("€".encode()[:1])
    script.end()
    async with opened(world, session) as reply:
        told = [data["data"] for name, data in events(await reply.text()) if name == "stdout"]
    assert "".join(told) == "ä€\ufffd\ufffd"


async def test_base64_events_are_the_bytes(world: Plane) -> None:
    session = await world.open()
    script = Script(world, session)
    script.write(b"\xff\x00")
    script.end()
    async with opened(world, session, output_encoding="base64") as reply:
        assert ("stdout", {"data": "/wA="}) in events(await reply.text())


async def test_invalid_utf8_is_replaced_unless_base64(world: Plane) -> None:
    session = await world.open()
    for encoding, shown in (("utf-8", "a\ufffdb"), ("base64", "Yf9i")):
        script = Script(world, session)
        script.write(b"a\xffb")
        script.end()
        answer = await world.exec(session, "x", output_encoding=encoding)
        assert answer.json["stdout"] == shown
