"""Answers of the node API: JSON, and every error as `{"error": message}` with its status."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from sandbox_engine.api.errors import TABLE, known, wire_text
from sandbox_engine.api.node.reader import BODY_REFUSED, Request
from sandbox_engine.errors import EngineError, InvalidArgument
from sandbox_engine.services.relay import Relay

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
_Body = TypeVar("_Body")
_encode = msgspec.json.Encoder().encode
_PHRASES = {
    200: "OK", 204: "No Content", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
    404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict",
    412: "Precondition Failed", 413: "Content Too Large", 426: "Upgrade Required",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
    502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
    505: "HTTP Version Not Supported", 507: "Insufficient Storage",
}  # fmt: skip


class Response(Struct):
    """One answer, its body whole."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: tuple[str, ...] = ()
    """More header lines."""

    def encode(self, *, date: str, keep_alive: bool, head_only: bool = False) -> bytes:
        """The bytes on the wire."""
        lines = [f"HTTP/1.1 {self.status} {_PHRASES.get(self.status, 'Error')}", f"Date: {date}"]
        if self.status != 204:
            lines += (f"Content-Type: {self.content_type}", f"Content-Length: {len(self.body)}")
        lines += self.headers
        if not keep_alive:
            lines.append("Connection: close")
        head = "\r\n".join((*lines, "", "")).encode("latin-1")
        return head if head_only else head + self.body


class Switch(Struct):
    """The connection is HTTP no more: it becomes this relay."""

    protocol: str
    relay: Relay

    def encode(self) -> bytes:
        """The answer that ends HTTP."""
        return (
            f"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
            f"Upgrade: {self.protocol}\r\n\r\n"
        ).encode("latin-1")


Reply = Response | Switch


def reply(value: Any, status: int = 200) -> Response:
    """`value` as JSON."""
    return Response(status, _encode(value))


def nothing() -> Response:
    """Done, and there is nothing to say."""
    return Response(204)


def refusal(status: int, message: str, *headers: str) -> Response:
    """An error that this API has of its own."""
    return Response(status, _encode({"error": wire_text(message)}), headers=headers)


def failure(error: BaseException, call: str) -> Response:
    """An error of the engine by the one table; one nobody foresaw is logged."""
    engine_error = known(error, call)
    headers: tuple[str, ...] = ()
    if engine_error.retry_after_s is not None:
        headers = (f"Retry-After: {math.ceil(engine_error.retry_after_s)}",)
    if (status := TABLE[engine_error.code].node) == 401:
        headers += ("WWW-Authenticate: Bearer",)
    return refusal(status, str(engine_error), *headers)


def failed_with(error: EngineError, view: dict[str, Any]) -> Response:
    """A refusal that shows what is there instead."""
    return reply(view | {"error": wire_text(str(error))}, TABLE[error.code].node)


def body_of(request: Request, decoder: msgspec.json.Decoder[_Body]) -> _Body:
    """The request's body.  Raises `InvalidArgument` with what is wrong and where."""
    try:
        return decoder.decode(request.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadBody(str(error)) from error


class BadBody(InvalidArgument):
    """The body is not what this call takes."""

    def __init__(self, problem: str) -> None:
        super().__init__(BODY_REFUSED, problem)
