"""One connection and its calls, blocking.  The counterpart of `_wire_async`, by hand.

A call may be read by one thread and written by others.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf.message import Message

from sandbox_sdk._address import Address
from sandbox_sdk._failures import failure_of
from sandbox_sdk._methods import Method
from sandbox_sdk.errors import InputClosed, SandboxError

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)
T = TypeVar("T")

WAITING = 4
"""Messages that may wait to be sent before `write` waits."""

sleep = time.sleep


def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """What `work` returns; here the caller's own thread blocks."""
    return work(*arguments)


class _Requests(Generic[Q]):
    """What gRPC takes from a thread of its own, and what callers put in."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Iterable[Q]] = deque()
        self._ended = self._over = False

    def put(self, requests: Iterable[Q]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._over or len(self._waiting) < WAITING)
            if self._over or self._ended:
                raise InputClosed("the call has ended")
            self._waiting.append(requests)
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def over(self) -> None:
        """The call has ended: nobody takes what waits."""
        with self._changed:
            self._over = True
            self._waiting.clear()
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Q]:
        while (some := self._take()) is not None:
            yield from some

    def _take(self) -> Iterable[Q] | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._ended or self._over)
            if not self._waiting:
                return None
            taken = self._waiting.popleft()
            self._changed.notify_all()
            return taken


class Call(Generic[Q, A]):
    """One open call."""

    def __init__(self, begin: Callable[[Iterator[Q]], Any]) -> None:
        self._requests = _Requests[Q]()
        self._call = begin(iter(self._requests))
        if not self._call.add_callback(self._requests.over):
            self._requests.over()

    def read(self) -> A | None:
        """The next answer; None at the end.  Raises `SandboxError`."""
        try:
            return next(self._call)  # type: ignore[no-any-return]  # of the method's type
        except StopIteration:
            return None
        except grpc.RpcError as error:
            failure = _failure(error)
        raise failure

    def write(self, request: Q) -> None:
        """Send; waits while the other side takes nothing.  Raises `InputClosed` at the end."""
        self._requests.put((request,))

    def feed(self, requests: Iterable[Q]) -> None:
        """Send all of them, and then the end, beside whatever is read meanwhile."""
        with suppress(InputClosed):  # how the call ended is told where it is read
            self._requests.put(requests)
        self._requests.end()

    def end(self) -> None:
        """Nothing more will be written."""
        self._requests.end()

    def cancel(self) -> None:
        """End the call now.  Idempotent; the engine is told."""
        self._call.cancel()
        self._requests.over()


class Wire:
    """One connection."""

    def __init__(self, address: Address) -> None:
        self._metadata = address.metadata
        self._channel = grpc.insecure_channel(address.target, options=address.options)

    def open(self, method: Method[Q, A], timeout_s: float | None) -> Call[Q, A]:
        """Begin a call."""
        make = self._channel.stream_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.answer.FromString,
        )
        metadata = self._metadata or None
        return Call(lambda requests: make(requests, timeout=timeout_s, metadata=metadata))

    def close(self) -> None:
        """End the connection and every call on it."""
        self._channel.close()


def _failure(error: Any) -> SandboxError:
    return failure_of(error.code(), error.details(), error.trailing_metadata())
