"""`GuestService.ForwardPort`: bytes to and from a listener in the guest.

Each direction ends on its own: the end of the client's stream is the end of its direction,
and `closed` tells the end of the guest's.  Whatever ends the call ends the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from sandbox.v1 import guest_pb2 as pb

from sandbox_engine.errors import InvalidArgument, TooLarge
from sandbox_engine.model.caller import Caller
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.services.relay import PortRelay, Ports

MAX_DATA = 1 << 20


async def run(
    ports: Ports, requests: AsyncIterator[pb.ForwardPortRequest], caller: Caller
) -> AsyncIterator[pb.ForwardPortResponse]:
    """Serve one call.  Raises what `Ports.open` raises."""
    first = await anext(requests, pb.ForwardPortRequest())
    if not first.HasField("open"):
        raise InvalidArgument("open", "the first message must be `open`")
    relay = await ports.open(caller, first.open.sandbox_id, first.open.port)
    up = spawn(_up(relay, requests), name="forward up")
    down = spawn(relay.receive(), name="forward down")
    try:
        yield pb.ForwardPortResponse(opened=pb.ForwardPortOpened())
        while (pieces := await _received(down, up)) is not None:
            down = spawn(relay.receive(), name="forward down")
            for piece in pieces:
                yield pb.ForwardPortResponse(data=piece)
        yield pb.ForwardPortResponse(closed=pb.ForwardPortClosed())
        await up
    finally:
        await cancel(up, down)
        relay.close()


async def _received(
    down: asyncio.Task[Sequence[bytes] | None], up: asyncio.Task[None]
) -> Sequence[bytes] | None:
    """What the guest sent; a failure of the client's direction is the call's."""
    if not up.done():
        await asyncio.wait([down, up], return_when=asyncio.FIRST_COMPLETED)
    if up.done():
        await up
    return await down


async def _up(relay: PortRelay, requests: AsyncIterator[pb.ForwardPortRequest]) -> None:
    async for request in requests:
        if request.WhichOneof("message") != "data":
            raise InvalidArgument("message", "after `open` only `data` may follow")
        if len(request.data) > MAX_DATA:
            raise TooLarge(f"data: more than {MAX_DATA} bytes in one message")
        await relay.send(request.data)
    await relay.finish()
