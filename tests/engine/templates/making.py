"""Templates without virtual machines: synthetic files, and fakes of what builds are made of."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sandbox_engine.errors import GuestUnavailable
from sandbox_engine.model.template import (
    BuildRequest,
    FileDigest,
    Manifest,
    Platform,
)
from sandbox_engine.ports.builder import BuildProgress
from sandbox_engine.ports.guest import GuestPort, GuestStream, Identity, Welcome
from sandbox_engine.ports.vmm import MachineRef, MachineSpec, MachineStats
from sandbox_engine.templates.build import Builder, Machines
from sandbox_engine.templates.digests import digest_file
from sandbox_engine.templates.kernel import Kernel
from sandbox_engine.templates.layout import (
    MEMORY,
    OVERLAY,
    ROOTFS,
    VMSTATE,
    Layout,
    TemplateFiles,
)
from sandbox_engine.templates.publish import new_generation, place
from sandbox_engine.templates.rootfs import Rootfs
from sandbox_engine.templates.store import TemplateStore
from sandbox_guest.framing import FrameKind

PLATFORM = Platform(vmm="fake 1", machine="fake/1", cpu="fake")
PROTOCOL = 1
UID = 706_000
MEMORY_MIB = 64
OnLine = Callable[[str], None]


def published(data: Path, name: str = "base", **changes: Any) -> TemplateFiles:
    """Publish a template of synthetic files; `changes` go into its manifest."""
    layout = Layout(data)
    kernel = layout.kernel("6.1.0", "6.1.1-1") / "vmlinuz"
    write(kernel, b"kernel")
    _, initramfs_digest = stored(layout.initramfs, b"initramfs")
    _, agent_digest = stored(layout.agent_disk, b"agent disk")
    baked = data / "work" / "baked"
    baked.mkdir(parents=True)
    sparse(baked / MEMORY, MEMORY_MIB << 20, {0: b"first page", 5 << 20: b"in the middle"})
    write(baked / VMSTATE, b"device state")
    sparse(baked / ROOTFS, 3 << 20, {1 << 20: b"root"})
    write(baked / OVERLAY, b"overlay")
    facts: dict[str, Any] = {
        "name": name,
        "memory": digest_file(baked / MEMORY),
        "vmstate": digest_file(baked / VMSTATE),
        "rootfs": digest_file(baked / ROOTFS),
        "overlay": digest_file(baked / OVERLAY),
        "kernel": digest_file(kernel),
        "initramfs": initramfs_digest,
        "agent_disk": agent_digest,
        "platform": PLATFORM,
        "kernel_release": "6.1.0",
        "kernel_package": "6.1.1-1",
        "agent_protocol": PROTOCOL,
        "agent_version": "0",
        "memory_mib": MEMORY_MIB,
        "vcpus": 1,
        "disk_mib": 64,
        "source": "dir:/tree",
        "include": (),
        "warmup": (),
        "inputs": "0" * 64,
        "created_at": datetime.now(UTC),
    }
    place(layout, baked, new_generation(layout, name, "0" * 64), Manifest(**facts | changes))
    return TemplateStore(data).find(name)


def stored(where: Callable[[str], Path], content: bytes) -> tuple[Path, FileDigest]:
    """Put `content` where its digest says."""
    loose = where("loose")
    write(loose, content)
    digest = digest_file(loose)
    shutil.rmtree(loose.parent)
    write(where(digest.sha256), content)
    return where(digest.sha256), digest


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def sparse(path: Path, size: int, pieces: dict[int, bytes]) -> None:
    """A file of holes with a few pieces of data."""
    with path.open("wb") as file:
        file.truncate(size)
        for at, data in pieces.items():
            os.pwrite(file.fileno(), data, at)


def flip_byte(path: Path, at: int = 0) -> None:
    """Change one byte in place; size and modification time stay."""
    before = path.stat()
    fd = os.open(path, os.O_RDWR)
    byte = os.pread(fd, 1, at)
    os.pwrite(fd, bytes([byte[0] ^ 1]), at)
    os.close(fd)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class FakeMachine:
    """A machine whose guest is a few bytes in its memory file."""

    def __init__(self, spec: MachineSpec, events: list[str]) -> None:
        self.ref = MachineRef(pid=1, start_ticks=1, name=spec.name, directory=str(spec.directory))
        self.channel_path = spec.directory / "channel.sock"
        self.exited = asyncio.Event()
        self.spec, self._events = spec, events

    def when_exited(self, callback: Callable[[], None]) -> None:
        raise AssertionError("a bake watches `exited`")

    async def start(self) -> None:
        self._events.append("start")
        assert self.spec.memory_file is not None
        with self.spec.memory_file.open("r+b") as memory:
            os.pwrite(memory.fileno(), b"a guest", 1 << 20)

    async def pause(self) -> None:
        self._events.append("pause")

    async def resume(self) -> None:
        self._events.append("resume")

    async def save_state(self, fd: int) -> None:
        self._events.append("save")
        os.write(fd, b"device state")

    async def save_memory(self, fd: int) -> int:
        raise AssertionError("a bake's memory is its file")

    async def load_memory(self, fd: int) -> None:
        raise AssertionError("a bake begins with nothing")

    async def attach_disk(self, serial: str, fd: int) -> None:
        raise AssertionError("a bake has no session")

    async def attached_disks(self) -> set[str]:
        return set()

    async def detach_disk(self, serial: str) -> None:
        raise AssertionError("a bake has no volumes")

    async def attach_link(self, fd: int) -> None:
        raise AssertionError("a bake reaches nothing")

    async def freeze_disk(self, disk: Path) -> None:
        raise AssertionError("a bake's disk is the template's")

    async def kill(self) -> None:
        self._events.append("kill")
        self.exited.set()

    def stats(self) -> MachineStats:
        return MachineStats(rss_bytes=0, page_faults=0)

    async def console_tail(self) -> str:
        return "last words of the console"


class FakeDriver:
    """Launches fakes."""

    platform = PLATFORM
    accel = "fake"

    def __init__(self) -> None:
        self.events: list[str] = []
        self.machines: list[FakeMachine] = []
        self.swept: list[Path] = []

    async def launch(self, spec: MachineSpec) -> FakeMachine:
        machine = FakeMachine(spec, self.events)
        self.machines.append(machine)
        return machine

    async def adopt(self, ref: MachineRef) -> FakeMachine | None:
        return None

    async def sweep(self, keep: set[str], root: Path) -> list[str]:
        self.swept.append(root)
        return []


class FakeStream:
    """A command that ends as it was told."""

    def __init__(self, messages: list[tuple[int, bytes]], forever: bool) -> None:
        self._messages, self._forever = messages, forever

    async def send(self, message: dict[str, Any]) -> None:
        raise AssertionError("a bake sends nothing to a command")

    async def send_bulk(self, kind: int, data: bytes) -> None:
        raise AssertionError("a bake sends nothing to a command")

    async def receive(self) -> tuple[int, bytes] | None:
        if self._messages:
            return self._messages.pop(0)
        if self._forever:
            await asyncio.Event().wait()
        return None

    def finish(self) -> None:
        pass

    def reset(self) -> None:
        pass


class FakeGuest:
    """Connector and connection in one: a guest that does what a test says."""

    def __init__(self, events: list[str]) -> None:
        self.lost = asyncio.Event()
        self.on_opened: Callable[[int, GuestStream], None] | None = None
        self.commands: list[list[str]] = []
        self.answers = True
        self.silent = False
        self.warmup: dict[str, Any] = {"type": "exit", "code": 0}
        self.warmup_output = b""
        self.warmup_never_ends = False
        self.on_warmup: Callable[[], None] = lambda: None
        self._events = events

    async def connect(self, path: Path) -> FakeGuest:
        return self

    async def greet(
        self, identity: Identity | None, *, resync: bool = False, timeout_s: float = 10.0
    ) -> Welcome:
        assert identity is None
        if self.silent:
            await asyncio.Event().wait()
        if not self.answers:
            raise GuestUnavailable("the guest never answered within 1 s")
        return Welcome(
            protocol=PROTOCOL, agent_version="9", kernel="6", boot_id="b", identity_confirmed=False
        )

    def open(self, port: GuestPort, message: dict[str, Any] | None = None) -> FakeStream:
        assert message is not None
        self.commands.append(message["argv"])
        if message["argv"] == ["true"]:
            return FakeStream([(FrameKind.CONTROL, b'{"type":"exit","code":0}')], False)
        self.on_warmup()
        if self.warmup_never_ends:
            return FakeStream([], True)
        output = [(int(FrameKind.STDERR), self.warmup_output)] if self.warmup_output else []
        end = (int(FrameKind.CONTROL), json.dumps(self.warmup).encode())
        return FakeStream([*output, end], False)

    async def call(self, message: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        self._events.append(message["op"])
        return {"type": "done"}

    def notify(self, message: dict[str, Any]) -> None:
        raise AssertionError("a bake waits for its answers")

    async def set_clock(self) -> None:
        raise AssertionError("a bake is greeted with the time")

    async def quiesce(self) -> None:
        self._events.append("quiesce")

    async def resume(self) -> None:
        raise AssertionError("a baked guest stays quiet")

    async def close(self) -> None:
        self._events.append("close")


class FakeIngredients:
    """Ingredients of a few bytes each, counted."""

    def __init__(self, data: Path) -> None:
        self._layout = Layout(data)
        self.made: list[str] = []
        self.root_content = b"root"

    async def kernel(self, on_line: OnLine) -> tuple[Kernel, bool]:
        folder = self._layout.kernel("6.1.0", "6.1.1-1")
        cached = self._made("kernel", folder / "vmlinuz", b"kernel")
        return Kernel("6.1.0", "6.1.1-1", folder), cached

    async def initramfs(self, kernel: Kernel) -> tuple[Path, bool]:
        path, _ = stored(self._layout.initramfs, b"initramfs")
        return path, True

    async def agent_disk(self, on_line: OnLine) -> tuple[Path, bool]:
        path, _ = stored(self._layout.agent_disk, b"agent disk")
        return path, True

    async def rootfs(self, request: BuildRequest, on_line: OnLine) -> tuple[Rootfs, bool]:
        on_line("I: unpacking")
        identity = self.root_content.hex()
        image = self._layout.cache / "rootfs" / f"{identity}.ext4"
        cached = self._made("rootfs", image, self.root_content * 1000)
        return Rootfs(image, identity), cached

    def _made(self, what: str, path: Path, content: bytes) -> bool:
        if path.exists():
            return True
        self.made.append(what)
        write(path, content)
        return False


class Bench:
    """A builder whose parts are fakes."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.driver = FakeDriver()
        self.guest = FakeGuest(self.driver.events)
        self.ingredients = FakeIngredients(data)
        self.store = TemplateStore(data)
        self.progress: list[tuple[str, str]] = []
        self.fail_at: tuple[str, str] | None = None

    def report(self, progress: BuildProgress) -> None:
        event = (progress.step, progress.state)
        self.progress.append(event)
        if event == self.fail_at:
            raise KeyboardInterrupt(f"a crash at {event}")

    async def build(self, name: str = "base", **fields: Any) -> TemplateFiles:
        machines = Machines(
            driver_for=lambda kernel, initramfs: self.driver,
            connector=self.guest,
            uid=UID,
            gid=UID,
        )
        request = BuildRequest(
            **{"name": name, "source": "dir:/tree", "memory_mib": MEMORY_MIB, **fields}
        )
        return await Builder(self.data, machines, self.report, self.ingredients).build(request)

    @property
    def leftovers(self) -> list[str]:
        work = self.data / "work"
        return sorted(os.listdir(work)) if work.exists() else []
