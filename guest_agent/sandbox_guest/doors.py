"""The doors to the network of a guest that has no interface: proxies on its loopback.

Each connection to 127.0.0.1:3128 (HTTP proxy) or :1080 (SOCKS5) is relayed as it is, by a
stream of the channel, to the host, which knows by the channel whose it is.  No token is
here that could be stolen, and none to be renewed after a restore: a new epoch ends every
connection, and the next one is the new identity's.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Protocol

from sandbox_guest.framing import FrameKind
from sandbox_guest.stream import Stream, StreamGone
from sandbox_guest.tasks import log, spawn

MAX_CONNECTIONS = 256
"""Open at once through one door; the next waits to be accepted."""
PORTS = {"http": (3128, 2049), "socks": (1080, 2050)}
"""Of each door: where it is on the loopback, and the host's port that it leads to."""
_PIECE = 64 << 10


class Opener(Protocol):
    """What doors need of the channel."""

    def open(self, port: int) -> Stream | None:
        """A stream towards `port` of the host; None while no host is there."""


class Doors:
    """Which doors are open.  `channel` is set before the first greeting."""

    def __init__(self) -> None:
        self.channel: Opener | None = None
        self._open: dict[str, _Door] = {}

    def set(self, names: Iterable[str]) -> None:
        """Open exactly these.  Their connections wait from now on; raises `OSError`.

        The connections of one that closes are ended.
        """
        names = set(names)
        for name in self._open.keys() - names:
            self._open.pop(name).close()
        for name in sorted(names - self._open.keys()):
            assert self.channel is not None
            self._open[name] = _Door(name, self.channel)


class _Door:
    """One listener."""

    def __init__(self, name: str, channel: Opener) -> None:
        address, self._port = PORTS[name]
        self._channel = channel
        self._places = asyncio.Semaphore(MAX_CONNECTIONS)
        self._connections: set[asyncio.Task[None]] = set()
        self._listener = socket.create_server(("127.0.0.1", address), backlog=MAX_CONNECTIONS)
        self._listener.setblocking(False)
        self._accepting = spawn(self._accept(), name=f"{name} door")

    def close(self) -> None:
        """Now, with every connection."""
        self._accepting.cancel()
        for connection in self._connections:
            connection.cancel()
        self._listener.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._places.acquire()
            try:
                accepted, _ = await loop.sock_accept(self._listener)
            except OSError as error:  # out of descriptors: others will end
                self._places.release()
                log("a door could not accept", error)
                await asyncio.sleep(0.1)
                continue
            connection = spawn(self._serve(accepted), name="door connection")
            self._connections.add(connection)
            connection.add_done_callback(self._ended)

    def _ended(self, connection: asyncio.Task[None]) -> None:
        self._connections.discard(connection)
        self._places.release()

    async def _serve(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        stream = self._channel.open(self._port)
        if stream is None:
            accepted.close()
            return
        try:
            await _relay(accepted, stream)
        except (OSError, StreamGone):
            # Reset, so that nobody takes what came for the whole.
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        finally:
            stream.reset()
            accepted.close()


async def _relay(accepted: socket.socket, stream: Stream) -> None:
    try:
        async with asyncio.TaskGroup() as halves:
            halves.create_task(_outward(accepted, stream))
            halves.create_task(_inward(accepted, stream))
    except* (OSError, StreamGone):
        raise StreamGone from None


async def _outward(accepted: socket.socket, stream: Stream) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(accepted, _PIECE):
        await stream.drain()
        stream.send_bulk(FrameKind.DATA, data)
    stream.half_close()


async def _inward(accepted: socket.socket, stream: Stream) -> None:
    loop = asyncio.get_running_loop()
    while (message := await stream.receive()) is not None:
        await loop.sock_sendall(accepted, message[1])
    accepted.shutdown(socket.SHUT_WR)
