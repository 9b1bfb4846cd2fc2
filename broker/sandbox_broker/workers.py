"""The processes: a parent that holds nothing, a worker for each core, one that shows metrics."""

from __future__ import annotations

import asyncio
import ctypes
import os
import pwd
import resource
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path

import uvloop

from sandbox_broker import credentials, record, tasks
from sandbox_broker.authority import EngineAuthority
from sandbox_broker.leaves import Minter
from sandbox_broker.record import Counters, Recorder
from sandbox_broker.relay import Means
from sandbox_broker.service import Service
from sandbox_broker.settings import Settings
from sandbox_broker.stream import Stream
from sandbox_broker.upstream import Dialer, Pool

BACKLOG = 1024
SWEEP_S = 5.0
RESTART_S = 0.5
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38


class Cannot(Exception):
    """The broker cannot start; the message says why."""


class Listeners:
    """The sockets: for each worker its own of every TCP address, one Unix socket for all."""

    def __init__(self, settings: Settings) -> None:
        self.tcp: list[list[socket.socket]] = [[] for _ in range(settings.workers)]
        self.addresses: list[tuple[str, int]] = []
        for host, port in settings.listen:
            bound = port
            for sockets in self.tcp:
                sockets.append(_tcp(host, bound))
                bound = sockets[-1].getsockname()[1]
            self.addresses.append((host, bound))
        self.metrics = _tcp(*settings.metrics) if settings.metrics else None
        self.doors = _unix(settings.doors) if settings.doors else None

    def hand_over(self, path: str, uid: int, gid: int) -> None:
        """The Unix socket's file belongs to the user that serves it."""
        if self.doors is not None:
            os.chown(path, uid, gid)


def run(settings: Settings) -> int:
    """Serve until SIGTERM or SIGINT; the exit code.  Raises `Cannot`."""
    listeners = Listeners(settings)
    _become(settings, listeners)
    _harden()
    _check(settings)
    counters = Counters(settings.workers)
    return _Parent(settings, listeners, counters).run()


class _Parent:
    def __init__(self, settings: Settings, listeners: Listeners, counters: Counters) -> None:
        self._settings, self._listeners, self._counters = settings, listeners, counters
        self._children: dict[int, int] = {}
        self._stopping = False

    def run(self) -> int:
        watched = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD}
        signal.pthread_sigmask(signal.SIG_BLOCK, watched)
        ready, told = os.pipe()
        slots = [*range(self._settings.workers), *([-1] if self._listeners.metrics else [])]
        for slot in slots:
            self._start(slot, told)
        for _ in slots:
            os.read(ready, 1)
        metrics = self._listeners.metrics
        record.note(
            "ready",
            listen=[f"{host}:{port}" for host, port in self._listeners.addresses],
            metrics="{}:{}".format(*metrics.getsockname()[:2]) if metrics else None,
            workers=self._settings.workers,
        )
        while self._children:
            got = signal.sigwait(watched)
            if got == signal.SIGCHLD:
                self._reap(told)
            elif got == signal.SIGHUP:
                self._tell(signal.SIGHUP)
            else:
                self._stopping = True
                self._tell(signal.SIGTERM)
        return 0

    def _tell(self, what: signal.Signals) -> None:
        for pid in self._children:
            os.kill(pid, what)

    def _reap(self, told: int) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            slot = self._children.pop(pid)
            if slot >= 0:
                self._counters.clear(slot, "connections")
            if not self._stopping:
                record.note("worker ended", worker=slot, status=status)
                time.sleep(RESTART_S)  # one that ends at once must not spin
                self._start(slot, told)

    def _start(self, slot: int, told: int) -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self._children[pid] = slot
            return
        code = 1
        try:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
            if os.getppid() != parent:
                os._exit(1)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            work = (
                self._metrics
                if slot < 0
                else _Worker(self._settings, self._listeners, self._counters, slot).run
            )
            uvloop.run(work(lambda: os.write(told, b"+")))
            code = 0
        except KeyboardInterrupt:
            code = 0
        except BaseException as error:  # noqa: BLE001 - a child must never return into the parent
            record.note("worker failed", worker=slot, error=f"{type(error).__name__}: {error}")
        os._exit(code)

    async def _metrics(self, ready: Callable[[], object]) -> None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, stop.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: None)

        async def show(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                async with asyncio.timeout(10):
                    head = await reader.readuntil(b"\r\n\r\n")
                    found = head.split(b" ")[:2] == [b"GET", b"/metrics"]
                    body = self._counters.exposition().encode() if found else b""
                    status = b"200 OK" if found else b"404 Not Found"
                    writer.write(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\n")
                    writer.write(b"Content-Type: text/plain; version=0.0.4\r\n")
                    writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                    await writer.drain()
            except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                pass
            finally:
                writer.close()

        server = await asyncio.start_server(show, sock=self._listeners.metrics)
        ready()
        await stop.wait()
        server.close()


class _Worker:
    def __init__(
        self, settings: Settings, listeners: Listeners, counters: Counters, slot: int
    ) -> None:
        self._settings, self._listeners, self._slot = settings, listeners, slot
        self._recorder = Recorder(counters, slot)
        self._stop = asyncio.Event()

    async def run(self, ready: Callable[[], object]) -> None:
        settings = self._settings
        held = credentials.load(settings.credentials, os.environ)
        means = Means(Dialer(settings), Pool(), held, settings.max_body)
        minter = Minter(settings.ca_cert, settings.ca_key) if settings.ca_cert else None
        trusted = {0, os.getuid()} | ({settings.doors_uid} if settings.doors_uid else set())
        service: Service | None = None

        def revoked(sandbox_id: str) -> None:
            if service is not None:
                service.revoked(sandbox_id)

        authority = EngineAuthority(settings.authority, revoked)
        service = Service(
            means,
            authority,
            self._recorder,
            minter=minter,
            max_conns=settings.max_conns,
            trusted=frozenset(trusted),
        )
        loop = asyncio.get_running_loop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, self._stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload, means)
        background = [
            tasks.spawn(authority.watch(), name="watch"),
            tasks.spawn(authority.report(self._recorder), name="report"),
            tasks.spawn(_sweep(means.pool), name="sweep"),
        ]
        servers = await self._listen(service)
        ready()
        await self._stop.wait()
        for server in servers:
            server.close()
        await service.stop()
        await tasks.cancel(*background)
        while await authority.report_once(self._recorder):
            pass
        await authority.close()

    async def _listen(self, service: Service) -> list[asyncio.AbstractServer]:
        loop = asyncio.get_running_loop()
        servers: list[asyncio.AbstractServer] = [
            await loop.create_server(service.from_network, sock=each, backlog=BACKLOG)
            for each in self._listeners.tcp[self._slot]
        ]
        if self._listeners.doors is not None:
            make: Callable[[], Stream] = service.from_door
            servers.append(
                await loop.create_unix_server(make, sock=self._listeners.doors, backlog=BACKLOG)
            )
        return servers

    def _reload(self, means: Means) -> None:
        try:
            means.held = credentials.load(self._settings.credentials, os.environ)
        except credentials.BadCredentials as error:
            record.note("credentials kept as they were", reason=str(error))
        else:
            record.note("credentials reloaded", worker=self._slot)


async def _sweep(pool: Pool) -> None:
    while True:
        await asyncio.sleep(SWEEP_S)
        pool.sweep()


def _check(settings: Settings) -> None:
    """Refuse to start with what every worker would fail on."""
    try:
        credentials.load(settings.credentials, os.environ)
        if settings.ca_cert:
            Minter(settings.ca_cert, settings.ca_key)
        Dialer(settings)
    except Exception as error:
        raise Cannot(str(error)) from error


def _become(settings: Settings, listeners: Listeners) -> None:
    """Give up root for `SANDBOX_BROKER_USER`; without one, root is refused."""
    if os.geteuid() != 0:
        return
    if not settings.user:
        raise Cannot("runs as no root: start it as a user of its own, or set SANDBOX_BROKER_USER")
    try:
        user = pwd.getpwnam(settings.user)
    except KeyError:
        raise Cannot(f"SANDBOX_BROKER_USER: no user {settings.user!r}") from None
    if user.pw_uid == 0:
        raise Cannot("SANDBOX_BROKER_USER: root is no user for this")
    listeners.hand_over(settings.doors, user.pw_uid, user.pw_gid)
    os.initgroups(settings.user, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def _harden() -> None:
    """No core file, no debugger and no new privileges: memory here holds secrets."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise Cannot(f"prctl {option}: {os.strerror(ctypes.get_errno())}")


def _tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((host, port))
    except OSError as error:
        raise Cannot(f"{host}:{port}: {error.strerror}") from None
    return made


def _unix(path: str) -> socket.socket:
    file = Path(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if file.is_socket():
            file.unlink()
        made.bind(path)
        file.chmod(0o660)
        made.listen(BACKLOG)
    except OSError as error:
        raise Cannot(f"{path}: {error.strerror}") from None
    return made
