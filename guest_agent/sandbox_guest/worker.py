"""Long work on the processor in a forked child, so that the loop goes on.

A pattern a client sends may run for ever, and nothing inside an interpreter can stop it;
a child can be killed.  It is frozen and killed like any command, because it lives in a
cgroup of its own.
"""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from sandbox_guest.cgroups import Cgroups
from sandbox_guest.framing import Control, FrameDecoder, control, parse_control
from sandbox_guest.reaper import Reaper

Say = Callable[[Control], None]
_READ = 64 << 10
_FAILED = 1


class WorkerDied(Exception):
    """The child ended without finishing its work."""


class Workers:
    """Starts workers."""

    def __init__(self, reaper: Reaper, cgroups: Cgroups) -> None:
        self._reaper, self._cgroups = reaper, cgroups

    @asynccontextmanager
    async def run(self, work: Callable[[Say], None]) -> AsyncIterator[AsyncIterator[Control]]:
        """What `work(say)` says, in a child that is gone when the block is left.

        The messages end when the work does.  They raise `WorkerDied` if it failed.
        """
        await self._cgroups.thawed()
        group = self._cgroups.take()
        ours, theirs = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _child(theirs, work)
        os.close(theirs)
        os.set_blocking(ours, False)
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reaper.watch(pid, ended.set_result)
        (group.path / "cgroup.procs").write_text(str(pid))
        try:
            yield _messages(ours, ended)
        finally:
            group.kill()
            os.close(ours)
            await ended
            self._cgroups.release(group)


async def _messages(fd: int, ended: asyncio.Future[int]) -> AsyncIterator[Control]:
    decoder = FrameDecoder()
    while data := await _read(fd):
        for _, body in decoder.feed(data):
            yield parse_control(body)
    if await ended:
        raise WorkerDied("the worker died")


async def _read(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    while True:
        try:
            return os.read(fd, _READ)
        except BlockingIOError:
            ready: asyncio.Future[None] = loop.create_future()
            loop.add_reader(fd, ready.set_result, None)
            try:
                await ready
            finally:
                loop.remove_reader(fd)


def _child(fd: int, work: Callable[[Say], None]) -> None:
    """Never returns, and touches nothing the parent still uses: no loop, no channel."""
    code = _FAILED
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.closerange(3, fd)
        os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
        work(lambda message: _write(fd, control(message)))
        code = 0
    except BaseException:  # noqa: BLE001 - there is nobody to raise it to
        traceback.print_exc()
    finally:
        os._exit(code)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
