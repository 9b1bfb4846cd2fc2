"""Machines without VMMs, and templates without files: what the services need beneath them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from sandbox_engine.errors import NoSpace, TemplateNotFound, VmmError
from sandbox_engine.model.template import FileDigest, Manifest, Platform
from sandbox_engine.ports.vmm import MachineRef, MachineSpec, MachineStats, Snapshot

from tests.engine.node.guest import Guest

PLATFORM = Platform(vmm="none", machine="none", cpu="none")


class FakeMachine:
    """`ports.vmm.Machine`, with a `Guest` where the guest would be."""

    def __init__(self, spec: MachineSpec, driver: FakeDriver) -> None:
        self.spec, self._driver = spec, driver
        self.ref = MachineRef(pid=1, start_ticks=1, name=spec.name, directory=str(spec.directory))
        self.channel_path = spec.directory / "channel.sock"
        self.exited = asyncio.Event()
        self.guest = Guest()
        self.paused = False
        self.memory = b"memory"
        self.attached: list[str] = []
        self.links = 0
        self._callbacks: list[Callable[[], None]] = []

    def when_exited(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    async def start(self) -> None:
        await self._driver.may_start.wait()
        if self._driver.full:
            raise NoSpace(self._driver.full)
        if self._driver.broken:
            raise VmmError(self._driver.broken)
        await self.guest.listen(self.channel_path)

    async def pause(self) -> None:
        self.paused = True

    async def resume(self) -> None:
        self.paused = False

    async def save_state(self, fd: int) -> None:
        os.write(fd, b"devices")

    async def save_memory(self, fd: int) -> int:
        return os.write(fd, self.memory)

    async def load_memory(self, fd: int) -> None:
        self.memory = os.pread(fd, 1 << 20, 0)

    async def freeze_disk(self, disk: Path) -> None:
        assert self.paused
        assert disk.exists()

    async def attach_disk(self, serial: str, fd: int) -> None:
        if self._driver.broken:
            raise VmmError(self._driver.broken)
        assert serial not in self.attached
        self.attached.append(serial)

    async def attached_disks(self) -> set[str]:
        return set(self.attached)

    async def detach_disk(self, serial: str) -> None:
        if serial in self.attached:
            self.attached.remove(serial)

    async def attach_link(self, fd: int) -> None:
        self.links += 1

    async def kill(self) -> None:
        self.die()

    def die(self) -> None:
        """The process ends."""
        if not self.exited.is_set():
            self.exited.set()
            self.guest.shut()
            self._driver.machines.pop(self.ref.name, None)
            for callback in self._callbacks:
                callback()

    def stats(self) -> MachineStats:
        gone = self.exited.is_set()
        return MachineStats(rss_bytes=0 if gone else 100 << 20, page_faults=1)

    async def console_tail(self) -> str:
        return ""


class FakeDriver:
    """`ports.vmm.MachineDriver`."""

    accel = "tcg"
    platform = PLATFORM

    def __init__(self) -> None:
        self.machines: dict[str, FakeMachine] = {}
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.full = ""
        """Why there is no space; empty while there is."""
        self.broken = ""
        """Why no machine starts; empty while they do."""

    async def launch(self, spec: MachineSpec) -> FakeMachine:
        machine = self.machines[spec.name] = FakeMachine(spec, self)
        return machine

    async def adopt(self, ref: MachineRef) -> FakeMachine | None:
        return None

    async def sweep(self, keep: set[str], root: Path) -> list[str]:
        return []


class FakeTemplate:
    """`ports.templates.ReadyTemplate` of 256 MiB and one CPU."""

    snapshot = Snapshot(memory_fd=-1, state_fd=-1)

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.digest = "sha256:" + "0" * 64
        self.overlay = self.rootfs = self.kernel = self.initramfs = self.agent_disk = (
            folder / "empty"
        )
        self.overlay.touch()
        digest = FileDigest(sha256="0" * 64, size=0)
        self.manifest = Manifest(
            name=name,
            memory=digest,
            vmstate=digest,
            rootfs=digest,
            overlay=digest,
            kernel=digest,
            initramfs=digest,
            agent_disk=digest,
            platform=PLATFORM,
            kernel_release="none",
            kernel_package="none",
            agent_protocol=1,
            agent_version="test",
            memory_mib=256,
            vcpus=1,
            disk_mib=64,
            source="none",
            include=(),
            warmup=(),
            volumes=name == "base",
            inputs="",
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )

    def changed(self) -> bool:
        return False


class FakeVault:
    """`ports.templates.TemplateVault`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.templates: dict[str, FakeTemplate] = {}
        for name in ("base", "other"):
            self.add(name)

    def add(self, name: str) -> None:
        """Another template was built."""
        self.templates[name] = FakeTemplate(name, self._folder)

    async def generation(self, name: str, digest: str) -> FakeTemplate:
        return await self.open(name)

    async def open(self, name: str) -> FakeTemplate:
        if name not in self.templates:
            raise TemplateNotFound(name)
        return self.templates[name]
