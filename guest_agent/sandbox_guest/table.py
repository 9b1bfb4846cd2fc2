"""The commands a client can name: running ones, and detached ones for a while after."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence

from sandbox_guest.background import Background
from sandbox_guest.process import Command, Launcher, Process

KEEP_S = 300.0
"""A detached command leaves the table this long after it ended."""


class Tracked:
    """One command in the table."""

    __slots__ = ("argv", "background", "detached", "exec_id", "on_removed", "process")

    def __init__(
        self,
        argv: Sequence[str],
        process: Process,
        background: Background | None = None,
        *,
        detached: bool = False,
    ) -> None:
        self.argv = list(argv)
        self.process = process
        self.background = background
        """Its ring, if it has one."""
        self.detached = detached
        self.exec_id = ""
        """Name of a detached command; unlike its pid, never another's."""
        self.on_removed: list[Callable[[], None]] = []


class Table:
    """Tracked commands by pid."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._by_pid: dict[int, Tracked] = {}
        self._serial = itertools.count(1)

    def __len__(self) -> int:
        return len(self._by_pid)

    def __iter__(self) -> Iterator[Tracked]:
        return iter(list(self._by_pid.values()))

    def get(self, pid: int) -> Tracked | None:
        """The command with this pid."""
        return self._by_pid.get(pid)

    def named(self, exec_id: str) -> Tracked | None:
        """The detached command of this name."""
        return next((one for one in self if exec_id and one.exec_id == exec_id), None)

    def track(self, argv: Sequence[str], process: Process) -> Tracked:
        """Add a foreground command; its runner removes it."""
        return self._add(Tracked(argv, process))

    def start(self, command: Command, *, detached: bool) -> Tracked:
        """Start a command that keeps a ring; raises what `Launcher.start` does."""

        def ended() -> None:
            asyncio.get_running_loop().call_later(KEEP_S, self.remove, tracked)

        background = Background(self._launcher, command, ended)
        tracked = Tracked(command.argv, background.process, background, detached=detached)
        if detached:
            tracked.exec_id = f"ex_{next(self._serial)}"
        return self._add(tracked)

    def remove(self, tracked: Tracked) -> None:
        """Forget a command.  Idempotent."""
        if self._by_pid.get(tracked.process.pid) is tracked:
            del self._by_pid[tracked.process.pid]
        callbacks, tracked.on_removed = tracked.on_removed, []
        for callback in callbacks:
            callback()

    def _add(self, tracked: Tracked) -> Tracked:
        old = self._by_pid.get(tracked.process.pid)
        if old is not None:  # the kernel gave an ended command's pid to another
            self.remove(old)
        self._by_pid[tracked.process.pid] = tracked
        return tracked
