"""Hosts to run machines on, one real and one made up, asked the same by the suites beside this.

What a test may not know of a driver (how its process dies, how an engine lets go of it) is
said here once for each.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import signal
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, Protocol

from sandbox_engine.guest.channel import Channel, Connector
from sandbox_engine.ports.guest import GuestPort, Identity
from sandbox_engine.ports.vmm import Machine, MachineDriver, MachineRef, MachineSpec, Snapshot
from sandbox_engine.vmm.qemu.driver import QemuDriver, QemuMachine
from sandbox_engine.wire.guest_status import error_of, parse
from sandbox_guest.framing import FrameKind

from tests.fakes.vmm import FakeDriver, FakeMachine
from tests.support.workshop import Workshop

UID = 730_000
TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002
ANSWER_S = 60.0


class Bench(Protocol):
    """A host, and a driver on it."""

    root: Path
    """Below it are the folders of its machines."""
    driver: MachineDriver

    def spec(self, name: str, **changes: Any) -> MachineSpec:
        """A clone of a template, its folder made."""

    def disk(self, name: str, file: str) -> Path:
        """An empty disk in the folder of a machine."""

    def template_memory(self) -> int:
        """The memory that clones begin with."""

    def tap(self) -> IO[bytes]:
        """What an interface can be connected to; it goes when it is closed."""

    def successor(self) -> MachineDriver:
        """The driver of an engine that starts while the machines run on."""

    def forget(self, machine: Machine) -> None:
        """The engine that held it is no more."""

    def crash(self, ref: MachineRef) -> None:
        """The VMM dies by itself."""


class Real:
    """QEMU."""

    def __init__(self, workshop: Workshop) -> None:
        self._shop = workshop
        self.root = workshop.factory.root
        self.driver: MachineDriver = workshop.driver

    def spec(self, name: str, **changes: Any) -> MachineSpec:
        template, folder = self._shop.template, self.root / name
        folder.mkdir(mode=0o700)
        os.chown(folder, UID, UID)
        fields: dict[str, Any] = {
            "name": name,
            "directory": folder,
            "uid": UID,
            "gid": UID,
            "memory_mib": template.manifest.memory_mib,
            "vcpus": template.manifest.vcpus,
            "kernel": template.kernel,
            "initramfs": template.initramfs,
            "agent_disk": template.agent_disk,
            "disk": self.disk(name, "disk.qcow2"),
            "disk_format": "qcow2",
            "disk_backing": template.rootfs,
            "snapshot": template.snapshot,
        }
        return MachineSpec(**fields | changes)

    def disk(self, name: str, file: str) -> Path:
        path = self.root / name / file
        shutil.copyfile(self._shop.template.overlay, path)
        os.chown(path, UID, UID)
        return path

    def template_memory(self) -> int:
        memory = self._shop.template.snapshot.memory_fd
        assert memory is not None
        return memory

    def tap(self) -> IO[bytes]:
        made = Path("/dev/net/tun").open("r+b", buffering=0)  # noqa: SIM115 - the caller closes it
        fcntl.ioctl(made, TUNSETIFF, struct.pack("16sH22x", b"sbxtest%d", IFF_TAP_NO_PI))
        return made

    def successor(self) -> MachineDriver:
        return QemuDriver(self._shop.launcher, "tcg")

    def forget(self, machine: Machine) -> None:
        assert isinstance(machine, QemuMachine)
        assert machine._monitor is not None
        machine._monitor.close()

    def crash(self, ref: MachineRef) -> None:
        os.kill(ref.pid, signal.SIGKILL)


class MadeUp:
    """The fake."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vms"
        self.root.mkdir()
        self._files = {name: folder / name for name in ("kernel", "initramfs", "agent", "state")}
        for path in self._files.values():
            path.touch()
        self._state = self._files["state"].open("rb")
        self._driver = FakeDriver()
        self.driver: MachineDriver = self._driver

    def spec(self, name: str, **changes: Any) -> MachineSpec:
        (self.root / name).mkdir()
        fields: dict[str, Any] = {
            "name": name,
            "directory": self.root / name,
            "uid": UID,
            "gid": UID,
            "memory_mib": 256,
            "vcpus": 1,
            "kernel": self._files["kernel"],
            "initramfs": self._files["initramfs"],
            "agent_disk": self._files["agent"],
            "disk": self.disk(name, "disk.qcow2"),
            "disk_format": "qcow2",
            "snapshot": Snapshot(memory_fd=self.template_memory(), state_fd=self.template_memory()),
        }
        return MachineSpec(**fields | changes)

    def disk(self, name: str, file: str) -> Path:
        path = self.root / name / file
        path.touch()
        return path

    def template_memory(self) -> int:
        return self._state.fileno()

    def tap(self) -> IO[bytes]:
        return tempfile.TemporaryFile()

    def successor(self) -> MachineDriver:
        return FakeDriver(self._driver.host)

    def forget(self, machine: Machine) -> None:
        assert isinstance(machine, FakeMachine)
        machine.process.forget_watchers()

    def crash(self, ref: MachineRef) -> None:
        self._driver.host.processes[ref.pid].die()

    def close(self) -> None:
        self._state.close()


@asynccontextmanager
async def launched(bench: Bench, name: str, **changes: Any) -> AsyncIterator[Machine]:
    """A machine that waits; it and its folder are gone at the end."""
    spec = bench.spec(name, **changes)
    try:
        machine = await bench.driver.launch(spec)
        try:
            yield machine
        finally:
            await machine.kill()
    finally:
        shutil.rmtree(spec.directory, ignore_errors=True)


@asynccontextmanager
async def started(bench: Bench, name: str, **changes: Any) -> AsyncIterator[Machine]:
    """One that runs."""
    async with launched(bench, name, **changes) as machine:
        await machine.start()
        yield machine


@asynccontextmanager
async def greeted(machine: Machine, *, resync: bool = False) -> AsyncIterator[Channel]:
    """A channel to its guest, who is somebody by now."""
    channel = await Connector().connect(machine.channel_path)
    try:
        identity = None if resync else identity_of({})
        await channel.greet(identity, resync=resync, timeout_s=ANSWER_S)
        yield channel
    finally:
        await channel.close()


def identity_of(env: dict[str, str]) -> Identity:
    """Another one each time."""
    return Identity(
        machine_id=os.urandom(16).hex(),
        hostname="conformance",
        generation=os.urandom(8).hex(),
        entropy=os.urandom(64),
        env=env,
    )


async def printed(channel: Channel, *argv: str) -> bytes:
    """What a command prints; an `EngineError` where it could not be run."""
    stream = channel.open(GuestPort.ENGINE, {"op": "exec", "argv": list(argv)})
    output = b""
    while (received := await stream.receive()) is not None:
        if received[0] == FrameKind.STDOUT:
            output += received[1]
        elif (message := parse(received)).get("type") == "error":
            raise error_of(message)
    return output


async def soon(event: asyncio.Event) -> None:
    """Wait for what must happen; the suite's own limit ends a wait for what does not."""
    await event.wait()
