"""`port_forward` with `half_close`: each direction ends on its own, and the RPC with both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from sandbox_guest.framing import FrameKind

from tests.guest.host import CLIENT, Host, HostStream

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def forwarded(host: Host, answer: Answer) -> AsyncIterator[HostStream]:
    """A stream forwarded to a listener that does `answer`."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stream = host.open(CLIENT)
    await stream.send({"v": 1, "op": "port_forward", "port": port, "half_close": True})
    assert await stream.control() == {"type": "ready"}
    yield stream
    server.close()


async def test_the_client_writes_on_after_the_peer_ended(host: Host) -> None:
    got: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")
        writer.write_eof()
        got.set_result(await reader.read())
        writer.close()

    async with forwarded(host, answer) as stream:
        end, bulk = await stream.until("data_end", "done")
        assert (end, bulk[FrameKind.DATA]) == ({"type": "data_end"}, b"bye")
        await stream.send_bulk(FrameKind.DATA, b"still here")
        await stream.send({"v": 1, "op": "data_end"})
        assert (await stream.until("done"))[0] == {"type": "done"}
        assert await got == b"still here"
        await stream.send({"v": 1, "op": "info"})
        assert (await stream.control())["type"] == "info"


async def test_the_peer_writes_on_after_the_client_ended(host: Host) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        writer.close()

    async with forwarded(host, answer) as stream:
        await stream.send_bulk(FrameKind.DATA, b"echo")
        await stream.send({"v": 1, "op": "data_end"})
        end, bulk = await stream.until("data_end", "done")
        assert (end, bulk[FrameKind.DATA]) == ({"type": "done"}, b"echo")


@pytest.mark.parametrize("size", [0, 3_000_000])
async def test_a_peer_that_goes_away_takes_what_is_written_with_it(host: Host, size: int) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with forwarded(host, answer) as stream:
        end, _ = await stream.until("data_end", "done")
        assert end == {"type": "data_end"}
        await stream.send_bulk(FrameKind.DATA, bytes(size))
        await stream.send({"v": 1, "op": "data_end"})
        assert (await stream.until("done"))[0] == {"type": "done"}
