"""A command that runs in a sandbox, live."""

from __future__ import annotations

import signal as signals
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from types import TracebackType
from typing import IO, Self, TypeAlias

from sandbox.v1 import guest_pb2

from sandbox_sdk import _convert
from sandbox_sdk._text import Utf8
from sandbox_sdk._wire_async import AsyncCall
from sandbox_sdk.errors import ConnectionLost, InputClosed
from sandbox_sdk.models import (
    ExecEvent,
    ExecResult,
    Exited,
    Started,
    Stderr,
    Stdout,
    TerminalSize,
)

PIECE = 64 << 10
"""Bytes of input in one message."""

_Call: TypeAlias = AsyncCall[guest_pb2.ExecRequest, guest_pb2.ExecResponse]
_Answer: TypeAlias = guest_pb2.ExecResponse | guest_pb2.AttachExecResponse


class AsyncRunning(ABC):
    """What a command says: iterate over it, or wait for its end."""

    def __init__(self) -> None:
        self._texts = {"out": Utf8(), "err": Utf8()}
        self._ends: list[ExecEvent] = []
        self.exited: Exited | None = None
        """How it ended, once that was read."""

    @abstractmethod
    async def _answer(self) -> _Answer:
        """The next message of the engine.  Raises `SandboxError`."""

    def __aiter__(self) -> AsyncIterator[ExecEvent]:
        """Its events, from `Started` to `Exited`."""
        return self

    async def __anext__(self) -> ExecEvent:
        """The next event.  Raises `SandboxError`."""
        if self._ends:
            return self._ends.pop(0)
        if self.exited is not None:
            raise StopAsyncIteration
        return self._event(await self._answer())

    def _event(self, answer: _Answer) -> ExecEvent:
        match answer.WhichOneof("message"):
            case "out":
                text = self._texts["out"].feed(answer.out.data)
                return Stdout(answer.out.data, text, answer.out.offset)
            case "err":
                text = self._texts["err"].feed(answer.err.data)
                return Stderr(answer.err.data, text, answer.err.offset)
            case "exit":
                self.exited = _convert.exited(answer.exit)
                self._ends = [*self._held(self.exited), self.exited]
                return self._ends.pop(0)
            case _:
                return Started(answer.started.pid, answer.started.exec_id)

    def _held(self, end: Exited) -> Iterator[ExecEvent]:
        """The text of characters that were never finished."""
        if text := self._texts["out"].end():
            yield Stdout(b"", text, end.stdout_total)
        if text := self._texts["err"].end():
            yield Stderr(b"", text, end.stderr_total)

    async def wait(self) -> ExecResult:
        """Read to the end; the result has what was not read before."""
        out, err = bytearray(), bytearray()
        async for event in self:
            match event:
                case Stdout():
                    out += event.data
                case Stderr():
                    err += event.data
                case Exited():
                    return _result(event, bytes(out), bytes(err))
                case Started():
                    pass
        if self.exited is None:
            raise ConnectionLost("the command's end was not told")
        return _result(self.exited, bytes(out), bytes(err))


class AsyncCommand(AsyncRunning):
    """One running command: iterate over what it does, write to it, wait for its end.

    A context manager: leaving it kills the command and all it started, unless it ended.
    """

    def __init__(self, call: _Call, start: guest_pb2.ExecStart) -> None:
        super().__init__()
        self._call, self._start = call, start
        self._takes_input = start.input or start.HasField("terminal")

    async def begin(self) -> None:
        """Send what to run.  Called by `exec`."""
        with suppress(InputClosed):  # how the call ended is told where it is read
            await self._call.write(guest_pb2.ExecRequest(start=self._start))

    async def _answer(self) -> _Answer:
        answer = await self._call.read()
        if answer is None:
            raise ConnectionLost("the engine ended the call without the command's end")
        return answer

    async def write(self, data: bytes | str) -> None:
        """Give it input, text as UTF-8; waits while it does not read.

        Raises `InputClosed` where it was started without `input`, or has ended.
        """
        if not self._takes_input:
            raise InputClosed("the command was started without input, or it was closed")
        raw = data.encode() if isinstance(data, str) else data
        for at in range(0, len(raw), PIECE):
            await self._call.write(_input(raw[at : at + PIECE]))

    async def close_input(self) -> None:
        """It reads end-of-file after what was written.  Idempotent."""
        if self._takes_input:
            self._takes_input = False
            close = guest_pb2.ExecRequest(close_input=guest_pb2.ExecCloseInput())
            await self._call.write(close)

    async def resize(self, size: TerminalSize) -> None:
        """Its terminal has another size."""
        new = guest_pb2.TerminalSize(columns=size.columns, rows=size.rows)
        await self._call.write(guest_pb2.ExecRequest(resize=new))

    async def signal(self, number: int = signals.SIGTERM) -> None:
        """Send a signal to its process group."""
        sent = guest_pb2.ExecSignal(signal=number)
        await self._call.write(guest_pb2.ExecRequest(signal=sent))

    def feed(self, data: bytes) -> None:
        """Give it all of `data` and then end-of-file, beside what is read meanwhile."""
        self._takes_input = False
        self._call.feed(_inputs(data))

    def feed_file(self, file: IO[bytes]) -> None:
        """As `feed`, from a file that is open for reading, to its end."""
        self._takes_input = False
        self._call.feed(_input(data) for data in iter(lambda: file.read(PIECE), b""))

    async def kill(self) -> None:
        """Kill it and all it started, at once.  Idempotent."""
        await self._call.cancel()

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill what still runs."""
        await self.kill()


def _input(data: bytes) -> guest_pb2.ExecRequest:
    return guest_pb2.ExecRequest(input=guest_pb2.ExecInput(data=data))


def _inputs(data: bytes) -> Iterator[guest_pb2.ExecRequest]:
    for at in range(0, len(data), PIECE):
        yield _input(data[at : at + PIECE])


def _result(end: Exited, out: bytes, err: bytes) -> ExecResult:
    return ExecResult(
        exit_code=end.exit_code,
        signal=end.signal,
        timed_out=end.timed_out,
        truncated=end.truncated,
        duration_s=end.duration_s,
        stdout=out,
        stderr=err,
    )
