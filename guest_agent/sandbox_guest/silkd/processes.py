"""`info`, `ps`, `kill`, `logs`, `attach`."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import sandbox_guest
from sandbox_guest import fields
from sandbox_guest.background import Background, Reader
from sandbox_guest.framing import Control, FrameKind
from sandbox_guest.silkd.errors import bad_request, not_found
from sandbox_guest.silkd.rpc import Rpc
from sandbox_guest.table import Tracked

PROTO = 2
"""From 2 on, RPCs run back to back on one stream."""
DONE: Control = {"type": "done"}


def info(rpc: Rpc) -> Control:
    """What answers here; reaching it is the readiness signal."""
    return {
        "type": "info",
        "version": sandbox_guest.__version__,
        "proto": PROTO,
        "uptime_secs": int(time.clock_gettime(time.CLOCK_BOOTTIME)),
        "procs": len(rpc.agent.table),
        "sessions": len(rpc.agent.shells),
    }


def ps(rpc: Rpc) -> Control:
    """The tracked commands."""
    return {"type": "procs", "procs": [_describe(tracked) for tracked in rpc.agent.table]}


def _describe(tracked: Tracked) -> Control:
    process = tracked.process
    ended = process.status is not None
    described: Control = {
        "pid": process.pid,
        "argv": tracked.argv,
        "detached": tracked.detached,
        "state": "exited" if ended else "running",
        "started_at_epoch_secs": int(process.started_at),
    }
    if ended:
        described["exit_code"] = process.code
    return described


def kill(rpc: Rpc) -> Control:
    """Signal a tracked command; one that ended already is left in peace."""
    tracked = _tracked(rpc)
    number = fields.number(rpc.request, "signal", signal.SIGKILL, least=1)
    if number not in range(1, signal.NSIG):
        raise bad_request(f"no signal {number}")
    if tracked.process.status is None:
        tracked.process.send_signal(number)
    return DONE


def logs(rpc: Rpc) -> None:
    """Replay a ring; `exit` if the command ended, then `done`."""
    background = _ring(rpc)
    _Replay(rpc, background, background.ring.end)


class _Replay:
    """Sends a ring up to where it ended when the replay began."""

    def __init__(self, rpc: Rpc, background: Background, end: int) -> None:
        self._rpc, self._background, self._end = rpc, background, end
        self._position = 0
        rpc.stream.on_room = self._pump
        self._pump()

    def _pump(self) -> None:
        stream = self._rpc.stream
        while self._position < self._end:
            most = stream.room()
            if not most:
                return
            left = self._end - self._position
            piece = self._background.ring.read(self._position, min(most, left))
            if piece is None:
                break
            kind, data, self._position = piece
            stream.send_bulk(FrameKind(kind), data)
        if self._background.process.status is not None:
            self._rpc.send({"type": "exit", "code": self._background.process.code})
        self._rpc.finish(DONE)


def attach(rpc: Rpc) -> None:
    """Replay a ring and follow it; `done` if the record goes first."""
    tracked = _tracked(rpc)
    follow(rpc, _ring(rpc), tracked, holding=False)


def follow(rpc: Rpc, background: Background, tracked: Tracked, *, holding: bool) -> None:
    """Send what `background` wrote and writes, then `exit`.  Input goes to its terminal."""
    closed = False

    def end(message: Control) -> None:
        nonlocal closed
        if not closed:
            closed = True
            reader.close()
            rpc.finish(message)

    def bulk(kind: int, data: bytes) -> None:
        if kind == FrameKind.STDIN and background.is_terminal:
            background.write(data)
        rpc.stream.grant(len(data))

    tracked.on_removed.append(lambda: end(DONE))
    reader = Reader(
        background,
        rpc.stream,
        lambda: end({"type": "exit", "code": background.process.code}),
        holding=holding,
    )
    if not closed:
        rpc.stream.on_gone = reader.close
        rpc.listen(bulk, lambda: None)


def _tracked(rpc: Rpc) -> Tracked:
    pid = fields.optional(rpc.request, "pid", int)
    if pid is None:
        raise bad_request("pid: is missing")
    tracked = rpc.agent.table.get(pid)
    if tracked is None:
        raise not_found(f"no tracked process {pid}")
    return tracked


def _ring(rpc: Rpc) -> Background:
    background = _tracked(rpc).background
    if background is None:
        raise not_found(f"process {rpc.request['pid']} runs in the foreground and keeps no output")
    return background


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {
    "info": info,
    "ps": ps,
    "kill": kill,
    "logs": logs,
    "attach": attach,
}
