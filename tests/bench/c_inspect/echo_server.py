"""`python -m tests.bench.c_inspect.echo_server SOCKET`: the floor, on the daemon's own loop."""

from __future__ import annotations

import asyncio
import sys
from typing import cast

import uvloop


class Echo(asyncio.Protocol):
    """Sends back what it reads."""

    _transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


async def serve(path: str) -> None:
    """Serve until killed; says `ready`."""
    server = await asyncio.get_running_loop().create_unix_server(Echo, path)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
