"""One connection and its calls, for `asyncio`.  Here gRPC ends: its errors become ours.

Every call is opened as a bidirectional stream: on the wire a call with one request or one
answer is the same thing, and one shape of call needs one handling of errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf.message import Message

from sandbox_sdk._address import Address
from sandbox_sdk._failures import failure_of
from sandbox_sdk._methods import Method
from sandbox_sdk.errors import Cancelled, InputClosed

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)
T = TypeVar("T")

sleep = asyncio.sleep


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """What `work` returns; it may block."""
    return await asyncio.to_thread(work, *arguments)


class AsyncCall(Generic[Q, A]):
    """One open call."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self._feeding: asyncio.Task[None] | None = None

    async def read(self) -> A | None:
        """The next answer; None at the end.  Raises `SandboxError`."""
        try:
            answer = await self._call.read()
            if answer is not grpc.aio.EOF:
                return answer  # type: ignore[no-any-return]  # of the method's type
            code = await self._call.code()
            if code is not grpc.StatusCode.OK:
                metadata = await self._call.trailing_metadata()
                raise failure_of(code, await self._call.details(), metadata)
        except grpc.RpcError as error:
            raise _failure(error) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the caller's task is cancelled, and not only this call
            raise Cancelled("the call was cancelled") from None
        return None

    async def write(self, request: Q) -> None:
        """Send; waits while the other side takes nothing.  Raises `InputClosed` at the end."""
        try:
            await self._call.write(request)
        except (grpc.RpcError, asyncio.InvalidStateError):
            raise InputClosed("the call has ended") from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise InputClosed("the call was cancelled") from None

    def feed(self, requests: Iterable[Q]) -> None:
        """Send all of them, and then the end, beside whatever is read meanwhile."""
        self._feeding = asyncio.create_task(  # noqa: TID251 - the call owns it, and the SDK knows no engine
            self._feed(requests), name="sandbox-sdk input"
        )

    async def _feed(self, requests: Iterable[Q]) -> None:
        try:
            for request in requests:
                await self.write(request)
            await self.end()
        except InputClosed:
            return  # how the call ended is told where it is read

    async def end(self) -> None:
        """Nothing more will be written."""
        try:
            await self._call.done_writing()
        except (grpc.RpcError, asyncio.InvalidStateError):
            return

    async def cancel(self) -> None:
        """End the call now.  Idempotent; the engine is told."""
        self._call.cancel()
        if self._feeding is not None:
            self._feeding.cancel()
            await asyncio.wait([self._feeding])


class AsyncWire:
    """One connection."""

    def __init__(self, address: Address) -> None:
        self._metadata = address.metadata
        self._channel = grpc.aio.insecure_channel(address.target, options=address.options)

    def open(self, method: Method[Q, A], timeout_s: float | None) -> AsyncCall[Q, A]:
        """Begin a call."""
        make = self._channel.stream_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.answer.FromString,
        )
        return AsyncCall(make(timeout=timeout_s, metadata=self._metadata or None))

    async def close(self) -> None:
        """End the connection and every call on it."""
        await self._channel.close()


def _failure(error: Any) -> Exception:
    return failure_of(error.code(), error.details(), error.trailing_metadata())
