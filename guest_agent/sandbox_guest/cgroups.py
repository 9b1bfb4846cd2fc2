"""Cgroups of the workload: a group a command, the freezer of all, kill without escape.

A process group is left by setsid or sudo; a cgroup is not.  Groups are made ahead, since
making one costs a command several system calls, and used again once empty.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import time
from collections.abc import Callable
from pathlib import Path

READY = 4
"""Empty groups kept ready."""
_TIDY_AFTER_S = 0.2
_FREEZE_TRY_S = 2.0


class Cgroup:
    """One group, its control files held open.

    A group that was killed once is not used again: newer kernels (6.18 seen) kill whatever
    is later born into it by CLONE_INTO_CGROUP.
    """

    __slots__ = ("_events", "_kill", "fd", "killed", "path")

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self.killed = False
        self.fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._kill = os.open("cgroup.kill", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self.fd)
        self._events = os.open("cgroup.events", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.fd)

    def kill(self) -> None:
        """SIGKILL to every process of the group, those being forked included."""
        self.killed = True
        os.write(self._kill, b"1")

    def empty(self) -> bool:
        """No live process is left in it."""
        return b"populated 0" in os.pread(self._events, 64, 0)

    def pids(self) -> list[int]:
        """Its processes now."""
        return [int(line) for line in (self.path / "cgroup.procs").read_text().split()]

    def remove(self) -> None:
        """Close it and take it out of the tree; it must be empty."""
        for fd in (self.fd, self._kill, self._events):
            os.close(fd)
        self.path.rmdir()


class Cgroups:
    """The tree below `root`: groups to take and give back, and its freezer."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._serial = 0
        self._ready: list[Cgroup] = []
        self._left: list[Cgroup] = []  # given back while a process still lived in it
        self._tidying = False
        self._on_thaw: list[Callable[[], None]] = []
        self.frozen = False

    def start(self) -> None:
        """Make the tree and the first groups."""
        self._root.mkdir(exist_ok=True)
        while len(self._ready) < READY:
            self._ready.append(self._make())

    def take(self) -> Cgroup:
        """An empty group; give it back with `release()`."""
        return self._ready.pop() if self._ready else self._make()

    def release(self, group: Cgroup) -> None:
        """Take `group` back.  What still lives in it goes on and its group is tidied later."""
        if not self._put_away(group):
            self._left.append(group)
        if self._left or len(self._ready) < READY:
            self._tidy_later()

    def _put_away(self, group: Cgroup) -> bool:
        """Keep it ready or remove it; False while something lives in it."""
        if not group.empty():
            return False
        if group.killed or len(self._ready) >= READY:
            group.remove()
        else:
            self._ready.append(group)
        return True

    def _make(self) -> Cgroup:
        self._serial += 1
        return Cgroup(self._root / f"c{self._serial}")

    def _tidy_later(self) -> None:
        if not self._tidying:
            self._tidying = True
            asyncio.get_running_loop().call_later(_TIDY_AFTER_S, self._tidy)

    def _tidy(self) -> None:
        """Runs after a command ended, so that an idle agent does nothing at all."""
        self._tidying = False
        self._left = [group for group in self._left if not self._put_away(group)]
        while len(self._ready) < READY:
            self._ready.append(self._make())

    # -- the freezer -------------------------------------------------------------

    def freeze(self) -> bool:
        """Stop every workload process.  False if one would not stop in time.

        Blocks for the few milliseconds it takes: nothing may happen in between.  Until
        `thaw()` nobody may start a process, which would stop half-born.
        """
        self.frozen = True
        (self._root / "cgroup.freeze").write_text("1")
        events = os.open(self._root / "cgroup.events", os.O_RDONLY | os.O_CLOEXEC)
        try:
            poll = select.poll()
            poll.register(events, select.POLLPRI)
            deadline = time.monotonic() + _FREEZE_TRY_S
            while b"frozen 1" not in os.pread(events, 64, 0):
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                poll.poll(min(left, 0.05) * 1000)
            return True
        finally:
            os.close(events)

    def thaw(self) -> None:
        """Let the workload run on.  Idempotent."""
        if not self.frozen:
            return
        (self._root / "cgroup.freeze").write_text("0")
        self.frozen = False
        waiting, self._on_thaw = self._on_thaw, []
        for wake in waiting:
            wake()

    async def thawed(self) -> None:
        """Wait until processes may be started."""
        while self.frozen:
            wake = asyncio.get_running_loop().create_future()
            self._on_thaw.append(lambda done=wake: _set(done))  # type: ignore[misc]  # a default binds the value
            await wake

    def kill_all(self) -> None:
        """SIGKILL to the whole workload (tests, shutdown)."""
        with contextlib.suppress(OSError):
            (self._root / "cgroup.kill").write_text("1")


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
