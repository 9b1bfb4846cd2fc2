"""One HTTP request is one call of a gRPC method, on the same servicers.

`POST /sandbox.v1.SandboxService/GetSandbox`.  Callers are known by their token, as on the
TCP side of gRPC.  A client that goes away cancels its call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from contextlib import aclosing
from typing import Any

from aiohttp import web
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc import status_pb2

from sandbox_engine.api.connect import framing
from sandbox_engine.api.connect.framing import KINDS, Kind, Splitter, WrongKind
from sandbox_engine.api.errors import known
from sandbox_engine.api.rpc.callers import Callers
from sandbox_engine.api.rpc.dispatch import python_name
from sandbox_engine.api.rpc.status import status_of
from sandbox_engine.errors import (
    InvalidArgument,
    PermissionDenied,
    Timeout,
    TooLarge,
    Unimplemented,
)

MAX_TIMEOUT_MS = 24 * 3_600_000
_ALLOWED = "authorization, content-type, connect-protocol-version, connect-timeout-ms"


class Method:
    """One method of the API, and what serves it."""

    def __init__(self, descriptor: MethodDescriptor, target: Callable[..., Any] | None) -> None:
        self.name = descriptor.full_name
        self.target = target
        self.request = GetMessageClass(descriptor.input_type)
        self.takes_stream = descriptor.client_streaming
        self.answers_stream = descriptor.server_streaming
        streams = self.takes_stream or self.answers_stream
        self.kinds = [name for name, kind in KINDS.items() if (kind.framing != "single") == streams]


def methods_of(
    services: Collection[ServiceDescriptor], servicers: Mapping[str, object]
) -> dict[str, Method]:
    """Path to method, of every service."""
    return {
        f"/{service.full_name}/{method.name}": Method(
            method, getattr(servicers.get(service.name), python_name(method.name), None)
        )
        for service in services
        for method in service.methods
    }


class Door:
    """Answers requests."""

    def __init__(
        self, methods: Mapping[str, Method], callers: Callers, origins: Collection[str]
    ) -> None:
        """`origins`: web pages that may call; `*` is all of them."""
        self._methods, self._callers, self._origins = methods, callers, frozenset(origins)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to one request; every failure is one too."""
        origin = request.headers.get("Origin")
        if origin is not None and not self._origins & {origin, "*"}:
            refusal = PermissionDenied(f"pages of {origin} may not call: see `connect_origins`")
            return _refused(status_of(refusal), {})
        headers = {} if origin is None else {
            "Access-Control-Allow-Origin": origin, "Vary": "Origin",
        }  # fmt: skip
        if request.method == "OPTIONS" and origin is not None:
            return web.Response(status=204, headers=headers | _preflight())
        method = self._methods.get(request.path)
        if method is None or request.method != "POST":
            words = f"no method at {request.path}" if method is None else "call it by POST"
            http = 404 if method is None else 405
            refused = _refused(status_of(Unimplemented(words)), headers, http)
            refused.headers["Allow"] = "POST"
            return refused
        try:
            return await self._call(request, method, headers)
        except Exception as error:  # noqa: BLE001 - every failure is an answer
            wrong = {"Accept-Post": ", ".join(error.kinds)} if isinstance(error, WrongKind) else {}
            status = 415 if isinstance(error, WrongKind) else None
            return _refused(status_of(known(error, method.name)), headers | wrong, status)

    async def _call(
        self, request: web.BaseRequest, method: Method, headers: dict[str, str]
    ) -> web.StreamResponse:
        kind = KINDS.get(request.content_type)
        if kind is None or kind.content_type not in method.kinds:
            raise WrongKind(method.kinds)
        caller = self._callers.of_header(request.headers.get("Authorization"))
        if method.target is None:
            raise Unimplemented(f"{method.name} is not served by this engine yet")
        sent = _messages(request, kind, method.request)
        given = sent if method.takes_stream else await _only(sent)
        limit_s = _limit_s(request)
        if method.answers_stream:
            answers = method.target(given, caller)
            response = web.StreamResponse(headers=headers)
            response.content_type = kind.content_type
            await response.prepare(request)
            await _stream(response, kind, answers, limit_s, method.name)
            return response
        answer = await _within(limit_s, method.target(given, caller))
        body = framing.encoded(kind, answer)
        if kind.framing == "envelopes":
            body += framing.ending(kind, None)
        return web.Response(body=body, content_type=kind.content_type, headers=headers)


async def _stream(
    response: web.StreamResponse,
    kind: Kind,
    answers: AsyncGenerator[Message, None],
    limit_s: float | None,
    call: str,
) -> None:
    """Write every answer as it comes, and how they ended."""
    ended: dict[str, Any] | None = None
    try:
        async with aclosing(answers):
            async with asyncio.timeout(limit_s):
                async for answer in answers:
                    await response.write(framing.encoded(kind, answer))
    except TimeoutError:
        ended = framing.failure(status_of(Timeout("the deadline of the call has passed")))
    except ConnectionError as error:  # the client is gone: that is a cancellation
        raise asyncio.CancelledError from error
    except Exception as error:  # noqa: BLE001 - every failure is told at the end
        ended = framing.failure(status_of(known(error, call)))
    if tail := framing.ending(kind, ended):
        await response.write(tail)
    await response.write_eof()


async def _within(limit_s: float | None, answer: Any) -> Any:
    try:
        async with asyncio.timeout(limit_s):
            return await answer
    except TimeoutError as error:
        raise Timeout("the deadline of the call has passed") from error


async def _messages(
    request: web.BaseRequest, kind: Kind, make: type[Message]
) -> AsyncIterator[Message]:
    """What the client sends, as it arrives."""
    if kind.framing == "single":
        yield framing.decoded(kind, await _whole(request), make())
        return
    splitter = Splitter(kind)
    async for data in request.content.iter_any():
        for message in splitter.feed(data):
            yield framing.decoded(kind, message, make())
    for message in splitter.end():
        yield framing.decoded(kind, message, make())


async def _whole(request: web.BaseRequest) -> bytes:
    body = bytearray()
    async for data in request.content.iter_any():
        body += data
        if len(body) > framing.MAX_MESSAGE:
            raise TooLarge(f"body: more than {framing.MAX_MESSAGE} bytes")
    return bytes(body)


async def _only(sent: AsyncIterator[Message]) -> Message:
    messages = [message async for message in sent]
    if len(messages) != 1:
        raise InvalidArgument("body", f"holds {len(messages)} messages; this method takes one")
    return messages[0]


def _limit_s(request: web.BaseRequest) -> float | None:
    told = request.headers.get("Connect-Timeout-Ms")
    if told is None:
        return None
    if not (told.isascii() and told.isdigit() and 0 < int(told) <= MAX_TIMEOUT_MS):
        raise InvalidArgument("Connect-Timeout-Ms", f"must be 1 to {MAX_TIMEOUT_MS}")
    return int(told) / 1000


def _preflight() -> dict[str, str]:
    return {
        "Access-Control-Allow-Methods": "POST",
        "Access-Control-Allow-Headers": _ALLOWED,
        "Access-Control-Max-Age": "7200",
    }


def _refused(
    status: status_pb2.Status, headers: dict[str, str], http: int | None = None
) -> web.Response:
    return web.Response(
        status=http or framing.http_status(status),
        body=json.dumps(framing.failure(status)).encode(),
        content_type="application/json",
        headers=headers,
    )
