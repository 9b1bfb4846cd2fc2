"""Relays each connection that a guest's doors accepted to the broker, under the guest's name.

The channel is the identity: nothing that a guest sends can make it another sandbox.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

import structlog
from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import EngineError, SandboxNotFound
from sandbox_engine.observe.tasks import cancel, spawn, together
from sandbox_engine.ports.doors import DOORS, Broker
from sandbox_engine.ports.guest import GuestPort, GuestStream
from sandbox_engine.services.egress import BROKER, Egress
from sandbox_engine.services.registry import Registry

MAX_CONNECTIONS = 256
"""Open at once through one door of one guest; the agent keeps to it, a hostile one cannot not."""
_PIECE = 64 << 10
_log = structlog.get_logger(__name__)


class Doors:
    """`Doors.accept` is what the channel calls for a stream that a guest opened."""

    def __init__(self, broker: Broker, egress: Egress, registry: Registry) -> None:
        self._broker, self._egress, self._registry = broker, egress, registry
        self._open: Counter[tuple[str, GuestPort]] = Counter()
        self._connections: set[asyncio.Task[None]] = set()

    def accept(self, sandbox_id: str, port: int, stream: GuestStream) -> None:
        """A guest opened `stream` towards `port`; it ends at once where none is served."""
        if port not in DOORS or not self._serves(sandbox_id, GuestPort(port)):
            stream.reset()
            return
        key = sandbox_id, GuestPort(port)
        if self._open[key] >= MAX_CONNECTIONS:
            stream.reset()
            return
        self._open[key] += 1
        connection = spawn(self._serve(key, stream), name=f"door of {sandbox_id}")
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def close(self) -> None:
        """End every connection: the engine stops."""
        await cancel(*self._connections)

    def _serves(self, sandbox_id: str, port: GuestPort) -> bool:
        try:
            sandbox = self._registry.get(BROKER, sandbox_id)
        except SandboxNotFound:
            return False
        name = "http" if port is GuestPort.HTTP_DOOR else "socks"
        return name in self._egress.doors(sandbox)

    async def _serve(self, key: tuple[str, GuestPort], stream: GuestStream) -> None:
        try:
            await self._relay(key[0], DOORS[key[1]], stream)
        except (OSError, EngineError) as error:
            _log.debug("a door's connection ended", sandbox=key[0], error=str(error))
        finally:
            stream.reset()
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def _relay(self, sandbox_id: str, door: str, stream: GuestStream) -> None:
        try:
            reader, writer = await self._broker.connect(sandbox_id, door)
        except OSError as error:
            _log.warning("the broker cannot be reached", error=str(error))
            return
        try:
            await together(_outward(stream, writer), _inward(reader, stream))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


async def _outward(stream: GuestStream, writer: asyncio.StreamWriter) -> None:
    """Guest to broker; its half-close is the broker's."""
    while (message := await stream.receive()) is not None:
        kind, data = message
        if kind != FrameKind.DATA:
            raise ConnectionResetError("a guest's door sent what is no data")
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _inward(reader: asyncio.StreamReader, stream: GuestStream) -> None:
    """Broker to guest."""
    while data := await reader.read(_PIECE):
        await stream.send_bulk(FrameKind.DATA, data)
    stream.finish()
