"""Every child's end, from one place.

As PID 1 the agent inherits every orphan of the guest and must reap it; its own children
must not lose their status to that.  So there is one `waitpid` loop: a pid somebody
watches has its status handed over, any other is forgotten.  A pid cannot be reused
before it is reaped here, and reaping runs between two steps of the loop, so a
watched pid is safe to signal until its callback ran.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

from sandbox_guest import linux

_SIGNAL_RECORD = 128


class Reaper:
    """Reaps on SIGCHLD, read from a descriptor: one wake-up a burst, no signal handler."""

    def __init__(self) -> None:
        self._watched: dict[int, Callable[[int], None]] = {}
        self._fd = -1

    def start(self) -> None:
        """Begin.  SIGCHLD is blocked from here on; children get a clean mask from spawn."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        self._fd = linux.signal_fd({signal.SIGCHLD})
        asyncio.get_running_loop().add_reader(self._fd, self._signalled)

    def watch(self, pid: int, ended: Callable[[int], None]) -> None:
        """Call `ended(wait status)` once child `pid`, just started, has been reaped."""
        self._watched[pid] = ended

    def _signalled(self) -> None:
        os.read(self._fd, 8 * _SIGNAL_RECORD)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            ended = self._watched.pop(pid, None)
            if ended is not None:
                ended(status)
