"""Persistent shells: one program that keeps folder, variables and aliases between commands.

A shell reads commands from a pipe.  Its stdout carries what commands write, stderr
merged; its own stderr is ours alone and says, after each command, with which code it
ended.  So no marker has to be looked for in what a command writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import shlex
import signal
import struct
import termios
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from sandbox_guest.pipes import Feeder, Pump, always, reading
from sandbox_guest.process import Command, Launcher, Started
from sandbox_guest.spawn import SpawnFailed

IDLE_S = 1800.0
_CANCEL_S = 2.0
_CUT_EVERY_S = 0.05
_READ = 64 << 10
_SHELLS = (("bash", "--noprofile", "--norc"), ("sh",))
_BASH_ONLY = b"shopt -s expand_aliases\n"


class Run:
    """One command in a shell, as its client sees it."""

    def __init__(
        self,
        argv: Sequence[str],
        room: Callable[[], int],
        give: Callable[[bytes], None],
        done: Callable[[int | None], None],
    ) -> None:
        """`done` is told the code once, or None if the shell ended before it ran."""
        self.argv = argv
        self.room, self.give, self.done = room, give, done
        self.cancelled = False


class Shell:
    """One shell and the commands that wait for it; they run one after the other."""

    def __init__(self, identifier: str, started: Started, ended: Callable[[Shell], None]) -> None:
        self.identifier = identifier
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._process = started.process
        self._process.on_exit = self._exited
        self._input = Feeder(started.stdin, lambda _: None)
        self._output = started.stdout
        os.set_blocking(self._output, False)
        self._paused = False
        self._loop.add_reader(self._output, self._readable)
        self._codes = Pump(started.stderr, reading(always, self._code_arrived), lambda: None)
        self._line = b""
        self._token = os.urandom(8).hex()
        self._waiting: deque[Run] = deque()
        self._run: Run | None = None
        self._before: set[int] = set()  # what lived before the command
        self._code: int | None = None  # of the command, whose output is being drained
        self._left = 0  # of that output
        self._timer = self._loop.call_later(IDLE_S, self.kill)

    def prepare(self, script: bytes) -> None:
        """Feed it a line before its first command."""
        self._input.write(script)

    def submit(self, run: Run) -> None:
        """Run a command as soon as those before it ended."""
        self._waiting.append(run)
        if self._run is None:
            self._begin()

    def cancel(self, run: Run) -> None:
        """Nobody waits for `run`: kill what it started; the shell itself if that is what runs."""
        if run in self._waiting:
            self._waiting.remove(run)
        elif run is self._run:
            run.cancelled = True
            self.resume()
            self._cut(self._loop.time() + _CANCEL_S)

    def _cut(self, deadline: float) -> None:
        """Kill what the command started, again until it ended: it may have just begun."""
        if self._loop.time() > deadline:
            self.kill()
            return
        for pid in set(self._process.pids()) - self._before - {self._process.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._timer.cancel()
        self._timer = self._loop.call_later(_CUT_EVERY_S, self._cut, deadline)

    def kill(self) -> None:
        """End it and what it started."""
        self._process.kill()

    def resume(self) -> None:
        """The reader of the command's output has room again."""
        if self._paused and self._output >= 0:
            self._paused = False
            self._loop.add_reader(self._output, self._readable)

    # -- commands ----------------------------------------------------------------

    def _begin(self) -> None:
        self._timer.cancel()
        self._run = self._waiting.popleft()
        self._before = set(self._process.pids())
        words = shlex.quote(shlex.join(self._run.argv))
        self._input.write(
            f"{{ eval {words} ; }} </dev/null 2>&1\n"
            f"printf '%s %s\\n' {self._token} $? >&2\n".encode(errors="surrogateescape")
        )

    def _code_arrived(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-256:]
        for line in lines:
            token, _, code = line.partition(b" ")
            if token == self._token.encode() and self._run is not None:
                self._code = int(code)
                # All of its output is in the pipe by now; what a job left in the
                # background adds later is not the command's.
                self._left = _unread(self._output)
                if not self._left:
                    self._finish(self._code)

    def _readable(self) -> None:
        run = self._run
        room = run.room() if run is not None and not run.cancelled else _READ
        if not room:
            self._paused = True
            self._loop.remove_reader(self._output)
            return
        try:
            data = os.read(self._output, min(room, _READ))
        except BlockingIOError:
            return
        if not data:
            self._close_output()
            return
        if run is not None and not run.cancelled:
            run.give(data)
        if self._code is not None:
            self._left -= len(data)
            if self._left <= 0:
                self._finish(self._code)

    def _finish(self, code: int | None) -> None:
        run, self._run, self._code = self._run, None, None
        self._timer.cancel()
        self._timer = self._loop.call_later(IDLE_S, self.kill)
        if run is not None and not run.cancelled:
            run.done(code)
        if self._waiting and self._run is None and self._process.status is None:
            self._begin()

    # -- its end -----------------------------------------------------------------

    def _exited(self) -> None:
        """It ended: by `exit`, which is then the command's code, or killed."""
        self._ended(self)
        self._process.kill()
        self._drain()
        self._codes.close()
        self._input.close()
        self._finish(self._process.code)
        self._timer.cancel()
        waiting, self._waiting = self._waiting, deque()
        for run in waiting:
            run.done(None)
        self._close_output()
        self._process.close()

    def _drain(self) -> None:
        """Its last output, which is bounded by the pipe."""
        run = self._run
        if run is None or run.cancelled:
            return
        with contextlib.suppress(OSError):
            while data := os.read(self._output, _READ):
                run.give(data)

    def _close_output(self) -> None:
        if self._output >= 0:
            if not self._paused:
                self._loop.remove_reader(self._output)
            os.close(self._output)
            self._output = -1


class Shells:
    """The shells of this guest by name."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._by_id: dict[str, Shell] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._by_id

    def names(self) -> list[str]:
        """Every shell's id."""
        return list(self._by_id)

    def get(self, identifier: str) -> Shell | None:
        """The shell of this id."""
        return self._by_id.get(identifier)

    def create(self, identifier: str, cwd: str, env: Mapping[str, str] | None) -> None:
        """Start a shell: bash, or what the guest has.  Raises what `Launcher.start` does."""
        started, is_bash = self._start(cwd, env)
        shell = Shell(identifier, started, self._forget)
        if is_bash:
            shell.prepare(_BASH_ONLY)
        self._by_id[identifier] = shell

    def remove(self, identifier: str) -> bool:
        """Kill a shell; False if there is none of this id."""
        shell = self._by_id.pop(identifier, None)
        if shell is not None:
            shell.kill()
        return shell is not None

    def _forget(self, shell: Shell) -> None:
        if self._by_id.get(shell.identifier) is shell:
            del self._by_id[shell.identifier]

    def _start(self, cwd: str, env: Mapping[str, str] | None) -> tuple[Started, bool]:
        bash, plain = (Command(argv=argv, cwd=cwd, env=env, stdin=True) for argv in _SHELLS)
        try:
            return self._launcher.start(bash), True
        except SpawnFailed as error:
            if error.code != errno.ENOENT:
                raise
        return self._launcher.start(plain), False


def _unread(fd: int) -> int:
    """Bytes waiting in a pipe; none once it is closed."""
    if fd < 0:
        return 0
    (size,) = struct.unpack("=i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))
    return int(size)
