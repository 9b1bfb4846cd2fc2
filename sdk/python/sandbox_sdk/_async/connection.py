"""A connection to a port of a guest."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self, TypeAlias

from sandbox.v1 import guest_pb2

from sandbox_sdk._wire_async import AsyncCall
from sandbox_sdk.errors import ConnectionLost, InputClosed

PIECE = 64 << 10
"""Bytes in one message."""

_Call: TypeAlias = AsyncCall[guest_pb2.ForwardPortRequest, guest_pb2.ForwardPortResponse]


class AsyncConnection:
    """Bytes both ways; each direction ends on its own.  A context manager that closes it."""

    def __init__(self, call: _Call) -> None:
        self._call = call
        self._over = False

    async def begin(self, sandbox_id: str, port: int) -> None:
        """Connect.  Called by `connect`."""
        to = guest_pb2.ForwardPortOpen(sandbox_id=sandbox_id, port=port)
        answer = None
        try:
            with suppress(InputClosed):  # how the call ended is told where it is read
                await self._call.write(guest_pb2.ForwardPortRequest(open=to))
            answer = await self._call.read()
        finally:
            if answer is None:
                await self.close()
        if answer is None:
            raise ConnectionLost("the connection was not confirmed")

    async def send(self, data: bytes) -> None:
        """Send all of `data`; waits while the guest takes nothing.  Raises `InputClosed`."""
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            await self._call.write(guest_pb2.ForwardPortRequest(data=piece))

    async def send_end(self) -> None:
        """Send no more; what the guest sends can still be received.  Idempotent."""
        await self._call.end()

    async def receive(self) -> bytes:
        """The next bytes, as they came; empty once the guest sends no more."""
        if self._over:
            return b""
        answer = await self._call.read()
        if answer is None:
            raise ConnectionLost("the connection was cut")
        self._over = not answer.HasField("data")
        return answer.data

    async def close(self) -> None:
        """End both directions.  Idempotent."""
        await self._call.cancel()

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()
