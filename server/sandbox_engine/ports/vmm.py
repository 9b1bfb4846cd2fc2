"""What the engine needs of a virtual machine monitor.

A driver turns a `MachineSpec` into a `Machine`: one VMM process that was started ahead
of time and waits.  `start()` is then the only step between a waiting process and a
running guest.  Every driver passes `tests/conformance/vmm`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from sandbox_engine.model.template import Platform as Platform  # noqa: PLC0414 - exported again
from sandbox_engine.model.volume import VOLUME_SERIALS as VOLUME_SERIALS  # noqa: PLC0414 - as well

WORKSPACE_DISK = "sandbox-workspace"
"""Serial number of the disk that waits for a session's workspace."""
WAITING_DISKS = (WORKSPACE_DISK,)
"""Serial numbers of the disks every machine has with nothing behind them, until
`Machine.attach_disk()`.  A guest sees each from boot on, so this tuple is part of what a
template is bound to (`vmm/qemu/argv.py` `LAYOUT`).
"""

SERIAL_BYTES = 20
"""Longest serial number of a virtio disk."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """Verified contents to restore: descriptors, so that no later change on disk matters.

    The descriptors stay the caller's; a driver duplicates what it needs.
    """

    memory_fd: int | None
    """A sealed memfd of the guest's RAM, mapped copy-on-write; None begins with zeros."""
    state_fd: int
    """The device state: a sealed memfd, or a file that only the engine writes."""


class MachineSpec(Struct, frozen=True, kw_only=True):
    """One machine to start."""

    name: str
    """Unique on the host, at most 32 of `[a-z0-9-]`; names the process and the cgroup."""
    directory: Path
    """Exists, is called `name`, belongs to `uid`; sockets and scratch files go here."""
    uid: int
    gid: int
    memory_mib: int
    vcpus: int
    kernel: Path
    initramfs: Path
    agent_disk: Path
    """Read-only."""
    disk: Path
    """The writable root disk: raw when `disk_format` is `raw`, else a qcow2 overlay."""
    disk_format: str
    disk_backing: Path | None = None
    """The raw image under a qcow2 overlay, read-only."""
    disk_layers: tuple[Path, ...] = ()
    """Frozen qcow2 overlays between the two, the lowest first, read-only."""
    memory_file: Path | None = None
    """Baking: RAM is this file, shared, so that what the guest writes is the template."""
    volume_disks: bool = False
    """Whether the disks of `VOLUME_SERIALS` wait in it too."""
    snapshot: Snapshot | None = None
    """Restoring: `start()` loads it.  None is a cold boot."""


class MachineStats(Struct, frozen=True, kw_only=True):
    """What the kernel counts of the VMM process."""

    rss_bytes: int
    page_faults: int  # minor and major


class MachineRef(Struct, frozen=True, kw_only=True):
    """Enough to find a machine again after the engine restarted (a pid alone is not)."""

    pid: int
    start_ticks: int  # field 22 of /proc/PID/stat
    name: str
    directory: str


class Machine(Protocol):
    """A VMM process and the guest in it.

    Every method raises `VmmError` when the process is gone or refuses; after that
    `kill()` still works.  Cancelling a call leaves the machine usable only for `kill()`.
    """

    @property
    def ref(self) -> MachineRef:
        """How to find this process again."""

    @property
    def channel_path(self) -> Path:
        """Unix socket of the guest channel; accepts one connection at a time."""

    def when_exited(self, callback: Callable[[], None]) -> None:
        """Call `callback` from the loop once the process is gone (soon, if it is already)."""

    @property
    def exited(self) -> asyncio.Event:
        """Set as soon as the process is gone, whoever ended it."""

    async def start(self) -> None:
        """Boot, or load the snapshot and run.  Once, on a machine that waits."""

    async def pause(self) -> None:
        """Stop the virtual CPUs.  Idempotent."""

    async def resume(self) -> None:
        """Run them again.  Idempotent."""

    async def save_state(self, fd: int) -> None:
        """Write device state, without RAM, to `fd`.  The machine is paused."""

    async def save_memory(self, fd: int) -> int:
        """Write to `fd` the pages that differ from the snapshot it began with; their bytes.

        The machine is paused.  Raises `NoSpace` too; the machine is as before.
        """

    async def load_memory(self, fd: int) -> None:
        """Put what `save_memory` wrote into a machine that waits, before `start()`."""

    async def freeze_disk(self, disk: Path) -> None:
        """From now on write to `disk`, an empty overlay that belongs to its user.

        What was written so far is under it and changes no more.  The machine is paused.
        """

    async def attach_disk(self, serial: str, fd: int) -> None:
        """Put this raw image behind a disk that waits (`WAITING_DISKS`, `VOLUME_SERIALS`).

        On a machine that runs or is about to; the guest then mounts it without noticing a new
        device.  A read-only disk shares the image with other readers, another one has it for
        itself.  One that holds an image already is an error, unless it is half attached, as an
        engine that died in this step leaves it.  The descriptor stays the caller's.
        """

    async def attached_disks(self) -> set[str]:
        """Serial numbers of the waiting disks that hold an image now."""

    async def detach_disk(self, serial: str) -> None:
        """Take the image away again: the disk waits as before.  Idempotent.

        Whatever the guest still does to it fails, so it is unmounted first.
        """

    async def attach_link(self, fd: int) -> None:
        """Connect the network interface that waits to this tap.

        Once, on a machine that runs or is about to.  The descriptor stays the caller's.
        """

    async def kill(self) -> None:
        """End the process and wait until it is gone.  Never raises; idempotent."""

    def stats(self) -> MachineStats:
        """Resident memory and faults now; zeros once the process is gone."""

    async def console_tail(self) -> str:
        """The end of what the guest printed on its console, for error messages.  Never raises."""


class MachineDriver(Protocol):
    """Starts machines of one kind of VMM."""

    @property
    def platform(self) -> Platform:
        """What snapshots made by this driver are bound to."""

    @property
    def accel(self) -> str:
        """`kvm` or `tcg`, decided by a probe and never assumed."""

    async def launch(self, spec: MachineSpec) -> Machine:
        """Start a VMM process that waits.  On a raise nothing of it is left."""

    async def adopt(self, ref: MachineRef) -> Machine | None:
        """Take over a machine launched by an earlier engine; None if it is gone."""

    async def sweep(self, keep: set[str], root: Path) -> list[str]:
        """Kill machines whose directory is under `root` and whose name is not in `keep`.

        What is left on the host of those that ended unwatched goes too, found by their
        directories right below `root`.
        """
