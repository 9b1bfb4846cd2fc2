"""Commands in a sandbox: live, and buffered to the heads that one reply frame carries."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import GuestUnavailable, InvalidArgument, Timeout, TooLarge
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.exec import (
    DEFAULT_MAX_OUTPUT,
    HEAD_ERR,
    HEAD_OUT,
    MAX_BUFFERED_INPUT,
    MAX_TIMEOUT_MS,
    AttachSpec,
    ExecEvent,
    ExecResult,
    ExecSpec,
    Exit,
    Output,
    ProcessInfo,
    Started,
    TerminalSize,
)
from sandbox_engine.ports.guest import GuestPort, GuestStream
from sandbox_engine.services.idle import Hold
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.wire.guest_status import error_of, parse

GRACE_S = 15.0
"""How long past its own timeout a command's end is waited for before the guest is given up on."""


MAX_SIGNAL = 64


class LiveExec:
    """One running command.

    It holds the sandbox's idle clock.  An async context manager: leaving it kills the
    command's whole process tree, unless it ended or was started detached, also where this
    is attached to it.  Cancellation of any call leaves that to the exit.
    """

    def __init__(self, stream: GuestStream, hold: Hold) -> None:
        self._stream, self._hold = stream, hold
        self._ended = False

    async def next(self) -> ExecEvent | None:
        """The next event; None after `Exit`, or after `Started` of a detached command.

        Raises what the guest said (`PathNotFound` for a command that is not there) or
        `GuestUnavailable`.  A reader that stops reading stops the command's output.
        """
        received = await self._stream.receive()
        if received is None:
            if not self._ended:
                raise GuestUnavailable("the guest ended the command without its exit")
            return None
        kind, body = received
        if kind != FrameKind.CONTROL:
            return Output(kind == FrameKind.STDERR, body)
        message = parse(received)
        match message.get("type"):
            case "started":
                self._ended = bool(message.get("detached"))
                return _started(message)
            case "exit":
                self._ended = True
                return _exit(message)
            case "error":
                self._ended = True
                raise error_of(message)
        raise GuestUnavailable(f"the guest answered {message.get('type')!r} to exec")

    async def write(self, data: bytes) -> None:
        """Send input; waits while the command does not read."""
        await self._stream.send_bulk(FrameKind.STDIN, data)

    async def close_input(self) -> None:
        """End of input."""
        await self._stream.send({"op": "stdin_close"})

    async def signal(self, number: int) -> None:
        """Send a signal to the command's process group."""
        await self._stream.send({"op": "signal", "signal": number})

    async def resize(self, size: TerminalSize) -> None:
        """Change the terminal's size."""
        await self._stream.send({"op": "resize", "cols": size.cols, "rows": size.rows})

    def kill(self) -> None:
        """Kill the command's whole tree.  Idempotent."""
        self._stream.reset()
        self._hold.close()

    async def __aenter__(self) -> Self:
        """Hold the command."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kill what still runs."""
        self.kill()


class Execs:
    """Starts commands."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def awake(self, caller: Caller, sandbox_id: str) -> None:
        """Before `start`: a hibernated sandbox is woken for it."""
        await self._sandboxes.awake(caller, sandbox_id)

    def start(self, caller: Caller, sandbox_id: str, spec: ExecSpec) -> LiveExec:
        """Start a command; its events say whether it could be started."""
        return self._start(caller, sandbox_id, spec, {})

    def attach(self, caller: Caller, sandbox_id: str, spec: AttachSpec) -> LiveExec:
        """Go on with a detached command; `Started` says where, or that it is not there.

        Raises, from its events, `ProcessNotFound`, and `OutputLost` where bytes that were
        asked for are gone.
        """
        spec.check()
        message: dict[str, Any] = {"op": "attach_exec", "exec_id": spec.exec_id}
        message |= {"out_offset": spec.out_offset, "err_offset": spec.err_offset}
        message |= {"allow_gap": True} if spec.allow_gap else {}
        stream = self._sandboxes.channel(caller, sandbox_id).open(GuestPort.ENGINE, message)
        return LiveExec(stream, self._sandboxes.idle(caller, sandbox_id).hold())

    async def processes(self, caller: Caller, sandbox_id: str) -> list[ProcessInfo]:
        """The commands the agent knows of, oldest first."""
        reply = await self._call(caller, sandbox_id, {"op": "processes"})
        return [_process(row) for row in reply["processes"]]

    async def signal(self, caller: Caller, sandbox_id: str, pid: int, number: int) -> None:
        """Signal a command and all it started; 0 is SIGKILL.  Raises `ProcessNotFound`."""
        if not 0 <= number <= MAX_SIGNAL:
            raise InvalidArgument("signal", f"must be 0 to {MAX_SIGNAL}")
        message = {"op": "signal_process", "pid": pid, "signal": number}
        await self._call(caller, sandbox_id, message)

    async def _call(
        self, caller: Caller, sandbox_id: str, message: dict[str, Any]
    ) -> dict[str, Any]:
        await self.awake(caller, sandbox_id)
        channel = self._sandboxes.channel(caller, sandbox_id)
        with self._sandboxes.idle(caller, sandbox_id).hold():
            return await channel.call(message)

    async def run(
        self, caller: Caller, sandbox_id: str, spec: ExecSpec, stdin: bytes = b""
    ) -> ExecResult:
        """Run to the end; heads of 32 and 16 KiB, totals true.

        Raises `TooLarge` for input over 64 KiB, `Timeout` when the guest does not report
        the end in time (a command that timed out is a result, not an error).
        """
        if len(stdin) > MAX_BUFFERED_INPUT:
            raise TooLarge(f"stdin: {len(stdin)} bytes; the limit is {MAX_BUFFERED_INPUT}")
        heads = {"head_out": HEAD_OUT, "head_err": HEAD_ERR, "stdin": bool(stdin)}
        await self.awake(caller, sandbox_id)
        limit_s = (spec.timeout_ms or MAX_TIMEOUT_MS) / 1000 + GRACE_S
        async with self._start(caller, sandbox_id, spec, heads) as command:
            try:
                async with asyncio.timeout(limit_s):
                    if stdin:
                        await command.write(stdin)
                        await command.close_input()
                    return await _collect(command)
            except TimeoutError as error:
                raise Timeout(f"no end of the command within {limit_s:g} s") from error

    def _start(
        self, caller: Caller, sandbox_id: str, spec: ExecSpec, extra: dict[str, Any]
    ) -> LiveExec:
        spec.check()
        channel = self._sandboxes.channel(caller, sandbox_id)
        stream = channel.open(GuestPort.ENGINE, _message(spec) | extra)
        return LiveExec(stream, self._sandboxes.idle(caller, sandbox_id).hold())


async def _collect(command: LiveExec) -> ExecResult:
    out, err = bytearray(), bytearray()
    while (event := await command.next()) is not None:
        if isinstance(event, Output):
            (err if event.stderr else out).extend(event.data)
        elif isinstance(event, Exit):
            return ExecResult(exit=event, out=bytes(out[:HEAD_OUT]), err=bytes(err[:HEAD_ERR]))
    raise GuestUnavailable("the guest ended the command without its exit")


def _message(spec: ExecSpec) -> dict[str, Any]:
    message: dict[str, Any] = {
        "op": "exec",
        "argv": spec.argv,
        "timeout_ms": spec.timeout_ms or MAX_TIMEOUT_MS,
        "max_output": spec.max_output or DEFAULT_MAX_OUTPUT,
    }
    optional: dict[str, Any] = {
        "shell": spec.shell,
        "cwd": spec.cwd,
        "env": spec.env,
        "user": spec.user,
        "stdin": spec.stdin,
        "detach": spec.detach,
    }
    message |= {name: value for name, value in optional.items() if value}
    if spec.terminal is not None:
        message["tty"] = {"cols": spec.terminal.cols, "rows": spec.terminal.rows}
    return message


def _started(message: dict[str, Any]) -> Started:
    return Started(
        message["pid"],
        message.get("exec_id", ""),
        message.get("input_offset", 0),
        message.get("out_offset", 0),
        message.get("err_offset", 0),
        message.get("takes_input", False),
    )


def _process(row: dict[str, Any]) -> ProcessInfo:
    return ProcessInfo(
        pid=row["pid"],
        argv=row["argv"],
        exec_id=row["exec_id"],
        running=row["running"],
        exit_code=None if row["running"] else _code(row),
        started_at=row["started_at"],
    )


def _code(message: dict[str, Any]) -> int:
    """The guest's -1 of a killed command, as a shell says it."""
    return int(128 + message["signal"] if message["signal"] else message["code"])


def _exit(message: dict[str, Any]) -> Exit:
    try:
        return Exit(
            code=_code(message),
            signal=message["signal"],
            timed_out=message["timed_out"],
            truncated=message["truncated"],
            out_total=message["out_total"],
            err_total=message["err_total"],
            duration_ms=message["duration_ms"],
        )
    except KeyError as error:
        raise GuestUnavailable(f"the guest's exit lacks {error}") from error
