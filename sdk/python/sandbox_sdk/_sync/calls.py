# Generated from `_async/calls.py` by tools/codegen/blocking.py: change that one.
"""Calls with one answer, repeated where that is safe and helps."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

from sandbox_sdk._methods import Method
from sandbox_sdk._wire_sync import Call, Wire, sleep
from sandbox_sdk.errors import Internal, SandboxError
from sandbox_sdk.retry import Attempts, RetryPolicy

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


class Calls:
    """A connection with a policy."""

    def __init__(self, wire: Wire, retry: RetryPolicy, timeout_s: float) -> None:
        self._wire, self._retry, self._timeout_s = wire, retry, timeout_s

    def ask(self, method: Method[Q, A], request: Q, *, timeout_s: float | None = None) -> A:
        """The answer.  All attempts together have `timeout_s`.  Raises `SandboxError`."""
        attempts = Attempts(self._retry, timeout_s or self._timeout_s)
        while True:
            try:
                return self._once(method, request, attempts.remaining())
            except SandboxError as error:
                delay = attempts.delay_after(error) if method.safe else None
                if delay is None:
                    raise
            sleep(delay)

    def _once(self, method: Method[Q, A], request: Q, timeout_s: float | None) -> A:
        call = self._wire.open(method, timeout_s)
        try:
            call.feed((request,))
            answer = call.read()
            if answer is None or call.read() is not None:
                raise Internal("the engine did not give one answer")
            return answer
        finally:
            call.cancel()

    def attempts(self) -> Attempts:
        """Of a call that is mended rather than made again, and has no end of its own."""
        return Attempts(self._retry, None)

    def open(self, method: Method[Q, A], timeout_s: float | None = None) -> Call[Q, A]:
        """A streaming call, made once."""
        return self._wire.open(method, timeout_s)
