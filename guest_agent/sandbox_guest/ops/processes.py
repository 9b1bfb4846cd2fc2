"""`processes`, `signal_process`, `attach_exec`: commands that were started before."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from sandbox_guest import fields
from sandbox_guest.agent import Agent
from sandbox_guest.background import Background, Reader
from sandbox_guest.framing import Control, FrameKind, FramingError, parse_control
from sandbox_guest.ops.errors import OpError, Status, reply
from sandbox_guest.ring import Ring
from sandbox_guest.stream import Stream
from sandbox_guest.table import Tracked

DONE: Control = {"type": "done"}
SIGNALS = range(1, signal.NSIG)
_OUTPUTS = {FrameKind.STDOUT: "out_offset", FrameKind.STDERR: "err_offset"}


def processes(agent: Agent, _stream: Stream, _request: Control) -> Control:
    """The tracked commands, oldest first."""
    ordered = sorted(agent.table, key=lambda one: one.process.started_at)
    return {"type": "processes", "processes": [_described(one) for one in ordered]}


def _described(tracked: Tracked) -> Control:
    process = tracked.process
    described: Control = {
        "pid": process.pid,
        "argv": tracked.argv,
        "exec_id": tracked.exec_id,
        "running": process.status is None,
        "started_at": process.started_at,
    }
    if process.status is not None:
        described |= {"code": process.code, "signal": process.signal}
    return described


def signal_process(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Signal a tracked command; one that ended already is left in peace."""
    pid = fields.number(request, "pid", 0)
    number = fields.number(request, "signal", 0) or int(signal.SIGKILL)
    if number not in SIGNALS:
        raise fields.refuse("signal", f"{number} is no signal; they are 1 to {SIGNALS[-1]}")
    tracked = agent.table.get(pid)
    if tracked is None:
        raise OpError(Status.NOT_FOUND, f"no command with the pid {pid}", about="process")
    if tracked.process.status is None:
        tracked.process.send_signal(number)
    return DONE


def attach(agent: Agent, stream: Stream, request: Control) -> None:
    """Go on with a detached command from an offset of each output; its exit is the end.

    The stream that is attached holds the command back instead of missing output.  There is
    one: it is taken over by the next, so that a client whose connection died can come back
    before that was noticed.
    """
    exec_id = fields.required_text(request, "exec_id")
    tracked = agent.table.named(exec_id)
    if tracked is None or tracked.background is None:
        raise OpError(Status.NOT_FOUND, f"no detached command {exec_id!r}", about="process")
    begin = _begin(tracked.background.ring, request)
    _Attached(stream, tracked, tracked.background, begin)


def _begin(ring: Ring, request: Control) -> dict[int, int]:
    """The offset of each output to begin at.  Raises `OpError` where bytes of it are lost."""
    may_skip = fields.flag(request, "allow_gap")
    begin = {}
    for kind, field in _OUTPUTS.items():
        asked, first = fields.number(request, field, 0), ring.first(kind)
        total = ring.totals.get(kind, 0)
        if asked > total:
            raise fields.refuse(field, f"is {asked}; there are {total} bytes")
        if asked < first and not may_skip:
            lost = f"{field}: bytes {asked} to {first} are no longer kept"
            raise OpError(Status.TOO_LARGE, lost, about="output")
        begin[int(kind)] = max(asked, first)
    return begin


class _Attached:
    """The stream that follows a detached command."""

    def __init__(
        self, stream: Stream, tracked: Tracked, source: Background, begin: Mapping[int, int]
    ) -> None:
        self._stream, self._source = stream, source
        self._owed = 0  # input received and not credited yet
        if source.on_taken_over is not None:
            source.on_taken_over()
        source.on_taken_over, source.on_wrote = self._taken_over, self._wrote
        stream.on_gone = self._leave
        stream.send(
            {
                "type": "started",
                "pid": tracked.process.pid,
                "exec_id": tracked.exec_id,
                "input_offset": source.taken,
                "takes_input": source.takes_input,
                **{field: begin[kind] for kind, field in _OUTPUTS.items()},
            }
        )
        stream.listen(self._received)
        self._reader = Reader(source, stream, self._ended, holding=True, begin=begin)
        self._reader.pump()

    def _received(self, kind: int, body: bytes) -> None:
        if kind == FrameKind.STDIN:
            self._owed += len(body)
            self._source.write(body)
        elif kind == FrameKind.CONTROL:
            try:
                self._control(parse_control(body))
            except (FramingError, fields.BadField) as error:
                self._stream.reset(str(error))
        elif kind != 0:
            self._stream.grant(len(body))

    def _control(self, message: Control) -> None:
        match message.get("op"):
            case "stdin_close":
                self._source.end_input()
            case "signal":
                number = fields.number(message, "signal", int(signal.SIGTERM))
                if number not in SIGNALS:
                    raise fields.refuse("signal", "is no signal")
                self._source.process.send_signal(number)
            case "resize":
                self._source.resize(*fields.columns_rows(message))

    def _wrote(self, size: int) -> None:
        credited = min(size, self._owed)
        self._owed -= credited
        self._stream.grant(credited)

    def _ended(self) -> None:
        source, totals = self._source, self._source.ring.totals
        self._end(
            {
                "type": "exit",
                "code": source.process.code,
                "signal": source.process.signal,
                "timed_out": source.timed_out,
                "truncated": source.truncated,
                "out_total": totals.get(FrameKind.STDOUT, 0),
                "err_total": totals.get(FrameKind.STDERR, 0),
                "duration_ms": source.duration_ms,
            }
        )

    def _taken_over(self) -> None:
        self._end(reply(OpError(Status.BUSY, "another stream attached to this command")))

    def _end(self, message: Control) -> None:
        self._leave()
        self._stream.listen(None)
        self._stream.on_gone = None
        self._stream.send(message, last=True)

    def _leave(self) -> None:
        self._reader.close()
        if self._source.on_taken_over == self._taken_over:
            self._source.on_taken_over = self._source.on_wrote = None
