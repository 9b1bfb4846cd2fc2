"""The session's volume: mounted over /workspace, and taken off again clean.

The workspace is a mount of its own from boot on; the volume is a second one over it, so
what was there before shows again once the volume is gone.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import time
from pathlib import Path

from sandbox_guest.cgroups import Cgroups
from sandbox_guest.linux import MS_NODEV, MS_NOSUID, MS_RDONLY, mount, unmount

OPTIONS = "noinit_itable,discard,errors=remount-ro"
"""Inode tables are holes of a sparse file: nobody needs to write zeros there."""
WORKSPACE_DISK = "sandbox-workspace"
"""Serial number of the disk that waits for a session's volume."""
BUSY_S = 2.0
"""How long processes that were killed may take to let go of it."""
SETTLE_S = 2.0
"""How long a disk may take to appear (seed "volumes")."""
_TRY_S = 0.005


@functools.lru_cache
def find(serial: str, devices: Path = Path("/sys/block")) -> str:
    """The block device of this serial number.  Raises `OSError` where there is none.

    Disks that are there from boot on keep their names, so the answer is kept too; each
    question goes to the VMM, which takes milliseconds.
    """
    for entry in sorted(devices.iterdir()):
        try:
            found = (entry / "serial").read_text().strip()
        except OSError:
            continue
        if found == serial:
            return f"/dev/{entry.name}"
    raise OSError(errno.ENODEV, f"no disk has the serial number {serial!r}")


def attach(serial: str, target: str) -> None:
    """Mount the disk of this serial number on `target`.  Raises `OSError`."""
    device = find(serial)
    _forget_pages(device)
    mount(device, target, "ext4", MS_NOSUID | MS_NODEV, OPTIONS)
    lost_and_found = Path(target, "lost+found")
    if lost_and_found.is_dir() and not any(lost_and_found.iterdir()):
        lost_and_found.rmdir()  # a fresh volume is an empty folder


async def mount_plugged(serial: str, target: str, *, writable: bool) -> None:
    """Mount a disk that was plugged in just now.  Raises `OSError`."""
    device = await settled(serial)
    Path(target).mkdir(parents=True, exist_ok=True)
    flags = MS_NOSUID | MS_NODEV | (0 if writable else MS_RDONLY)
    mount(device, target, "ext4", flags, "discard,errors=remount-ro" if writable else "")


async def settled(serial: str) -> str:
    """The device of this serial number, once the kernel has made its node.  Raises `OSError`."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        try:
            device = find(serial)
            if Path(device).is_block_device():
                return device
        except OSError:
            if time.monotonic() > deadline:
                raise
        await asyncio.sleep(_TRY_S)


def detach(target: str, cgroups: Cgroups) -> None:
    """End the workload and unmount.  Raises `OSError` where something still holds on."""
    cgroups.kill_all()
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            unmount(target)
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                os.sync()
                raise
        time.sleep(_TRY_S)


def _forget_pages(device: str) -> None:
    """What the kernel read of the disk before this volume was behind it means nothing."""
    fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
