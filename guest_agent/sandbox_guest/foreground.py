"""Run one command for one reader, live: the runner behind every exec.

Output goes out as it comes, paced by the reader.  The command's end is reported once
both outputs ended, or `DRAIN_S` after its leader did (something it left behind holds
them open, or the reader is slow); then its cgroup is killed.  It dies with its stream.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from sandbox_guest.framing import FrameKind
from sandbox_guest.pipes import Feeder, Pump
from sandbox_guest.process import Command, Launcher, resize
from sandbox_guest.stream import Stream

DRAIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one run; None is none."""

    timeout_s: float | None = None
    max_output: int | None = None
    """Bytes of one output; a command that writes more is killed."""
    head_out: int | None = None
    """Send this much of stdout and count the rest."""
    head_err: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    code: int
    signal: int
    timed_out: bool
    truncated: bool
    out_total: int
    err_total: int
    duration_ms: int


class _Output:
    """One output: what was written, and what of it is still sent."""

    __slots__ = ("left", "pump", "total")

    def __init__(self, limits: Limits, head: int | None) -> None:
        bounds = [bound for bound in (limits.max_output, head) if bound is not None]
        self.left = min(bounds) if bounds else None
        self.total = 0
        self.pump: Pump | None = None


class Foreground:
    """One run.  `done` is called exactly once, unless the stream died first."""

    def __init__(
        self,
        launcher: Launcher,
        stream: Stream,
        command: Command,
        limits: Limits,
        done: Callable[[Outcome], None],
    ) -> None:
        """Start it; raises what `Launcher.start` does."""
        self._stream, self._limits, self._done = stream, limits, done
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        started = launcher.start(command)
        self.process = started.process
        self.process.on_exit = self._exited
        self._terminal = started.stdout if command.terminal is not None else -1
        self._input = Feeder(started.stdin, self._wrote)
        self._owed = 0  # input received and not credited yet
        self._out = _Output(limits, limits.head_out)
        self._err = _Output(limits, limits.head_err)
        self._open = 0
        self._timed_out = self._truncated = self._over = False
        self._timer: asyncio.TimerHandle | None = None
        self.on_abandoned: Callable[[], None] | None = None
        """Called instead of `done` if the stream died first."""
        self._start_pump(self._out, started.stdout, FrameKind.STDOUT)
        self._start_pump(self._err, started.stderr, FrameKind.STDERR)
        stream.on_gone = self._abandon
        stream.on_room = self._resume
        if limits.timeout_s is not None:
            self._timer = self._loop.call_later(limits.timeout_s, self._time_out)

    def resize(self, columns: int, rows: int) -> None:
        """Resize its terminal, if it has one."""
        if self._terminal >= 0 and self._out.pump is not None and self._out.pump.fd >= 0:
            resize(self._terminal, columns, rows)

    def write(self, data: bytes) -> None:
        """Input, credited to the stream once the command took it."""
        self._owed += len(data)
        self._input.write(data)

    def end_input(self) -> None:
        """No more input: end of file, or what a terminal has for it."""
        if self._terminal >= 0:
            self._input.write(b"\x04")
        self._input.finish()

    def _wrote(self, size: int) -> None:
        credited = min(size, self._owed)  # a terminal's end of input was not received
        self._owed -= credited
        self._stream.grant(credited)

    # -- output ------------------------------------------------------------------

    def _start_pump(self, output: _Output, fd: int, kind: FrameKind) -> None:
        if fd < 0:
            return

        def read(fd: int, most: int) -> int | None:
            return self._read(output, kind, fd, most)

        output.pump = Pump(fd, read, self._ended)
        self._open += 1

    def _read(self, output: _Output, kind: FrameKind, fd: int, most: int) -> int | None:
        if output.left == 0:
            data = os.read(fd, most)  # of the rest only the size is wanted
            self._count(output, len(data))
            return len(data)
        stream = self._stream
        if not stream.room():
            return None
        if output.left is not None and output.left < most:
            most = output.left
        size = stream.send_bulk_from(kind, lambda view: os.readv(fd, (view[:most],)))
        if output.left is not None:
            output.left -= size
        self._count(output, size)
        return size

    def _count(self, output: _Output, size: int) -> None:
        output.total += size
        limit = self._limits.max_output
        if limit is not None and output.total > limit and not self._truncated:
            self._truncated = True
            self.process.kill()

    def _resume(self) -> None:
        for output in (self._out, self._err):
            if output.pump is not None:
                output.pump.resume()

    def _ended(self) -> None:
        self._open -= 1
        if not self._open and self.process.status is not None:
            self._finish()

    # -- ends --------------------------------------------------------------------

    def _time_out(self) -> None:
        self._timed_out = True
        self.process.kill()

    def _exited(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._over:
            self._release()
        elif not self._open:
            self._finish()
        else:
            self._timer = self._loop.call_later(DRAIN_S, self._drained)

    def _drained(self) -> None:
        self.process.kill()
        self._finish()

    def _finish(self) -> None:
        self._over = True
        self._release()
        process = self.process
        outcome = Outcome(
            code=process.code,
            signal=process.signal,
            timed_out=self._timed_out,
            truncated=self._truncated,
            out_total=self._out.total,
            err_total=self._err.total,
            duration_ms=round((time.monotonic() - self._began) * 1000),
        )
        self._stream.on_gone = self._stream.on_room = None
        self._done(outcome)

    def _abandon(self) -> None:
        """The stream is gone: so is the command."""
        self._over = True
        self.process.kill()
        self._close_pipes()
        if self.process.status is not None:
            self._release()
        if self.on_abandoned is not None:
            self.on_abandoned()

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._close_pipes()
        self.process.close()

    def _close_pipes(self) -> None:
        self._input.close()
        for output in (self._out, self._err):
            if output.pump is not None:
                output.pump.close()
