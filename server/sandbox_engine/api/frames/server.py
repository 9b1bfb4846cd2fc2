"""Listens on the frame socket and lets in who may use it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from pathlib import Path

import structlog

from sandbox_engine.api import sockets
from sandbox_engine.api.frames.calls import Calls
from sandbox_engine.api.frames.connection import FrameConnection
from sandbox_engine.errors import PermissionDenied
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import Files
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.services.workspaces import Workspaces

_log = structlog.get_logger(__name__)


class FrameServer:
    """The frame socket.  `start()` once, `stop()` ends every connection."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        execs: Execs,
        files: Files,
        sessions: Sessions,
        path: Path,
        allowed_uids: Collection[int] | None,
        workspaces: Workspaces | None = None,
    ) -> None:
        self._calls, self._sessions = Calls(sandboxes, execs, files, workspaces), sessions
        self._path, self._allowed_uids = path, allowed_uids
        self._server: asyncio.Server | None = None
        self._open: set[FrameConnection] = set()

    async def start(self) -> None:
        """Listen.  Raises `InvalidArgument` where the socket cannot be had."""
        listener = sockets.listening(self._path, "engine_socket")
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(
            lambda: FrameConnection(self._calls, self._sessions, self), sock=listener
        )

    async def stop(self) -> None:
        """Listen no more and hang up; what connections owned is destroyed by `settle()`."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._open):
            connection.close()
        await self._server.wait_closed()
        self._path.unlink(missing_ok=True)

    def opened(self, connection: FrameConnection, uid: int) -> PermissionDenied | None:
        """A client is here; why its requests are denied, if they are."""
        self._open.add(connection)
        if self._allowed_uids is None or uid in self._allowed_uids:
            return None
        _log.warning("a uid outside the allow-list connected", uid=uid)
        return PermissionDenied(f"uid {uid} is not on the engine's allow-list (allowed_uids)")

    def closed(self, connection: FrameConnection) -> None:
        """It is gone."""
        self._open.discard(connection)
