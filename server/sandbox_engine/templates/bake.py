"""Boots a template's guest once and freezes it; through ports only.

RAM is a file that the VMM maps shared, so stopping the guest is taking the snapshot.  The
VMM's user owns that file and the disk while it runs; afterwards, with the VMM gone, they
are root's and nobody's to write.  Both are reached by descriptors that were opened before,
so nothing a guest or its VMM did to its folder can lead root elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from msgspec import Struct
from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import EngineError, NoSpace
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.ports.guest import GuestConnection, GuestConnector, GuestPort, Welcome
from sandbox_engine.ports.vmm import Machine, MachineDriver, MachineSpec
from sandbox_engine.templates.digests import punch_zeros
from sandbox_engine.templates.layout import MEMORY, ROOTFS, VMSTATE
from sandbox_engine.templates.work import claimed, stale_folders
from sandbox_engine.wire.guest_status import error_of, parse

BOOT_TIMEOUT_S = 120.0
"""From start to the agent's answer; 3 s is usual under emulation, a loaded host needs more."""
WARMUP_TIMEOUT_S = 3600.0
LOW_SPACE_BYTES = 8 << 20
"""Free space below which the disk counts as full: the guest's own writes would soon hang."""
SMALL_MIB = 112
"""Kernel and agent take some 80 MiB: in less than this, a guest that fails may just be starved."""
KEPT_OUTPUT = 2000
_SPACE_CHECK_S = 0.5

OnLine = Callable[[str], None]


class BakeFailed(Exception):
    """The guest did not come to the point where it can be frozen; the message says why."""


class Guest(Struct, frozen=True, kw_only=True):
    """What to boot, and as whom."""

    name: str
    memory_mib: int
    vcpus: int
    kernel: Path
    initramfs: Path
    agent_disk: Path
    warmup: tuple[str, ...]
    volumes: bool = False
    uid: int
    gid: int


async def bake(
    guest: Guest,
    folder: Path,
    driver: MachineDriver,
    connector: GuestConnector,
    on_line: OnLine,
) -> Welcome:
    """Freeze a guest whose root disk is `folder`/rootfs.ext4; leaves the three files there.

    The channel is quiesced: the next greeting finds it silent and between frames.
    Raises `BakeFailed`, `NoSpace`, `OSError`.
    """
    with contextlib.ExitStack() as stack:
        disk = _lend(stack, folder / ROOTFS, os.O_RDWR, guest)
        memory = _lend(stack, folder / MEMORY, os.O_RDWR | os.O_CREAT | os.O_EXCL, guest)
        state = _lend(stack, folder / VMSTATE, os.O_RDWR | os.O_CREAT | os.O_EXCL, guest)
        # Reserved now: a full disk would later kill the VMM in the middle of a write.
        os.posix_fallocate(memory, 0, guest.memory_mib << 20)
        machine = await _launch(guest, folder, driver)
        try:
            async with _watched(machine, folder, guest.memory_mib):
                welcome = await _freeze(guest, machine, connector, state, on_line)
        finally:
            await asyncio.shield(machine.kill())
        for fd in (disk, memory, state):
            os.fchown(fd, 0, 0)
            os.fchmod(fd, 0o644)
        await asyncio.to_thread(punch_zeros, memory)
    return welcome


def _lend(stack: contextlib.ExitStack, path: Path, flags: int, guest: Guest) -> int:
    """Open a file and give it to the VMM's user."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    stack.callback(os.close, fd)
    os.fchmod(fd, 0o600)
    os.fchown(fd, guest.uid, guest.gid)
    return fd


async def _launch(guest: Guest, folder: Path, driver: MachineDriver) -> Machine:
    own = folder / guest.name
    own.mkdir(mode=0o700)
    os.chown(own, guest.uid, guest.gid)
    spec = MachineSpec(
        name=guest.name,
        directory=own,
        uid=guest.uid,
        gid=guest.gid,
        memory_mib=guest.memory_mib,
        vcpus=guest.vcpus,
        kernel=guest.kernel,
        initramfs=guest.initramfs,
        agent_disk=guest.agent_disk,
        disk=folder / ROOTFS,
        disk_format="raw",
        memory_file=folder / MEMORY,
        volume_disks=guest.volumes,
    )
    try:
        return await driver.launch(spec)
    except EngineError as error:
        raise BakeFailed(f"the VMM did not start: {error}") from error


@contextlib.asynccontextmanager
async def _watched(machine: Machine, folder: Path, memory_mib: int) -> AsyncIterator[None]:
    """End the body as soon as the machine does or the disk is full; say what went wrong."""
    try:
        async with asyncio.timeout(None) as deadline:
            watcher = spawn(_watch(machine, folder, deadline), name="watch a bake")
            try:
                yield
            finally:
                await cancel(watcher)
    except (EngineError, BakeFailed, TimeoutError) as error:
        if _is_full(folder):
            raise NoSpace("the host's disk was full while the guest ran") from error
        problem = str(error) or "the guest ended"
        if console := await machine.console_tail():
            problem = f"{problem}; its console ended with: {console}"
        if memory_mib <= SMALL_MIB:
            problem = f"{problem}; {memory_mib} MiB may be too little memory"
        raise BakeFailed(problem) from error


async def _watch(machine: Machine, folder: Path, deadline: asyncio.Timeout) -> None:
    while not machine.exited.is_set() and not _is_full(folder):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SPACE_CHECK_S):
                await machine.exited.wait()
    deadline.reschedule(asyncio.get_running_loop().time())


def _is_full(folder: Path) -> bool:
    space = os.statvfs(folder)
    return space.f_bavail * space.f_frsize < LOW_SPACE_BYTES


async def _freeze(
    guest: Guest, machine: Machine, connector: GuestConnector, state: int, on_line: OnLine
) -> Welcome:
    on_line("booting")
    await machine.start()
    link = await connector.connect(machine.channel_path)
    try:
        welcome = await link.greet(None, timeout_s=BOOT_TIMEOUT_S)
        if guest.warmup:
            on_line("warming up")
            await _warm_up(link, guest.warmup)
        # Once through the path of every later command, so that clones find it warm.
        await _run(link, ("true",))
        await link.call({"op": "sync"}, timeout_s=BOOT_TIMEOUT_S)
        on_line("saving")
        await link.quiesce()
        await machine.pause()
        await machine.save_state(state)
        return welcome
    finally:
        await link.close()


async def _warm_up(link: GuestConnection, argv: tuple[str, ...]) -> None:
    problem, output = await _run(link, argv)
    if problem:
        raise BakeFailed(f"the warm-up {problem}: {output or 'it printed nothing'}")


async def _run(link: GuestConnection, argv: tuple[str, ...]) -> tuple[str, str]:
    """Run a command to its end; what went wrong with it ("" if nothing), and its last output."""
    timeout_ms = int(WARMUP_TIMEOUT_S * 1000)
    stream = link.open(
        GuestPort.ENGINE, {"op": "exec", "argv": list(argv), "timeout_ms": timeout_ms}
    )
    output = b""
    try:
        while (received := await stream.receive()) is not None:
            kind, body = received
            if kind in (FrameKind.STDOUT, FrameKind.STDERR):
                output = (output + body)[-KEPT_OUTPUT:]
                continue
            message = parse(received)
            if message.get("type") == "error":
                return str(error_of(message)), ""
            if message.get("type") == "exit":
                return _problem(message), output.decode(errors="replace").strip()
    finally:
        stream.reset()
    return "ended without a status", output.decode(errors="replace").strip()


def _problem(message: dict[str, object]) -> str:
    if message.get("timed_out"):
        return f"ran longer than {WARMUP_TIMEOUT_S:g} s"
    if message.get("signal"):
        return f"was killed by signal {message['signal']}"
    return f"exited with {message['code']}" if message.get("code") else ""


async def sweep_work(work: Path, driver: MachineDriver) -> None:
    """End what builds that died left below `work`: their VMs first, then their folders."""
    for folder in stale_folders(work):
        with claimed(folder) as ours:
            if ours:
                await driver.sweep(set(), folder)
                shutil.rmtree(folder, ignore_errors=True)
