"""Binds a service of the API to a servicer, by the descriptor and not by generated classes.

A servicer is any object with methods in snake case: `CreateSandbox` is `create_sandbox`.

    unary              async def name(self, request, caller) -> Response
    streamed answer    def name(self, request, caller) -> AsyncIterator[Response]
    streamed request   `request` is an AsyncIterator[Request]

Every call passes here, so here and nowhere else a caller is told, an error becomes a
status, and a method that no servicer has is answered as unimplemented.  A cancelled call
and one past its deadline are cancelled inside.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NoReturn, TypeAlias

import grpc
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass
from grpc_status import rpc_status

from sandbox_engine.api.errors import known
from sandbox_engine.api.rpc.callers import Callers
from sandbox_engine.api.rpc.status import status_of
from sandbox_engine.errors import Unimplemented

Context: TypeAlias = Any  # grpc.aio.ServicerContext of messages that differ by method
Handler = Callable[[Any, Context], Awaitable[Any]]


def bind(
    service: ServiceDescriptor, servicer: object | None, callers: Callers
) -> grpc.GenericRpcHandler:
    """A handler for every method of `service`."""
    methods = {method.name: _bound(method, servicer, callers) for method in service.methods}
    return grpc.method_handlers_generic_handler(service.full_name, methods)


def python_name(method: str) -> str:
    """`CreateSandbox` as `create_sandbox`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", method).lower()


def _bound(
    method: MethodDescriptor, servicer: object | None, callers: Callers
) -> grpc.RpcMethodHandler[Any, Any]:
    target = getattr(servicer, python_name(method.name), None)
    if target is None:
        handler = _unimplemented(method.full_name)
    elif method.server_streaming:
        handler = _streamed(target, callers, method.full_name)
    else:
        handler = _single(target, callers, method.full_name)
    make = _MAKERS[method.client_streaming, method.server_streaming]
    return make(
        handler,
        request_deserializer=GetMessageClass(method.input_type).FromString,
        response_serializer=GetMessageClass(method.output_type).SerializeToString,
    )


_MAKERS: dict[tuple[bool, bool], Callable[..., grpc.RpcMethodHandler[Any, Any]]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


def _single(target: Callable[..., Awaitable[Any]], callers: Callers, call: str) -> Handler:
    async def handle(request: Any, context: Context) -> Any:
        try:
            return await target(request, callers.of(context))
        except Exception as error:  # noqa: BLE001 - every failure is a status
            failure = error
        return await _fail(context, failure, call)

    return handle


def _streamed(target: Callable[..., AsyncIterator[Any]], callers: Callers, call: str) -> Handler:
    async def handle(request: Any, context: Context) -> None:
        try:
            answers = target(request, callers.of(context))
            assert isinstance(answers, AsyncGenerator)
            async with aclosing(answers):
                async for answer in answers:
                    await _write(context, answer)
            return
        except Exception as error:  # noqa: BLE001 - every failure is a status
            failure = error
        await _fail(context, failure, call)

    return handle


async def _write(context: Context, answer: Any) -> None:
    """Send one message; the only way that fails is a client that is gone."""
    try:
        await context.write(answer)
    except Exception as error:
        # gRPC cancels the call too, a moment later: that is what this is.
        raise asyncio.CancelledError from error


def _unimplemented(call: str) -> Handler:
    async def handle(_request: Any, context: Context) -> None:
        await _fail(context, Unimplemented(f"{call} is not served by this engine yet"), call)

    return handle


async def _fail(context: Context, error: Exception, call: str) -> NoReturn:
    await context.abort_with_status(rpc_status.to_status(status_of(known(error, call))))
    raise AssertionError("abort_with_status raises")
