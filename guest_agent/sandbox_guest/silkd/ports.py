"""`port_forward`: a connection to a port of the guest."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from typing import Any

from sandbox_guest import fields
from sandbox_guest.silkd.duplex import Duplex
from sandbox_guest.silkd.errors import not_found
from sandbox_guest.silkd.rpc import Rpc

_CONNECT_S = 10.0
_LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


async def forward(rpc: Rpc) -> None:
    """Connect, say `ready`, relay.  The RPC goes on after this returns.

    With `half_close` the peer's end is told by `data_end` and the client may write on.
    """
    halves = fields.flag(rpc.request, "half_close")
    port = fields.number(rpc.request, "port", 0, least=1)
    if port > 0xFFFF:
        raise fields.refuse("port", "must be at most 65535")
    connection = await _connect(port)
    reading = connection.detach()
    rpc.send({"type": "ready"})
    Duplex(rpc, reading, os.dup(reading), close_writing=_shut_down, halves=halves)


async def _connect(port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    for family, address in _LOOPBACK:
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            async with asyncio.timeout(_CONNECT_S):
                await loop.sock_connect(connection, (address, port))
        except (OSError, TimeoutError):
            connection.close()
        except BaseException:
            connection.close()
            raise
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    raise not_found(f"nothing listens on port {port}")


def _shut_down(fd: int) -> None:
    """The other descriptor of the same socket still reads: tell the peer, then let go."""
    with socket.socket(fileno=fd) as half, contextlib.suppress(OSError):
        half.shutdown(socket.SHUT_WR)


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {"port_forward": forward}
