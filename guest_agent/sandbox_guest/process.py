"""Start commands: descriptors, cgroup, account and environment come together here."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sandbox_guest import accounts
from sandbox_guest.cgroups import Cgroup, Cgroups
from sandbox_guest.places import Places
from sandbox_guest.reaper import Reaper
from sandbox_guest.spawn import Spawner
from sandbox_guest.variables import Variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run.  Without `stdin` or `terminal` its input is empty."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str] | None = None
    user: str | None = None
    stdin: bool = False
    terminal: tuple[int, int] | None = None
    """Columns and rows: it runs on a terminal of its own, which is all three descriptors."""
    merge: bool = False
    """stderr is stdout."""


class Process:
    """A command that started.  It owns its cgroup until it ended and `close()` was called."""

    __slots__ = ("_group", "_groups", "on_exit", "pid", "started_at", "status")

    def __init__(self, pid: int, group: Cgroup, groups: Cgroups) -> None:
        self.pid = pid
        self.started_at = time.time()
        self.status: int | None = None
        """The wait status, once it ended."""
        self.on_exit: Callable[[], None] | None = None
        self._group: Cgroup | None = group
        self._groups = groups

    def ended(self, status: int) -> None:
        """It was reaped (reaper)."""
        self.status = status
        if self.on_exit is not None:
            self.on_exit()

    @property
    def code(self) -> int:
        """The exit code; -1 for one that a signal killed."""
        assert self.status is not None
        return os.WEXITSTATUS(self.status) if os.WIFEXITED(self.status) else -1

    @property
    def signal(self) -> int:
        """The signal that killed it, or 0."""
        assert self.status is not None
        return os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0

    def kill(self) -> None:
        """SIGKILL to it and everything it started, whatever group or session that is in."""
        if self._group is not None:
            self._group.kill()

    def send_signal(self, number: int) -> None:
        """Signal its process group; once the leader is gone, what is left of its cgroup."""
        if number == signal.SIGKILL:
            self.kill()
        elif self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)
        else:
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)

    def pids(self) -> list[int]:
        """Every process of its cgroup now."""
        return [] if self._group is None else self._group.pids()

    def close(self) -> None:
        """Give the cgroup back; what still runs in it goes on, no longer ours.  Idempotent."""
        group, self._group = self._group, None
        if group is not None:
            self._groups.release(group)


@dataclass(slots=True)
class Started:
    """A process and our ends of its descriptors; -1 where there is none."""

    process: Process
    stdin: int
    stdout: int
    stderr: int


class Launcher:
    """Starts commands."""

    def __init__(
        self, places: Places, spawner: Spawner, reaper: Reaper, cgroups: Cgroups, names: Variables
    ) -> None:
        self._places = places
        self._spawner = spawner
        self._reaper = reaper
        self._cgroups = cgroups
        self._variables = names
        self._null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)

    def start(self, command: Command) -> Started:
        """Start `command`.

        Raises `SpawnFailed`, `accounts.NoSuchUser`, and `OSError` when descriptors or
        processes run out.  Must not be called while the workload is frozen.
        """
        account = None
        if command.user is not None:
            account = accounts.find(command.user, self._places.etc)
        env, path = self._variables.block(command.env, account)
        group = self._cgroups.take()
        theirs: list[int] = []
        ours: list[int] = []
        try:
            files = self._open(command, theirs, ours)
            pid = self._spawner.start(
                command.argv, path=path, env=env, cwd=command.cwd, files=files, cgroup=group,
                account=account, terminal=command.terminal is not None,
            )  # fmt: skip
        except BaseException:
            _close(ours)
            self._cgroups.release(group)
            raise
        finally:
            _close(theirs)
        process = Process(pid, group, self._cgroups)
        self._reaper.watch(pid, process.ended)
        return Started(process, *ours)

    def _open(self, command: Command, theirs: list[int], ours: list[int]) -> tuple[int, int, int]:
        if command.terminal is not None:
            ours_end, theirs_end = os.openpty()
            theirs.append(theirs_end)
            ours += (os.dup(ours_end), ours_end, -1)
            resize(ours_end, *command.terminal)
            os.set_blocking(ours_end, False)
            return theirs_end, theirs_end, theirs_end
        stdin, stdin_ours = self._null, -1
        if command.stdin:
            stdin, stdin_ours = os.pipe2(os.O_CLOEXEC)
            theirs.append(stdin)
            os.set_blocking(stdin_ours, False)
        ours.append(stdin_ours)
        stdout_ours, stdout = os.pipe2(os.O_CLOEXEC)
        theirs.append(stdout)
        ours.append(stdout_ours)
        if command.merge:
            ours.append(-1)
            return stdin, stdout, stdout
        stderr_ours, stderr = os.pipe2(os.O_CLOEXEC)
        theirs.append(stderr)
        ours.append(stderr_ours)
        return stdin, stdout, stderr


def resize(terminal: int, columns: int, rows: int) -> None:
    """Set a terminal's size; its foreground process is told."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("=HHHH", rows, columns, 0, 0))


def _close(fds: list[int]) -> None:
    for fd in fds:
        if fd >= 0:
            os.close(fd)
