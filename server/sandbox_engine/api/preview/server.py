"""The preview listener: accepts browsers and serves their requests one after another."""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from sandbox_engine.api.preview.exchange import Client, serve
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.services.previews import Previews

BACKLOG = 512
MAX_CONNECTIONS = 1024
BUFFER = 256 << 10
"""Bytes read ahead of a client, and half of what waits for one."""
_log = structlog.get_logger(__name__)


class PreviewServer:
    """`start()` once; `stop()` ends every connection."""

    def __init__(self, previews: Previews) -> None:
        self._previews = previews
        self.address = ""
        """`host:port` it listens on, once started."""
        self._server: asyncio.Server | None = None
        self.open: set[asyncio.Task[None]] = set()

    async def start(self, listen: str) -> None:
        """Listen on `host:port`.  Raises `InvalidArgument` where that cannot be had."""
        host, _, port = listen.rpartition(":")
        try:
            self._server = await asyncio.start_server(
                self._connected, host.strip("[]") or None, int(port), limit=BUFFER, backlog=BACKLOG
            )
        except (OSError, ValueError) as error:
            raise InvalidArgument(
                "preview_listen", f"cannot listen on {listen}: {error}"
            ) from error
        bound = self._server.sockets[0].getsockname()
        self.address = f"{host or '127.0.0.1'}:{bound[1]}"
        self._previews.address = self._previews.settings.advertise or self.address

    async def stop(self) -> None:
        """Take no more, end what there is.  Idempotent."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        tasks = list(self.open)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self.open) >= MAX_CONNECTIONS:
            _log.warning("a preview's connection was refused", open=len(self.open))
            writer.transport.abort()
            return
        writer.transport.set_write_buffer_limits(BUFFER)
        task = spawn(self._serve(reader, writer), name="preview")
        self.open.add(task)
        task.add_done_callback(self.open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(reader, writer)
        try:
            while await serve(client, self._previews):
                pass
        except (ConnectionError, TimeoutError):
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
