"""`GuestService.Exec` and `AttachExec`: a live command over one stream.

Three parts run at once: what the client sends goes to the command, what the command says
goes to the outbox, and the call itself sends the outbox.  Whatever ends the call ends the
command, unless it was started detached.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, Generic, TypeVar

from sandbox.v1 import guest_pb2 as pb

from sandbox_engine.api.rpc.outbox import Outbox
from sandbox_engine.api.rpc.times import duration, milliseconds
from sandbox_engine.api.rpc.unserved import served
from sandbox_engine.errors import GuestUnavailable, InvalidArgument, TooLarge
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.exec import (
    AttachSpec,
    ExecEvent,
    ExecSpec,
    Exit,
    Output,
    Started,
    TerminalSize,
)
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.services.execs import Execs, LiveExec

MAX_INPUT = 1 << 20
UNLIMITED = 1 << 62
"""Output bytes of a live command, where its caller names no limit: the reader paces it."""


Up = TypeVar("Up", pb.ExecRequest, pb.AttachExecRequest)


async def run(
    execs: Execs, requests: AsyncIterator[pb.ExecRequest], caller: Caller
) -> AsyncIterator[pb.ExecResponse]:
    """Serve one call.  Raises what `Execs.start` and `LiveExec.next` raise."""
    first = await anext(requests, pb.ExecRequest())
    if not first.HasField("start"):
        raise InvalidArgument("start", "the first message must be `start`")
    spec = spec_from_pb(first.start)
    await execs.awake(caller, first.start.sandbox_id)
    async with execs.start(caller, first.start.sandbox_id, spec) as command:
        told = _converse(command, Input[pb.ExecRequest](command, takes=spec.stdin), requests)
        offsets = Offsets()
        async with aclosing(told):
            async for event in told:
                yield pb.ExecResponse(**offsets.fields(event))


async def attach(
    execs: Execs, requests: AsyncIterator[pb.AttachExecRequest], caller: Caller
) -> AsyncIterator[pb.AttachExecResponse]:
    """Serve one call that goes on with a detached command; its end leaves the command alone.

    Raises what `Execs.attach` and `LiveExec.next` raise.
    """
    first = await anext(requests, pb.AttachExecRequest())
    if not first.HasField("attach"):
        raise InvalidArgument("attach", "the first message must be `attach`")
    asked = first.attach
    spec = AttachSpec(
        exec_id=asked.exec_id,
        out_offset=asked.out_offset,
        err_offset=asked.err_offset,
        allow_gap=asked.allow_gap,
    )
    await execs.awake(caller, asked.sandbox_id)
    async with execs.attach(caller, asked.sandbox_id, spec) as command:
        found = await command.next()
        if not isinstance(found, Started):
            raise GuestUnavailable("the guest attached to a command without saying so")
        offsets = Offsets()
        yield pb.AttachExecResponse(**offsets.fields(found))
        up = Input[pb.AttachExecRequest](command, takes=found.takes_input, closes=False)
        told = _converse(command, up, requests)
        async with aclosing(told):
            async for event in told:
                yield pb.AttachExecResponse(**offsets.fields(event))


async def _converse(
    command: LiveExec, up: Input[Up], requests: AsyncIterator[Up]
) -> AsyncGenerator[ExecEvent, None]:
    """Hand on in both directions until the command's events end."""
    outbox = Outbox()
    parts = (
        spawn(_listen(command, outbox), name="exec output"),
        spawn(up.follow(requests, outbox), name="exec input"),
    )
    try:
        while (event := await outbox.take()) is not None:
            yield event
    finally:
        await cancel(*parts)


async def _listen(command: LiveExec, outbox: Outbox) -> None:
    try:
        while (event := await command.next()) is not None:
            await outbox.put(event)
    except Exception as error:  # noqa: BLE001 - the call raises it behind what was said before
        outbox.end(error)
    else:
        outbox.end()


class Input(Generic[Up]):
    """What a client sends after its first message."""

    def __init__(self, command: LiveExec, *, takes: bool, closes: bool = True) -> None:
        """`closes`: the end of the client's stream ends the command's input."""
        self._command = command
        self._open, self._closes = takes, closes

    async def follow(self, requests: AsyncIterator[Up], outbox: Outbox) -> None:
        """Hand on until the client's stream ends."""
        try:
            async for request in requests:
                await self._hand_on(request)
            if self._closes:
                await self._close()
        except GuestUnavailable:
            return  # the command's end, or its loss, is told by the side that listens
        except Exception as error:  # noqa: BLE001 - the call raises it
            outbox.end(error)

    async def _hand_on(self, request: Up) -> None:
        match request.WhichOneof("message"):
            case "input":
                await self._write(request.input.data)
            case "close_input":
                await self._close()
            case "resize":
                await self._command.resize(_size(request.resize))
            case "signal":
                await self._command.signal(request.signal.signal)
            case "start" | "attach" as first:
                raise InvalidArgument(first, f"only the first message may be `{first}`")
            case _:
                raise InvalidArgument("message", "none that this engine knows")

    async def _write(self, data: bytes) -> None:
        if not self._open:
            raise InvalidArgument("input", "the command's input is closed, or was not asked for")
        if len(data) > MAX_INPUT:
            raise TooLarge(f"input: {len(data)} bytes; the limit of one message is {MAX_INPUT}")
        await self._command.write(data)

    async def _close(self) -> None:
        if self._open:
            self._open = False
            await self._command.close_input()


def spec_from_pb(start: pb.ExecStart) -> ExecSpec:
    """What to run."""
    served(start)
    return ExecSpec(
        argv=list(start.argv),
        shell=start.shell,
        cwd=start.cwd,
        env=dict(start.env),
        user=start.user,
        timeout_ms=milliseconds(start.timeout),
        max_output=min(start.max_output, UNLIMITED) or UNLIMITED,
        stdin=start.input,
        terminal=_size(start.terminal) if start.HasField("terminal") else None,
        detach=start.detach,
    )


def _size(size: pb.TerminalSize) -> TerminalSize:
    return TerminalSize(cols=size.columns, rows=size.rows)


class Offsets:
    """Counts each stream's bytes, and makes messages of events."""

    def __init__(self) -> None:
        self._out = self._err = 0

    def fields(self, event: ExecEvent) -> dict[str, Any]:
        """What the message of one event holds; `Exec` and `AttachExec` answer alike."""
        match event:
            case Started():
                self._out, self._err = event.out_offset, event.err_offset
                return {"started": _started(event)}
            case Output(stderr=True):
                offset, self._err = self._err, self._err + len(event.data)
                return {"err": pb.ExecOutput(offset=offset, data=event.data)}
            case Output():
                offset, self._out = self._out, self._out + len(event.data)
                return {"out": pb.ExecOutput(offset=offset, data=event.data)}
            case Exit():
                return {"exit": _exit(event)}


def _started(event: Started) -> pb.ExecStarted:
    return pb.ExecStarted(pid=event.pid, exec_id=event.exec_id, input_offset=event.input_offset)


def _exit(event: Exit) -> pb.ExecExit:
    return pb.ExecExit(
        code=event.code,
        signal=event.signal,
        timed_out=event.timed_out,
        truncated=event.truncated,
        out_total=event.out_total,
        err_total=event.err_total,
        duration=duration(event.duration_ms),
    )
