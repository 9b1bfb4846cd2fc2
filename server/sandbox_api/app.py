"""What the process is made of, from its start to its exit status."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from contextlib import AsyncExitStack
from pathlib import Path

import structlog
from msgspec import Struct

from sandbox_api import listeners, openapi, principals
from sandbox_api.calls import Api
from sandbox_api.door import Door
from sandbox_api.engine import Engine
from sandbox_api.replay import Replays
from sandbox_api.sessions import Sessions
from sandbox_api.tasks import cancel, guard

EX_TEMPFAIL = 75
"""The engine stays away: the service manager is to start this process again (sysexits(3))."""
STOP_S = 5.0
_log = structlog.get_logger(__name__)


class Settings(Struct, frozen=True, kw_only=True):
    """The command line."""

    engine: str
    socket: Path | None = None
    socket_mode: int = 0o600
    listen: str = ""
    tokens: Path | None = None
    allow_public_bind: bool = False
    template: str = "base"
    idle_s: float = 600.0
    pool_wait_s: float = 30.0
    max_connections: int = 128
    max_running: int = 64
    max_sessions: int = principals.DEFAULT_MAX_SESSIONS


async def serve(settings: Settings) -> int:
    """Run until told to stop (0) or until the engine stays away (75).

    Raises `ListenError`, `TokensError`.
    """
    tokens = None
    if settings.tokens is not None:
        tokens = principals.load(settings.tokens, settings.max_sessions)
    sockets = _sockets(settings)
    async with AsyncExitStack() as stack:
        engine = Engine(settings.engine, pool_wait_s=settings.pool_wait_s)
        stack.push_async_callback(engine.close)
        sessions = Sessions(
            engine,
            default_template=settings.template,
            max_running=settings.max_running,
            idle_s=settings.idle_s,
        )
        api = Api(engine, sessions, Replays())
        api.document = openapi.text()
        door = Door(
            api,
            tokens=tokens,
            max_connections=settings.max_connections,
            max_sessions=settings.max_sessions,
        )
        stack.push_async_callback(cancel, guard(engine.run(), name="engine"))
        stack.push_async_callback(cancel, guard(sessions.run(), name="idle"))
        await _listen(stack, door, sockets)
        if settings.socket is not None:
            stack.callback(settings.socket.unlink, missing_ok=True)
        stopped = _stop_signals()
        _reload_signal(door, settings)
        with contextlib.suppress(TimeoutError):  # ready sooner where the engine is there
            async with asyncio.timeout(1.0):
                await engine.wait_attached()
        _log.info("serving", listen=[str(each.getsockname()) for each in sockets])
        notify("READY=1")
        return await _until(stopped, engine.strikes.out)


def _sockets(settings: Settings) -> list[socket.socket]:
    found = []
    if settings.socket is not None:
        found.append(listeners.unix(settings.socket, settings.socket_mode))
    if settings.listen:
        has_tokens = settings.tokens is not None
        found.append(
            listeners.tcp(settings.listen, has_tokens=has_tokens, public=settings.allow_public_bind)
        )
    if not found:
        raise listeners.ListenError("give --socket, --listen or both")
    return found


async def _listen(stack: AsyncExitStack, door: Door, sockets: list[socket.socket]) -> None:
    loop = asyncio.get_running_loop()
    stack.push_async_callback(door.shutdown, STOP_S)
    for each in sockets:
        create = loop.create_unix_server if each.family == socket.AF_UNIX else loop.create_server
        server = await create(door, sock=each)
        stack.callback(server.close)


def _stop_signals() -> asyncio.Event:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


def _reload_signal(door: Door, settings: Settings) -> None:
    """SIGHUP reads the tokens file again; a bad one is told and the old tokens hold."""
    path = settings.tokens
    if path is None:
        return

    def reload() -> None:
        try:
            door.tokens = principals.load(path, settings.max_sessions)
        except principals.TokensError as error:
            _log.error("the tokens file cannot be used; the old tokens hold", error=str(error))
        else:
            _log.info("tokens read", names=door.tokens.names)

    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, reload)


async def _until(stopped: asyncio.Event, out: asyncio.Event) -> int:
    waiters = [
        guard(stopped.wait(), name="until stopped"),
        guard(out.wait(), name="until the engine is gone"),
    ]
    await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    await cancel(*waiters)
    notify("STOPPING=1")
    if stopped.is_set():
        return 0
    _log.error("the engine stays away; exiting to be started again")
    return EX_TEMPFAIL


def notify(state: str) -> None:
    """Tell the service manager, where there is one (sd_notify(3))."""
    where = os.environ.get("NOTIFY_SOCKET", "")
    if not where:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(OSError):
        sender.connect("\0" + where[1:] if where.startswith("@") else where)
        sender.send(state.encode())
