"""Connections to upstreams: resolved once, judged, and made to exactly what was judged."""

from __future__ import annotations

import asyncio
import base64
import re
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from urllib.parse import unquote, urlsplit

from sandbox_broker.addresses import Guard
from sandbox_broker.errors import Denied, UpstreamFailed
from sandbox_broker.policy import DENIED_ADDRESS
from sandbox_broker.settings import Settings
from sandbox_broker.stream import Closed, Stream

CONNECT_TIMEOUT_S = 20.0
IDLE_S = 30.0
IDLE_EACH = 8
IDLE_ALL = 512
Resolve = Callable[[str, int], Awaitable[list[str]]]


async def resolve_with_system(host: str, port: int) -> list[str]:
    """The addresses of a name or literal, by the host's resolver."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


class Dialer:
    """Makes connections; names resolve here, on the host, and never in a guest."""

    def __init__(self, settings: Settings, resolve: Resolve = resolve_with_system) -> None:
        self._resolve = resolve
        self._pins = settings.resolve
        self._guard = Guard(allow_private=settings.allow_private, prefixes=settings.internal_allow)
        self._proxy = settings.upstream_proxy
        self._contexts = {alpn: _context(settings, alpn) for alpn in (False, True)}

    @property
    def via(self) -> str:
        """The upstream proxy's host and port; empty without one."""
        parts = urlsplit(self._proxy)
        return f"{parts.hostname}:{parts.port}" if self._proxy else ""

    async def connect(self, host: str, port: int) -> Stream:
        """A connection to a destination that the policy allowed.

        Raises `Denied` (denied_address) unless every address of it is permitted, and
        `UpstreamFailed` where none can be reached.
        """
        addresses = await self._addresses(host, port)
        last = ""
        for address in addresses:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    if self._proxy:
                        return await self._through_proxy(address, port)
                    return await _open(address, port)
            except (OSError, TimeoutError) as error:
                last = type(error).__name__
        raise UpstreamFailed(f"no connection to the upstream: {last}")

    async def connect_tls(self, host: str, port: int, *, h2: bool = False) -> Stream:
        """The same with TLS, verified against the host's roots; `h2` offers HTTP/2 too."""
        stream = await self.connect(host, port)
        try:
            await stream.start_tls(self._contexts[h2], name=host)
        except (OSError, TimeoutError) as error:
            stream.abort()
            said = getattr(error, "verify_message", "") or type(error).__name__
            raise UpstreamFailed(f"no TLS with the upstream: {said}") from None
        return stream

    async def _addresses(self, host: str, port: int) -> list[str]:
        if host in self._pins:
            addresses = [self._pins[host]]
        else:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    addresses = await self._resolve(host, port)
            except (OSError, TimeoutError, UnicodeError):
                raise UpstreamFailed("the name does not resolve") from None
        if not addresses:
            raise UpstreamFailed("the name has no address")
        if not all(self._guard.permits(address) for address in addresses):
            raise Denied("the destination's address is not permitted", DENIED_ADDRESS)
        return addresses

    async def _through_proxy(self, address: str, port: int) -> Stream:
        """CONNECT to the judged address, so that the proxy resolves nothing anew."""
        parts = urlsplit(self._proxy)
        stream = await _open(str(parts.hostname), int(parts.port or 0))
        shown = f"[{address}]" if ":" in address else address
        lines = [f"CONNECT {shown}:{port} HTTP/1.1", f"Host: {shown}:{port}"]
        if parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}")
        stream.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 16384:
            piece = await stream.read()
            if not piece:
                break
            head += piece
        if not re.match(rb"HTTP/1\.[01] 2\d\d[ \r]", head):
            stream.abort()
            raise Closed("the upstream proxy refused")
        stream.unread(head.partition(b"\r\n\r\n")[2])
        return stream


class Pool:
    """Idle TLS connections for HTTP/1.1; each belongs to one sandbox and one destination."""

    def __init__(self) -> None:
        self._idle: dict[tuple[str, str, int], list[tuple[float, Stream]]] = {}
        self._count = 0

    def take(self, key: tuple[str, str, int]) -> Stream | None:
        """A connection that is alive as far as can be seen."""
        idle = self._idle.get(key, [])
        while idle:
            since, stream = idle.pop()
            self._count -= 1
            if not idle:
                self._idle.pop(key, None)
            if stream.alive and time.monotonic() - since < IDLE_S:
                return stream
            stream.abort()
        return None

    def give(self, key: tuple[str, str, int], stream: Stream) -> None:
        """Keep a connection for the next request, or close it."""
        idle = self._idle.get(key, [])
        if not stream.alive or len(idle) >= IDLE_EACH or self._count >= IDLE_ALL:
            stream.close()
            return
        self._idle.setdefault(key, idle).append((time.monotonic(), stream))
        self._count += 1

    def drop(self, sandbox_id: str) -> None:
        """Close what belongs to a sandbox that is gone."""
        for key in [key for key in self._idle if key[0] == sandbox_id]:
            for _, stream in self._idle.pop(key):
                self._count -= 1
                stream.abort()

    def sweep(self) -> None:
        """Close what is idle for too long."""
        horizon = time.monotonic() - IDLE_S
        for key, idle in list(self._idle.items()):
            kept = []
            for since, stream in idle:
                if since > horizon and stream.alive:
                    kept.append((since, stream))
                else:
                    self._count -= 1
                    stream.abort()
            if kept:
                self._idle[key] = kept
            else:
                del self._idle[key]


async def _open(address: str, port: int) -> Stream:
    _, stream = await asyncio.get_running_loop().create_connection(Stream, address, port)
    return stream


def _context(settings: Settings, h2: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if settings.upstream_ca:
        context.load_verify_locations(settings.upstream_ca)
    context.set_alpn_protocols(["h2", "http/1.1"] if h2 else ["http/1.1"])
    return context
