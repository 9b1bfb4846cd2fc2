"""Requests out of a byte stream: HTTP/1.1 with the limits of this API.

Pure.  The head is parsed by httptools and by nothing else; the body is cut out here, so
that every byte has a known owner: what follows an upgrade request is not HTTP any more,
also where the request says so by `Upgrade` alone.
"""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote

import httptools
from msgspec import Struct

from sandbox_engine.api.node.chunks import ChunkDecoder, ChunksBroken

MAX_HEAD = 32 << 10
MAX_BODY = 1 << 20
"""Largest body (seed "sandboxd HTTP API")."""
_HEAD_END = b"\r\n\r\n"
BODY_REFUSED = "invalid request body"


class Refused(Exception):
    """What arrived is no request this server reads; the connection ends with the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Request(Struct):
    """One request, its body whole."""

    method: str
    path: str
    """Still percent-encoded."""
    query: str
    headers: dict[str, str]
    """By lower-case name; of a repeated one the values joined by a comma."""
    keep_alive: bool
    body: bytes = b""

    @property
    def upgrade(self) -> str:
        """The protocol asked for, in lower case, or nothing."""
        return self.headers.get("upgrade", "").strip().lower()

    @property
    def bearer(self) -> str | None:
        """The bearer token, where one was sent."""
        scheme, _, token = self.headers.get("authorization", "").strip().partition(" ")
        return token.strip() if scheme.lower() == "bearer" and token.strip() else None

    def segments(self) -> list[str]:
        """The path's parts, decoded one by one: `%2F` stays within its part."""
        return [unquote(part) for part in self.path.split("/")[1:]]

    def parameters(self) -> list[tuple[str, str]]:
        """The query, in order."""
        return parse_qsl(self.query, keep_blank_values=True) if self.query else []


class RequestReader:
    """Cuts a byte stream into requests, one `next()` at a time."""

    __slots__ = ("_body", "_buffer", "_chunks", "_head", "_left")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: Request | None = None
        self._left = 0
        self._chunks: ChunkDecoder | None = None
        self._body = b""

    def feed(self, data: bytes) -> None:
        """Absorb `data`."""
        self._buffer += data

    def next(self) -> Request | None:
        """The next request, None until it is there.

        Raises `Refused`, after which nothing may be read.
        """
        if self._head is None and not self._take_head():
            return None
        if not self._take_body():
            return None
        head, self._head = self._head, None
        assert head is not None
        head.body, self._body = self._body, b""
        return head

    def take_rest(self) -> bytes:
        """What arrived behind the last request."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return rest

    @property
    def held(self) -> int:
        """Bytes that arrived and belong to no request yet."""
        return len(self._buffer)

    @property
    def inside(self) -> bool:
        """Whether a request has begun and is not whole."""
        return self._head is not None or bool(self._buffer)

    def awaits_permission(self) -> bool:
        """Whether the client waits for `100 Continue`; true once a request."""
        head = self._head
        if head is None or self._buffer:
            return False
        return head.headers.pop("expect", "").lower() == "100-continue"

    def _take_head(self) -> bool:
        buffer = self._buffer
        while buffer.startswith(b"\r\n"):  # RFC 9112 2.2: allowed before a request line
            del buffer[:2]
        end = buffer.find(_HEAD_END, 0, MAX_HEAD)
        if end < 0:
            if len(buffer) >= MAX_HEAD:
                raise Refused(431, "the request's head is too large")
            return False
        size = end + len(_HEAD_END)
        self._head = parse_head(bytes(buffer[:size]))
        del buffer[:size]
        self._begin_body(self._head)
        return True

    def _begin_body(self, head: Request) -> None:
        self._left, self._chunks = 0, None
        if "transfer-encoding" in head.headers:
            self._chunks = ChunkDecoder(MAX_BODY)
            return
        self._left = int(head.headers.get("content-length", "0"))
        if self._left > MAX_BODY:
            raise Refused(400, BODY_REFUSED)

    def _take_body(self) -> bool:
        if self._chunks is not None:
            return self._take_chunks(self._chunks)
        if len(self._buffer) < self._left:
            return False
        self._body = bytes(self._buffer[: self._left])
        del self._buffer[: self._left]
        return True

    def _take_chunks(self, chunks: ChunkDecoder) -> bool:
        try:
            used = chunks.feed(self._buffer)
        except ChunksBroken as error:
            raise Refused(400, BODY_REFUSED) from error
        del self._buffer[:used]
        if not chunks.complete:
            return False
        self._body = bytes(chunks.body)
        return True


class _Head:
    """Collects what the parser calls back with."""

    __slots__ = ("complete", "headers", "surplus", "url")

    def __init__(self) -> None:
        self.url = b""
        self.headers: dict[str, str] = {}
        self.complete = self.surplus = False

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        had = self.headers.get(key)
        self.headers[key] = text if had is None else f"{had},{text}"

    def on_headers_complete(self) -> None:
        self.surplus = self.complete
        self.complete = True

    def on_body(self, _: bytes) -> None:
        self.surplus = True


def parse_head(data: bytes) -> Request:
    """The request that a head, empty line included, is.  Raises `Refused`."""
    head = _Head()
    parser = httptools.HttpRequestParser(head)
    try:
        parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        pass  # its opinion on what follows; ours is the route's
    except httptools.HttpParserError as error:
        raise Refused(400, f"malformed request: {error}") from error
    if not head.complete or head.surplus:
        raise Refused(400, "malformed request: the head does not end where it seems to")
    if parser.get_http_version() not in ("1.0", "1.1"):
        raise Refused(505, "this server speaks HTTP/1.1")
    if head.headers.get("transfer-encoding", "chunked").lower() != "chunked":
        raise Refused(400, BODY_REFUSED)
    try:
        url = httptools.parse_url(head.url)
        path, query = (url.path or b"/").decode("ascii"), (url.query or b"").decode("ascii")
    except (httptools.HttpParserInvalidURLError, UnicodeDecodeError) as error:
        raise Refused(400, "malformed request: the path cannot be read") from error
    return Request(
        method=parser.get_method().decode("ascii"),
        path=path,
        query=query,
        headers=head.headers,
        keep_alive=_stays(head.headers.get("connection", ""), parser.get_http_version()),
    )


def _stays(connection: str, version: str) -> bool:
    """Whether the connection outlives the answer."""
    words = {word.strip().lower() for word in connection.split(",")}
    return "close" not in words if version == "1.1" else "keep-alive" in words
