"""`exec`: run a command, live, with the first seed's limits."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from sandbox_guest import fields
from sandbox_guest.agent import Agent
from sandbox_guest.foreground import Foreground, Limits, Outcome
from sandbox_guest.framing import Control, FrameKind, FramingError, parse_control
from sandbox_guest.ops.errors import OpError, Status
from sandbox_guest.process import Command
from sandbox_guest.stream import Stream

TIMEOUT_MS = 3_600_000
"""Default and cap."""
MAX_OUTPUT = 4 << 20
_SIGNALS = range(1, 65)


def run(agent: Agent, stream: Stream, request: Control) -> Control | None:
    """Start the command; the stream is its own from here on, unless it is detached."""
    command = command_of(agent, request)
    if agent.cgroups.frozen:
        raise OpError(Status.BUSY, "the machine is being saved")
    if fields.flag(request, "detach"):
        return _detached(agent, command, request)

    def done(outcome: Outcome) -> None:
        agent.table.remove(tracked)
        _report(stream, outcome)

    run = Foreground(agent.launcher, stream, command, _limits(request), done)
    tracked = agent.table.track(command.argv, run.process)
    run.on_abandoned = lambda: agent.table.remove(tracked)
    stream.send({"type": "started", "pid": run.process.pid})
    stream.listen(_Input(stream, run))
    return None


def _detached(agent: Agent, command: Command, request: Control) -> Control:
    tracked = agent.table.start(command, detached=True)
    assert tracked.background is not None
    limits = _limits(request)
    tracked.background.limit(timeout_s=limits.timeout_s, max_output=limits.max_output)
    pid = tracked.process.pid
    return {"type": "started", "pid": pid, "detached": True, "exec_id": tracked.exec_id}


def command_of(agent: Agent, request: Control) -> Command:
    """The command a request describes.  Raises `OpError`."""
    argv = fields.words(request, "argv")
    if fields.flag(request, "shell"):
        argv = ["/bin/sh", "-c", argv[0], *(["sh", *argv[1:]] if argv[1:] else [])]
    cwd = fields.text(request, "cwd")
    if not cwd:
        cwd = agent.places.workspace
        if not Path(cwd).is_dir():
            raise OpError(Status.NOT_MOUNTED, f"{cwd} is not mounted")
    return Command(
        argv=argv,
        cwd=cwd,
        env=fields.variables(request, "env"),
        user=fields.text(request, "user") or None,
        stdin=fields.flag(request, "stdin"),
        terminal=fields.size(request, "tty"),
    )


def _limits(request: Control) -> Limits:
    timeout_ms = fields.number(request, "timeout_ms", 0) or TIMEOUT_MS
    return Limits(
        timeout_s=min(timeout_ms, TIMEOUT_MS) / 1000,
        max_output=fields.number(request, "max_output", MAX_OUTPUT),
        head_out=_head(request, "head_out"),
        head_err=_head(request, "head_err"),
    )


def _head(request: Control, field: str) -> int | None:
    return None if request.get(field) is None else fields.number(request, field, 0)


def _report(stream: Stream, outcome: Outcome) -> None:
    stream.listen(None)
    stream.send({"type": "exit", **asdict(outcome)}, last=True)


class _Input:
    """What arrives while the command runs: its input, signals, a new size."""

    def __init__(self, stream: Stream, run: Foreground) -> None:
        self._stream, self._run = stream, run

    def __call__(self, kind: int, body: bytes) -> None:
        if kind == FrameKind.STDIN:
            self._run.write(body)
        elif kind == FrameKind.CONTROL:
            try:
                self._control(parse_control(body))
            except (FramingError, fields.BadField) as error:
                self._stream.reset(str(error))
        elif kind == 0:
            self._run.end_input()
        else:
            self._stream.grant(len(body))

    def _control(self, message: Control) -> None:
        match message.get("op"):
            case "stdin_close":
                self._run.end_input()
            case "signal":
                number = fields.number(message, "signal", 15)
                if number not in _SIGNALS:
                    raise fields.refuse("signal", "is no signal")
                self._run.process.send_signal(number)
            case "resize":
                self._run.resize(*fields.columns_rows(message))
