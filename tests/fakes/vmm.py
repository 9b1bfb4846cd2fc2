"""Machines without a VMM: a guest on a socket, and a table of processes that outlives engines."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable
from pathlib import Path

from sandbox_engine.errors import VmmError
from sandbox_engine.ports.vmm import (
    VOLUME_SERIALS,
    WAITING_DISKS,
    MachineRef,
    MachineSpec,
    MachineStats,
    Platform,
)

from tests.fakes.guest import FakeGuest
from tests.fakes.steps import Steps
from tests.fakes.templates import PLATFORM

CHANNEL = "channel.sock"
CONSOLE = "Linux version fake"
DEVICE_STATE = b"device state"


class FakeProcess:
    """What the kernel knows: it lives until somebody kills it, whoever watches."""

    def __init__(self, host: FakeHost, spec: MachineSpec, pid: int) -> None:
        self.spec, self.pid = spec, pid
        self.start_ticks = pid * 100
        self.running = False
        """Its virtual CPUs run."""
        self.disk = spec.disk
        self.frozen: list[Path] = []
        """Disks under it that change no more, the lowest first."""
        self.disks: dict[str, int] = {}
        """The inode of the file behind each disk that waited, by serial number."""
        self.link: int | None = None
        """The inode of what its interface is connected to."""
        self.exited = asyncio.Event()
        self.guest = FakeGuest(spec.directory / CHANNEL)
        self._host = host
        self._callbacks: list[Callable[[], None]] = []

    def die(self) -> None:
        """It ends, by whatever."""
        if self.exited.is_set():
            return
        del self._host.processes[self.pid]
        self.running = False
        self.guest.shut()
        self.exited.set()
        for callback in self._callbacks:
            callback()

    def when_exited(self, callback: Callable[[], None]) -> None:
        if self.exited.is_set():
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._callbacks.append(callback)

    def forget_watchers(self) -> None:
        """Whoever watched is no more."""
        self._callbacks.clear()

    def run(self, *, running: bool) -> None:
        """Start or stop the virtual CPUs: a guest without them answers nothing."""
        self.running = running
        self.guest.run(running=running)


class FakeHost:
    """The host: its processes go on when an engine ends."""

    def __init__(self) -> None:
        self.processes: dict[int, FakeProcess] = {}
        self._pids = itertools.count(1000)

    def start(self, spec: MachineSpec) -> FakeProcess:
        pid = next(self._pids)
        process = self.processes[pid] = FakeProcess(self, spec, pid)
        return process

    def named(self, name: str) -> FakeProcess:
        """The process of the machine `name`."""
        (found,) = [one for one in self.processes.values() if one.spec.name == name]
        return found


class FakeMachine:
    """`ports.vmm.Machine`: one engine's hold on a process.

    Steps, all of the driver: `start`, `pause`, `resume`, `kill`, `save_state`, `save_memory`,
    `load_memory`, `freeze_disk`, `attach_disk`, `attached_disks`, `detach_disk`, `attach_link`,
    `console_tail`.
    """

    def __init__(self, process: FakeProcess, driver: FakeDriver) -> None:
        self.process, self._driver, self._steps = process, driver, driver.steps
        spec = process.spec
        self.ref = MachineRef(
            pid=process.pid,
            start_ticks=process.start_ticks,
            name=spec.name,
            directory=str(spec.directory),
        )
        self.channel_path = spec.directory / CHANNEL
        self.exited = process.exited
        self.when_exited = process.when_exited

    async def start(self) -> None:
        await self._reach("start")
        self.process.run(running=True)

    async def pause(self) -> None:
        await self._reach("pause")
        self.process.run(running=False)

    async def resume(self) -> None:
        await self._reach("resume")
        self.process.run(running=True)

    async def save_state(self, fd: int) -> None:
        await self._reach("save_state")
        os.write(fd, DEVICE_STATE)

    async def save_memory(self, fd: int) -> int:
        await self._reach("save_memory")
        return os.write(fd, self.process.guest.memory())

    async def load_memory(self, fd: int) -> None:
        await self._reach("load_memory")
        self.process.guest.remember(os.pread(fd, os.fstat(fd).st_size, 0))

    async def freeze_disk(self, disk: Path) -> None:
        await self._reach("freeze_disk")
        self.process.frozen.append(self.process.disk)
        self.process.disk = disk

    async def attach_disk(self, serial: str, fd: int) -> None:
        await self._reach("attach_disk")
        waiting = WAITING_DISKS + (VOLUME_SERIALS if self.process.spec.volume_disks else ())
        if serial not in waiting or serial in self.process.disks:
            raise VmmError(f"no disk {serial!r} waits")
        self.process.disks[serial] = os.fstat(fd).st_ino

    async def attached_disks(self) -> set[str]:
        await self._reach("attached_disks")
        return set(self.process.disks)

    async def detach_disk(self, serial: str) -> None:
        await self._reach("detach_disk")
        self.process.disks.pop(serial, None)

    async def attach_link(self, fd: int) -> None:
        await self._reach("attach_link")
        if self.process.link is not None:
            raise VmmError("it has a link")
        self.process.link = os.fstat(fd).st_ino

    async def kill(self) -> None:
        if self._driver.cut_off:
            return
        if not self.exited.is_set():
            await self._steps.reach("kill")
        self.process.die()

    def stats(self) -> MachineStats:
        gone = self.exited.is_set()
        return MachineStats(rss_bytes=0 if gone else 100 << 20, page_faults=0 if gone else 7)

    async def console_tail(self) -> str:
        await self._steps.reach("console_tail")
        return CONSOLE

    async def _reach(self, step: str) -> None:
        await self._steps.reach(step, unless=self.when_exited)
        if self.exited.is_set() or self._driver.cut_off:
            raise VmmError("the VMM is gone")


class FakeDriver:
    """`ports.vmm.MachineDriver`; steps `launch`, `adopt` and those of its machines."""

    accel = "tcg"
    platform: Platform = PLATFORM

    def __init__(self, host: FakeHost | None = None) -> None:
        self.host = host or FakeHost()
        self.steps = Steps()
        self.cut_off = False
        """Its engine is dead: nothing it still does reaches the host."""

    async def launch(self, spec: MachineSpec) -> FakeMachine:
        await self.steps.reach("launch")
        if self.cut_off:
            raise VmmError("the engine is dead")
        for path in (spec.kernel, spec.initramfs, spec.agent_disk, spec.disk):
            if not path.exists():
                raise VmmError(f"cannot open {path}")
        process = self.host.start(spec)
        try:
            await process.guest.listen()
        except BaseException as error:  # also of a launch that is cancelled
            process.die()
            if isinstance(error, OSError):
                raise VmmError(f"cannot listen: {error}") from error
            raise
        return FakeMachine(process, self)

    async def adopt(self, ref: MachineRef) -> FakeMachine | None:
        await self.steps.reach("adopt")
        process = self.host.processes.get(ref.pid)
        if process is None or process.start_ticks != ref.start_ticks:
            return None
        return FakeMachine(process, self)

    async def sweep(self, keep: set[str], root: Path) -> list[str]:
        found = [
            process
            for process in self.host.processes.values()
            if process.spec.directory.resolve().is_relative_to(root.resolve())
            and process.spec.name not in keep
        ]
        for process in found:
            process.die()
        return [process.spec.name for process in found]
