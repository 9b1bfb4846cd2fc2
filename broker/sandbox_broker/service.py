"""Serves connections of guests: who asks, what is asked, and what becomes of it."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address, ip_network

from sandbox_broker import http1, policy, socks, tasks
from sandbox_broker.authority import Authority
from sandbox_broker.errors import Denied, Malformed, Misdirected, Refused, Unidentified
from sandbox_broker.h2relay import H2Relay
from sandbox_broker.leaves import Minter
from sandbox_broker.policy import Grant
from sandbox_broker.record import Entry, Recorder
from sandbox_broker.relay import Means, relay
from sandbox_broker.stream import Closed, Stream
from sandbox_broker.tunnels import tunnel

HEAD_TIMEOUT_S = 75.0
MAX_PREAMBLE = 256
LINGER_S = 2.0
LINGER_BYTES = 1 << 20
REASONS = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 413: "Content Too Large"}
REASONS |= {407: "Proxy Authentication Required", 421: "Misdirected Request"}
REASONS |= {502: "Bad Gateway", 503: "Service Unavailable"}
_PREAMBLE = re.compile(rb"SANDBOX/1 (?P<id>[A-Za-z0-9_.:-]{1,128}) (?P<door>proxy|socks5)\n")
_BARE_LF = re.compile(rb"(?<!\r)\n")
_ALIVE = {
    socket.TCP_KEEPIDLE: 30,
    socket.TCP_KEEPINTVL: 10,
    socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: 60_000,
}
"""Seconds, seconds, probes, milliseconds."""
_LINK_LOCAL = ip_network("169.254.0.0/16")
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
Ask = Callable[[], Awaitable[Grant]]


@dataclass(frozen=True, slots=True)
class Door:
    """A stream door, and the sandbox whose channel a connection came by."""

    sandbox_id: str
    kind: str


class Service:
    """One worker's connections."""

    def __init__(
        self,
        means: Means,
        authority: Authority,
        recorder: Recorder,
        *,
        minter: Minter | None,
        max_conns: int,
        trusted: frozenset[int],
    ) -> None:
        self.means = means
        self._authority, self._recorder, self._minter = authority, recorder, minter
        self._max_conns, self._trusted = max_conns, trusted
        self._live: dict[str, dict[asyncio.Task[None], Ask]] = {}
        self._all: set[asyncio.Task[None]] = set()

    def revoked(self, sandbox_id: str) -> None:
        """What was known of a sandbox no longer holds; if it is gone, so are its connections."""
        self.means.pool.drop(sandbox_id)
        for task, ask in list(self._live.get(sandbox_id, {}).items()):
            tasks.spawn(self._ask_again(task, ask), name="ask again")

    async def _ask_again(self, task: asyncio.Task[None], ask: Ask) -> None:
        try:
            await ask()
        except Refused:
            task.cancel()

    def from_network(self) -> Stream:
        """A connection to a TCP listener."""
        return _Accepted(self._serve_network, self._all)

    def from_door(self) -> Stream:
        """A connection that the engine hands over."""
        return _Accepted(self._serve_door, self._all)

    async def stop(self) -> None:
        """Close every connection."""
        await tasks.cancel(*self._all)

    # Connections.

    async def _serve_network(self, client: Stream) -> None:
        if _own_link(client):
            _keep_alive(client)
            await self._counted(client, None)

    async def _serve_door(self, client: Stream) -> None:
        if _peer_uid(client) not in self._trusted:
            return
        data = b""
        async with asyncio.timeout(HEAD_TIMEOUT_S):
            while b"\n" not in data and len(data) <= MAX_PREAMBLE:
                piece = await client.read()
                if not piece:
                    return
                data += piece
        found = _PREAMBLE.match(data)
        if found is None or found.end() > MAX_PREAMBLE:
            return
        client.unread(data[found.end() :])
        door = Door(found["id"].decode(), found["door"].decode())
        await self._counted(client, door)

    async def _counted(self, client: Stream, door: Door | None) -> None:
        counters, worker = self._recorder.counters, self._recorder.worker
        counters.add(worker, "connections")
        try:
            if counters.total("connections") > self._max_conns:
                text = f"the broker serves {self._max_conns} connections already"
                if door is None or door.kind == "proxy":
                    await _farewell(client, http1.answer(503, REASONS[503], text))
            elif door is not None and door.kind == "socks5":
                await self._socks(client, door)
            else:
                await self._http(client, door)
        finally:
            counters.add(worker, "connections", -1)

    async def _http(self, client: Stream, door: Door | None) -> None:
        while True:
            entry = self._recorder.begin("", "", 0, "")
            form = ""
            try:
                raw = await _read_head(client)
                if raw is None:
                    return
                head = http1.parse_head(raw)
                form = head.form
                entry.host, entry.port, entry.method = head.host, head.port, head.method
                ask = self._identify(client, head, door)
                grant = await ask()
                entry.sandbox_id = grant.sandbox_id
                self._own(grant.sandbox_id, ask)
                if head.form == "connect":
                    await self._open(client, grant, ask, entry, _ESTABLISHED)
                    return
                if not await self._relay(client, head, grant, entry):
                    return
            except Refused as error:
                proxy = door is None and form in {"absolute", "connect"}
                await self._refuse(client, error, entry, proxy=proxy)
                return

    async def _relay(self, client: Stream, head: http1.Head, grant: Grant, entry: Entry) -> bool:
        try:
            keep = await relay(self.means, client, head, grant, entry)
        except asyncio.CancelledError:
            entry.reason = "ended with its sandbox"
            self._recorder.finish(entry)
            raise
        self._recorder.finish(entry)
        return keep

    async def _refuse(self, client: Stream, error: Refused, entry: Entry, *, proxy: bool) -> None:
        status, extra = error.status, []
        if isinstance(error, Unidentified):
            self._recorder.counters.add(self._recorder.worker, "unidentified")
            if proxy:
                status = 407
                extra = [(b"Proxy-Authenticate", b'Basic realm="sandbox"')]
        entry.decision = error.decision or entry.decision
        entry.status, entry.reason = status, error.reason
        self._recorder.finish(entry)
        await _farewell(client, http1.answer(status, REASONS[status], error.reason, extra))

    def _identify(self, client: Stream, head: http1.Head, door: Door | None) -> Ask:
        """How to ask who sent this; asked again for later requests of the same connection."""
        if door is not None:
            if head.form == "origin":
                raise Malformed("this door takes http://host/path and CONNECT")
            return partial(self._authority.by_sandbox, door.sandbox_id)
        token = http1.session_token(head)
        if token is None:
            raise Unidentified("no usable session token")
        return partial(self._by_token, client, token)

    async def _by_token(self, client: Stream, token: str) -> Grant:
        """A guest with an interface shows its token from there, or it is not the guest's."""
        grant = await self._authority.by_token(token)
        if grant.address and grant.address != _peer(client):
            raise Unidentified("this session token is another guest's")
        return grant

    def _own(self, sandbox_id: str, ask: Ask) -> None:
        """The running connection ends with this sandbox."""
        task = asyncio.current_task()
        live = self._live.setdefault(sandbox_id, {})
        if task is None or task in live:
            return
        live[task] = ask

        def forget(done: asyncio.Task[None]) -> None:
            left = self._live.get(sandbox_id, {})
            left.pop(done, None)
            if not left:
                self._live.pop(sandbox_id, None)

        task.add_done_callback(forget)

    # Tunnels.

    async def _socks(self, client: Stream, door: Door) -> None:
        entry = self._recorder.begin(door.sandbox_id, "", 0, "CONNECT")
        try:
            async with asyncio.timeout(HEAD_TIMEOUT_S):
                entry.host, entry.port = await socks.negotiate(client)
            ask = partial(self._authority.by_sandbox, door.sandbox_id)
            grant = await ask()
            self._own(grant.sandbox_id, ask)
            await self._open(client, grant, ask, entry, socks.reply(socks.SUCCEEDED))
        except Refused as error:
            entry.decision, entry.reason = error.decision or entry.decision, error.reason
            entry.status = error.status
            self._recorder.finish(entry)
            await _farewell(client, socks.reply_for(error) or b"")

    async def _open(
        self, client: Stream, grant: Grant, ask: Ask, entry: Entry, established: bytes
    ) -> None:
        """Judge and serve a tunnel; raises `Refused` before `established` is sent."""
        host, port = entry.host, entry.port
        if policy.intercepts(grant, host, port):
            await self._intercept(client, grant, ask, entry, established)
            return
        verdict = policy.judge_tunnel(grant, host, port)
        entry.decision = verdict.decision
        if not verdict.allowed:
            raise Denied("the egress policy does not allow this tunnel", verdict.decision)
        upstream = await self.means.dialer.connect(host, port)
        entry.status, entry.upstream = 200, self.means.dialer.via
        client.write(established)
        try:
            await tunnel(client, upstream, host, entry)
        finally:
            self._recorder.finish(entry)

    async def _intercept(
        self, client: Stream, grant: Grant, ask: Ask, entry: Entry, established: bytes
    ) -> None:
        if self._minter is None:
            raise Denied("this node has no certificate authority", policy.DENIED_UNCONFIGURED)
        origin = (entry.host, entry.port)
        upstream = await self.means.dialer.connect_tls(*origin, h2=True)
        kept = False
        try:
            speaks_h2 = _protocol(upstream) == "h2"
            client.write(established)
            await client.start_tls(self._minter.context(entry.host, h2=speaks_h2), server=True)
            if _protocol(client) == "h2":
                relayed = H2Relay(
                    self.means,
                    self._recorder,
                    grant=grant,
                    ask=ask,
                    origin=origin,
                    client=client,
                    upstream=upstream,
                )
                await relayed.run()
                return
            if not speaks_h2:
                self.means.pool.give((grant.sandbox_id, *origin), upstream)
                kept = True
            await self._inside(client, origin, ask, grant.sandbox_id)
        except (OSError, TimeoutError) as error:
            entry.reason = f"no TLS with the guest: {type(error).__name__}"
            self._recorder.finish(entry)
            client.abort()
        finally:
            if not kept:
                upstream.abort()

    async def _inside(
        self, client: Stream, origin: tuple[str, int], ask: Ask, sandbox_id: str
    ) -> None:
        """Requests inside an intercepted connection; each must name the connection's host."""
        while True:
            entry = self._recorder.begin(sandbox_id, *origin, "")
            try:
                raw = await _read_head(client)
                if raw is None:
                    return
                head = http1.parse_head(raw)
                entry.method = head.method
                if head.form != "origin":
                    raise Malformed("inside a tunnel a target is a path")
                if (head.host, head.port) != origin:
                    raise Misdirected("Host is not the host of this connection")
                if not await self._relay(client, head, await ask(), entry):
                    return
            except Refused as error:
                await self._refuse(client, error, entry, proxy=False)
                return


class _Accepted(Stream):
    """A guest's connection, served by a task of its own."""

    def __init__(
        self, serve: Callable[[Stream], Awaitable[None]], everyone: set[asyncio.Task[None]]
    ) -> None:
        super().__init__()
        self._serve, self._everyone = serve, everyone

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        super().connection_made(transport)
        task = tasks.spawn(self._run(), name="connection")
        self._everyone.add(task)
        task.add_done_callback(self._everyone.discard)

    async def _run(self) -> None:
        try:
            await self._serve(self)
        except (Closed, OSError, TimeoutError):
            pass  # the guest left, or is too slow
        finally:
            self.close()


async def _read_head(client: Stream) -> bytes | None:
    """A request's head with its empty line; None at a clean end.  Raises `Malformed`."""
    data = b""
    async with asyncio.timeout(HEAD_TIMEOUT_S):
        while True:
            piece = await client.read()
            if not piece:
                if data:
                    raise Malformed("the connection ended in a request's head")
                return None
            data += piece
            end = data.find(b"\r\n\r\n")
            head = data if end < 0 else data[: end + 4]
            if _BARE_LF.search(head):
                raise Malformed("a bare LF in the head")
            if len(head) > http1.MAX_HEAD:
                raise Malformed(f"the head is over {http1.MAX_HEAD} bytes")
            if end >= 0:
                client.unread(data[end + 4 :])
                return head


async def _farewell(client: Stream, data: bytes) -> None:
    """Say a last thing so that it arrives although the guest still sends."""
    client.write(data)
    client.write_eof()
    seen = 0
    try:
        async with asyncio.timeout(LINGER_S):
            while seen < LINGER_BYTES and (piece := await client.read()):
                seen += len(piece)
    except (TimeoutError, Closed, OSError):
        pass


def _protocol(stream: Stream) -> str | None:
    chosen: str | None = stream.info("ssl_object").selected_alpn_protocol()
    return chosen


def _own_link(client: Stream) -> bool:
    """Whether a guest comes by its own /30; connections that are no guest's link pass."""
    local = client.info("sockname")
    address = ip_address(local[0].removeprefix("::ffff:").partition("%")[0])
    if address not in _LINK_LOCAL:
        return True
    return ip_address(_peer(client)) in ip_network(f"{address}/30", strict=False)


def _peer(client: Stream) -> str:
    address: str = client.info("peername")[0]
    return address.removeprefix("::ffff:").partition("%")[0]


def _keep_alive(client: Stream) -> None:
    """A guest that was saved or destroyed says no goodbye: its interface is gone."""
    sock = client.info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _ALIVE.items():
        sock.setsockopt(socket.IPPROTO_TCP, option, value)


def _peer_uid(client: Stream) -> int:
    sock = client.info("socket")
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", raw)[1])
