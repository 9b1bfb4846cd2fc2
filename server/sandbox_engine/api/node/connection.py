"""One client's connection: requests one after another, until one of them becomes a relay.

A request is served by the task that reads it as long as it does not have to wait
(`run_eagerly`), so that a warm claim costs no task.  A client that hangs up cancels what
it asked for.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine
from email.utils import formatdate
from typing import Any, Protocol, cast

from sandbox_engine.api.node.pipe import Pipe
from sandbox_engine.api.node.reader import MAX_BODY, MAX_HEAD, Refused, Request, RequestReader
from sandbox_engine.api.node.replies import Reply, Response, Switch, failure, refusal
from sandbox_engine.observe.tasks import run_eagerly

IDLE_S = 120.0
"""A connection without a request is closed after this."""
SLOW_S = 30.0
"""A request that does not arrive whole within this is given up."""
LINGER_S = 5.0
"""How long a refused request's rest is still read, so that the answer is not lost by a reset."""
READ_AHEAD = MAX_BODY + MAX_HEAD
"""Bytes of later requests that are read while one is served."""
KEEPALIVE_S = 30


class Api(Protocol):
    """What answers requests."""

    def answer(self, request: Request) -> Coroutine[Any, Any, Reply]:
        """The answer; it does not raise."""


class Connections(Protocol):
    """Who keeps the connections."""

    api: Api
    open: set[Connection]
    date: str

    def settled(self) -> None:
        """A connection is gone."""


class Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self, owner: Connections) -> None:
        self._owner = owner
        self._reader = RequestReader()
        self._transport: asyncio.Transport
        self._pipe: Pipe | None = None
        self._request: Request | None = None  # the one being served
        self._task: asyncio.Task[None] | None = None
        self._advancing = self._congested = self._paused = self._ending = False
        self._quiet_since = time.monotonic()

    # -- asyncio.Protocol --------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self._transport = cast(asyncio.Transport, transport)
        self._owner.open.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes arrived."""
        if self._pipe is not None:
            self._pipe.feed(data)
            return
        if self._ending:
            return  # the rest of what was refused
        if not self._reader.inside:
            self._quiet_since = time.monotonic()
        self._reader.feed(data)
        self._advance()
        if self._reader.held > READ_AHEAD and not self._paused:
            self._paused = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """The client writes no more: a relay's half-close, else a client that left."""
        if self._pipe is not None:
            self._pipe.finish()
            return True
        return False

    def pause_writing(self) -> None:
        """The client does not read."""
        self._congested = True
        if self._pipe is not None:
            self._pipe.pause()

    def resume_writing(self) -> None:
        """It reads again."""
        self._congested = False
        if self._pipe is not None:
            self._pipe.resume()
        else:
            self._advance()

    def connection_lost(self, _: Exception | None) -> None:
        """Gone: so is what it asked for."""
        self._ending = True
        if self._pipe is not None:
            self._pipe.resume()
            self._pipe.close()
        if self._task is not None:
            self._task.cancel()
        self._owner.open.discard(self)
        self._owner.settled()

    # -- requests ----------------------------------------------------------------

    def _advance(self) -> None:
        """Serve what has arrived, as long as it needs no waiting."""
        if self._advancing:
            return
        self._advancing = True
        try:
            while self._request is None and self._pipe is None and self._may_go_on():
                try:
                    request = self._reader.next()
                except Refused as refused:
                    self._refuse(refused)
                    return
                if request is None:
                    if self._reader.awaits_permission():
                        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    return
                self._serve(request)
        finally:
            self._advancing = False
            if self._paused and self._reader.held <= READ_AHEAD:
                self._read_on()

    def _read_on(self) -> None:
        if self._paused and not self._transport.is_closing():
            self._transport.resume_reading()
        self._paused = False

    def _may_go_on(self) -> bool:
        return not (self._congested or self._ending)

    def _serve(self, request: Request) -> None:
        self._request = request
        self._task = run_eagerly(
            self._owner.api.answer(request), self._answered, name=f"{request.method} {request.path}"
        )
        if self._request is None:
            self._task = None

    def _answered(self, result: Reply | BaseException) -> None:
        request, self._request, self._task = self._request, None, None
        assert request is not None
        if self._transport.is_closing():
            if isinstance(result, Switch):
                result.relay.close()
            return
        if isinstance(result, BaseException):
            result = failure(result, request.path)
        if isinstance(result, Switch):
            self._become_relay(result)
        else:
            self._write(result, request)
            self._advance()

    def _write(self, response: Response, request: Request) -> None:
        keep = request.keep_alive and not self._ending
        self._transport.write(
            response.encode(
                date=self._owner.date, keep_alive=keep, head_only=request.method == "HEAD"
            )
        )
        self._quiet_since = time.monotonic()
        if not keep:
            self._ending = True
            self._transport.close()

    def _refuse(self, refused: Refused) -> None:
        """Answer what cannot be read, and go on reading a while without looking at it."""
        response = refusal(refused.status, refused.message)
        self._transport.write(response.encode(date=self._owner.date, keep_alive=False))
        self._ending = True
        self._reader.take_rest()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        asyncio.get_running_loop().call_later(LINGER_S, self._transport.close)

    def _become_relay(self, switch: Switch) -> None:
        self._transport.write(switch.encode())
        _keep_alive(self._transport.get_extra_info("socket"))
        self._pipe = Pipe(self._transport, switch.relay)
        if self._congested:
            self._pipe.pause()
        self._read_on()
        self._pipe.feed(self._reader.take_rest())

    # -- for the server ----------------------------------------------------------

    def check(self, now: float) -> None:
        """Close it if it has been silent, or slow, for too long."""
        if self._pipe is not None or self._request is not None or self._ending:
            return
        quiet_s = now - self._quiet_since
        if self._reader.inside and quiet_s > SLOW_S:
            self._refuse(Refused(408, "the request did not arrive in time"))
        elif quiet_s > IDLE_S:
            self._transport.close()

    def stop(self) -> None:
        """The server stops: end a relay, an idle connection at once, a request when answered."""
        self._ending = True
        if self._pipe is not None:
            self._pipe.close()
        elif self._request is None:
            self._transport.close()

    def abort(self) -> None:
        """End it whatever it does."""
        self._transport.abort()


def now_date() -> str:
    """The `Date` header's value."""
    return formatdate(usegmt=True)


def _keep_alive(sock: socket.socket | None) -> None:
    """Have the kernel find out about a peer that vanished without a word."""
    if sock is None or sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, KEEPALIVE_S // 3)
