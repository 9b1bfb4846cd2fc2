"""The node door: listens, keeps the connections, looks after slow ones, stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import time

import structlog

from sandbox_engine.api.node.app import NodeApi
from sandbox_engine.api.node.connection import Api, Connection, now_date
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.observe.tasks import cancel, spawn

LOOK_S = 5.0
GRACE_S = 5.0
"""How long requests in flight may go on once the door stops."""
BACKLOG = 1024
_log = structlog.get_logger(__name__)


class NodeServer:
    """`start()` once; `stop()` ends relays and lets requests in flight be answered."""

    def __init__(self, api: NodeApi) -> None:
        self.api: Api = api
        self.open: set[Connection] = set()
        self.date = now_date()
        self.address = ""
        """`host:port` it listens on, once started."""
        self._server: asyncio.Server | None = None
        self._care: asyncio.Task[None] | None = None
        self._emptied = asyncio.Event()

    async def start(self, listen: str) -> None:
        """Listen on `host:port`.  Raises `InvalidArgument` where that cannot be had."""
        host, _, port = listen.rpartition(":")
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Connection(self), host.strip("[]") or None, int(port), backlog=BACKLOG
            )
        except (OSError, ValueError) as error:
            raise InvalidArgument("listen", f"cannot listen on {listen}: {error}") from error
        bound = self._server.sockets[0].getsockname()
        self.address = f"{host or '127.0.0.1'}:{bound[1]}"
        self._care = spawn(self._look_after(), name="node connections")

    async def stop(self) -> None:
        """Take no more, end what there is.  Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        await cancel(self._care)
        for connection in list(self.open):
            connection.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                while self.open:
                    self._emptied.clear()
                    await self._emptied.wait()
        for connection in list(self.open):
            connection.abort()

    def settled(self) -> None:
        """See `Connections`."""
        self._emptied.set()

    async def _look_after(self) -> None:
        ticks_until_look = 0
        while True:
            self.date = now_date()
            if ticks_until_look <= 0:
                ticks_until_look = int(LOOK_S)
                now = time.monotonic()
                for connection in list(self.open):
                    connection.check(now)
            ticks_until_look -= 1
            await asyncio.sleep(1)
