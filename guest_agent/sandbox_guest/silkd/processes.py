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
LINGER_S = 300.0
"""A terminal whose client went away lives this long, for `attach`."""


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
    _Following(rpc, background, tracked, holding=holding)


class _Following:
    """One client on one ring."""

    def __init__(
        self, rpc: Rpc, background: Background, tracked: Tracked, *, holding: bool
    ) -> None:
        self._rpc, self._background = rpc, background
        self._closed = False
        self._owed = 0  # input received and not credited yet
        tracked.on_removed.append(lambda: self._end(DONE))
        # Before the reader: what it finds may end this RPC, and the next one listens.
        rpc.listen(self._input, lambda: None)
        rpc.stream.on_gone = self._gone
        background.on_wrote = self._wrote
        self._reader = Reader(background, rpc.stream, self._exited, holding=holding)
        self._reader.pump()

    def _input(self, kind: int, data: bytes) -> None:
        if kind == FrameKind.STDIN and self._background.is_terminal:
            self._owed += len(data)
            self._background.write(data)
        else:
            self._rpc.stream.grant(len(data))

    def _wrote(self, size: int) -> None:
        credited = min(size, self._owed)
        self._owed -= credited
        self._rpc.stream.grant(credited)

    def _exited(self) -> None:
        self._end({"type": "exit", "code": self._background.process.code})

    def _end(self, message: Control) -> None:
        if not self._closed:
            self._leave()
            self._rpc.finish(message)

    def _gone(self) -> None:
        self._leave()
        if self._background.is_terminal:
            self._background.linger(LINGER_S)

    def _leave(self) -> None:
        self._closed = True
        self._background.on_wrote = None
        self._reader.close()


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
