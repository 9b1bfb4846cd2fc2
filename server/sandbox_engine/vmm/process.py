"""VMM processes: started through the launcher, watched by pidfd, found again by start time.

A pid alone never identifies a process here: it is always paired with the start time
the kernel recorded, so that a pid which was reused is not mistaken for ours.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from sandbox_engine.errors import VmmError
from sandbox_engine.vmm import launcher as launcher_script

PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")
_STAT_SIZE = 1024
"""More than /proc/PID/stat can be: 52 numbers and a name."""


class LaunchRequest(Struct, frozen=True, kw_only=True):
    """One process to start; `@FDn@` in `argv` stands for the n-th of `fds` in the child."""

    argv: list[str]
    cwd: Path
    uid: int
    gid: int
    groups: list[int]
    log: Path
    """Where its own stdout and stderr go."""
    fds: list[int]
    cgroups: list[Path] = []
    """`cgroup.procs` files to be placed in."""


class Launched(Struct, frozen=True):
    """A started process, and the numbers its passed descriptors have in it."""

    process: Process
    fds: list[int]


class Launcher:
    """The daemon's end of the launcher helper.  Start it before gRPC is imported."""

    def __init__(self, link: socket.socket, helper: subprocess.Popen[bytes]) -> None:
        self._link, self._helper = link, helper
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reading = False

    @classmethod
    def start(cls) -> Self:
        """Start the helper process; it ends when this object's socket is closed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(launcher_script.__file__)
        with theirs:
            helper = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        ours.setblocking(False)
        return cls(ours, helper)

    async def launch(self, request: LaunchRequest) -> Launched:
        """Start a process.  Raises `VmmError`; then nothing was started."""
        self._watch()
        number = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        message = {
            "id": number,
            "argv": request.argv,
            "cwd": str(request.cwd),
            "uid": request.uid,
            "gid": request.gid,
            "groups": request.groups,
            "log": str(request.log),
            "cgroups": [str(path) for path in request.cgroups],
        }
        try:
            socket.send_fds(self._link, [json.dumps(message).encode()], request.fds)
            started = await asyncio.shield(future)
        except OSError as error:
            raise VmmError(f"the process launcher is gone: {error}; restart the engine") from error
        except asyncio.CancelledError:
            future.add_done_callback(_kill_unwanted)
            raise
        finally:
            if future.done():
                self._waiting.pop(number, None)
        process = Process.find(started["pid"])
        if process is None:
            raise VmmError(f"{request.argv[0]} ended at once: {_tail(request.log)}")
        return Launched(process, started["fds"])

    def close(self) -> None:
        """End the helper.  Processes it started go on."""
        if self._reading:
            asyncio.get_running_loop().remove_reader(self._link.fileno())
            self._reading = False
        self._link.close()
        self._helper.wait()

    def _watch(self) -> None:
        if not self._reading:
            asyncio.get_running_loop().add_reader(self._link.fileno(), self._replied)
            self._reading = True

    def _replied(self) -> None:
        try:
            data = self._link.recv(launcher_script.MAX_MESSAGE)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._link.fileno())
            self._reading = False
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(VmmError("the process launcher ended"))
            return
        reply = json.loads(data)
        future = self._waiting.pop(reply["id"])
        if "pid" in reply:
            future.set_result(reply)
        else:
            future.set_exception(VmmError(f"cannot start the VMM: {reply['error']}"))


def _kill_unwanted(future: asyncio.Future[dict[str, Any]]) -> None:
    """The caller was cancelled while the helper started its process."""
    if not future.cancelled() and future.exception() is None:
        with contextlib.suppress(OSError):
            os.kill(future.result()["pid"], signal.SIGKILL)


class Process:
    """A process of ours, held by pidfd: its end is known at once, its pid is never reused."""

    def __init__(self, pid: int, start_ticks: int, pidfd: int) -> None:
        self.pid, self.start_ticks = pid, start_ticks
        self.exited = asyncio.Event()
        self._pidfd = pidfd
        self._stat_fd = -1  # opened when first asked for
        self._callbacks: list[Callable[[], None]] = []
        asyncio.get_running_loop().add_reader(pidfd, self._gone)

    @classmethod
    def find(cls, pid: int, start_ticks: int | None = None) -> Self | None:
        """Hold the process `pid`, if it lives and (where given) began at `start_ticks`."""
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            return None
        started = start_ticks_of(pid)
        if started is None or (start_ticks is not None and started != start_ticks):
            os.close(pidfd)
            return None
        return cls(pid, started, pidfd)

    def when_exited(self, callback: Callable[[], None]) -> None:
        """Call `callback` once the process is gone."""
        if self.exited.is_set():
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._callbacks.append(callback)

    async def kill(self) -> None:
        """SIGKILL, and wait until the kernel says it is gone.  Idempotent."""
        if not self.exited.is_set():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            await self.exited.wait()

    def memory_and_faults(self) -> tuple[int, int]:
        """Resident bytes, and minor plus major page faults; zeros once it is gone.

        Every `inspect` asks: the file is kept open, since opening it costs three times
        what reading it does.
        """
        if self.exited.is_set():
            return 0, 0
        try:
            if self._stat_fd < 0:
                self._stat_fd = os.open(f"/proc/{self.pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
            text = os.pread(self._stat_fd, _STAT_SIZE, 0)
        except OSError:
            return 0, 0
        fields = text[text.rindex(b")") + 2 :].split(maxsplit=22)
        return int(fields[21]) * PAGE_SIZE, int(fields[7]) + int(fields[9])

    def _gone(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        if self._stat_fd >= 0:
            os.close(self._stat_fd)
        self.exited.set()
        for callback in self._callbacks:
            callback()


def start_ticks_of(pid: int) -> int | None:
    """When `pid` started (clock ticks since boot), None if it is gone or a zombie."""
    try:
        fields = _stat_fields(pid)
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])


def _stat_fields(pid: int) -> list[str]:
    """/proc/PID/stat from field 3 on; the command in field 2 may hold spaces and brackets."""
    text = Path(f"/proc/{pid}/stat").read_text()
    return text[text.rindex(")") + 2 :].split()


def _tail(log: Path, limit: int = 400) -> str:
    try:
        return log.read_text(errors="replace")[-limit:].strip() or "it printed nothing"
    except OSError:
        return "it left no log"
