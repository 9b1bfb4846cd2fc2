"""HTTP: connections and their limit, who calls, which endpoint, and errors in one shape."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from typing import cast

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from sandbox_api import bodies
from sandbox_api.calls import ROUTES, Api, Call, Route
from sandbox_api.errors import ApiError
from sandbox_api.principals import Principal, Tokens, bearer, of_uid

HEAD_S = 20.0
"""How long a connection may take from its begin to its first request."""
BODY_S = 60.0
REFUSED_S = 5.0
IDLE_CONNECTION_S = 75.0
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
NOBODY = of_uid(-1, 0)
"""Who asks where nobody needs to be known."""
_FULL = ApiError(503, "too_many_connections", "too many connections; try again")
_log = structlog.get_logger(__name__)


class Connection(RequestHandler):
    """One HTTP connection; knows who is at its other end where the kernel does."""

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(
            door,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # as AppRunner itself says "none"
            keepalive_timeout=IDLE_CONNECTION_S,
            auto_decompress=False,
        )
        self._door = door
        self.uid: int | None = None
        self.served = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Counted from here."""
        super().connection_made(transport)
        self._door.open.add(self)
        peer = transport.get_extra_info("socket")
        if peer is not None and peer.family == socket.AF_UNIX:
            found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            self.uid = _CREDENTIALS.unpack(found)[1]
        asyncio.get_running_loop().call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: BaseException | None) -> None:
        """To here."""
        self._door.open.discard(self)
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.served and self.transport is not None:
            self.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What never became a request, in the shape of every error."""
        del request, message
        if isinstance(exc, HttpProcessingError):
            error = ApiError(status, "bad_request", "this is not an HTTP request")
        else:
            _log.error("a request failed unexpectedly", exc_info=exc)
            error = ApiError(500, "internal", "internal error")
        return _answer(error, close=True)


class Refusal(asyncio.Protocol):
    """Answers 503 to one connection too many, once it asks."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It has a moment to ask: closing at once would lose the answer on its way."""
        self._transport = cast(asyncio.Transport, transport)
        asyncio.get_running_loop().call_later(REFUSED_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        """Whatever it asks."""
        del data
        if self._transport.is_closing():
            return
        body = bodies.error_body(_FULL)
        self._transport.write(
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
            b"Retry-After: 1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        self._transport.close()


class Door(web.Server):
    """The listeners' protocol factory, and what handles their requests."""

    def __init__(
        self, api: Api, *, tokens: Tokens | None, max_connections: int, max_sessions: int
    ) -> None:
        super().__init__(self._handle, handler_cancellation=True)
        self._api, self.tokens = api, tokens
        self._max_connections, self._max_sessions = max_connections, max_sessions
        self.open: set[Connection] = set()
        paths = sorted({route.path for route in ROUTES}, key=len, reverse=True)
        self._routes = [(path.partition("{")[0], *_of(path)) for path in paths]

    def __call__(self) -> RequestHandler:
        """A protocol for a new connection."""
        if len(self.open) >= self._max_connections:
            return cast(RequestHandler, Refusal())
        return Connection(self, asyncio.get_running_loop())

    # -- one request -------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._serve(request)
        except ApiError as error:
            # What was not read of a body would be taken for the next request.
            return _answer(error, close=not request.content.at_eof())
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - the last stop: the caller gets a 500
            _log.error("a request failed unexpectedly", path=request.path, exc_info=error)
            return _answer(ApiError(500, "internal", "internal error"), close=True)

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.served = True
        session_id, routes = self._endpoints(request.path)
        public = any(route.public for route in routes)
        principal = NOBODY if public else self._principal(connection, request)
        for route in routes:
            if route.method == request.method:
                return await self._do(Call(request, principal, route, session_id))
        if not routes:
            raise ApiError(404, "not_found", "no such endpoint")
        allowed = ", ".join(sorted(route.method for route in routes))
        error = ApiError(405, "method_not_allowed", f"use {allowed}")
        return _answer(error, headers={"Allow": allowed}, close=not request.content.at_eof())

    def _endpoints(self, path: str) -> tuple[str, list[Route]]:
        """The session that a path names, and what is there; nothing where nothing is."""
        for prefix, pattern, routes in self._routes:
            if path.startswith(prefix) and (found := pattern.fullmatch(path)) is not None:
                return found.groupdict().get("id", ""), routes
        return "", []

    async def _do(self, call: Call) -> web.StreamResponse:
        if call.session_id:
            self._api.session(call)  # before anything is said about the request itself
        call.body = await self._body(call.request, call.route)
        call.query()
        return await call.route.handler(self._api, call)

    def _principal(self, connection: Connection, request: web.BaseRequest) -> Principal:
        if connection.uid is not None:
            return of_uid(connection.uid, self._max_sessions)
        return bearer(self.tokens, request.headers.get("Authorization"))

    async def _body(self, request: web.BaseRequest, route: Route) -> bytes:
        if "Transfer-Encoding" in request.headers:
            raise ApiError(501, "unimplemented", "chunked requests: send Content-Length instead")
        length = request.content_length or 0
        if length > route.limit:
            code = "too_large"
            raise ApiError(413, code, f"the body: {length} bytes; the limit is {route.limit}")
        if not length:
            return b""
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            async with asyncio.timeout(BODY_S):
                return await request.content.readexactly(length)
        except TimeoutError:
            raise ApiError(408, "timeout", f"the body took more than {BODY_S:g} s") from None
        except asyncio.IncompleteReadError as error:
            raise ApiError.invalid("the body ended early") from error


def _of(path: str) -> tuple[re.Pattern[str], list[Route]]:
    """What requests for a path look like, and the endpoints there."""
    routes = [route for route in ROUTES if route.path == path]
    return routes[0].pattern(), routes


def _answer(
    error: ApiError, *, close: bool = False, headers: dict[str, str] | None = None
) -> web.Response:
    response = web.Response(
        status=error.status,
        body=bodies.error_body(error),
        content_type="application/json",
        headers=error.headers | (headers or {}),
    )
    if close:
        response.force_close()
    return response
