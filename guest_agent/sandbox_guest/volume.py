"""The session's volume: mounted over /workspace, and taken off again clean.

The workspace is a mount of its own from boot on; the volume is a second one over it, so
what was there before shows again once the volume is gone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from pathlib import Path

from sandbox_guest.cgroups import Cgroups
from sandbox_guest.linux import MS_NODEV, MS_NOSUID, mount, unmount

OPTIONS = "noinit_itable,discard,errors=remount-ro"
"""Inode tables are holes of a sparse file: nobody needs to write zeros there."""
WORKSPACE_DISK = "sandbox-workspace"
"""Serial number of the disk that waits for a session's volume."""
BUSY_S = 2.0
"""How long processes that were killed may take to let go of it."""
_TRY_S = 0.005
_devices: dict[str, str] = {}
"""By serial number."""


def find(serial: str, devices: Path = Path("/sys/block")) -> str:
    """The block device of this serial number.  Raises `OSError` where there is none.

    Disks are there from boot on, so the answers are kept: each question goes to the VMM, which
    takes milliseconds.
    """
    if serial not in _devices:
        for entry in sorted(devices.iterdir()):
            with contextlib.suppress(OSError):
                _devices[(entry / "serial").read_text().strip()] = f"/dev/{entry.name}"
    if serial not in _devices:
        raise OSError(errno.ENODEV, f"no disk has the serial number {serial!r}")
    return _devices[serial]


def beginning(prefix: str) -> list[str]:
    """Serial numbers that begin so, of disks that were found."""
    return sorted(serial for serial in _devices if serial.startswith(prefix))


def moved(serial: str, device: str) -> None:
    """The disk of this serial number is another device now."""
    _devices[serial] = device


def attach(serial: str, target: str) -> None:
    """Mount the disk of this serial number on `target`.  Raises `OSError`."""
    device = find(serial)
    if holds(target, device):  # the engine that asked first did not live to hear the answer
        return
    forget_pages(device)
    mount(device, target, "ext4", MS_NOSUID | MS_NODEV, OPTIONS)
    lost_and_found = Path(target, "lost+found")
    if lost_and_found.is_dir() and not any(lost_and_found.iterdir()):
        lost_and_found.rmdir()  # a fresh volume is an empty folder


def detach(cgroups: Cgroups, *targets: str) -> None:
    """End the workload and unmount what is mounted there.

    Raises `OSError` where something still holds on.
    """
    cgroups.kill_all()
    deadline = time.monotonic() + BUSY_S
    for target in targets:
        while True:
            try:
                unmount(target)
                break
            except OSError as error:
                if error.errno == errno.EINVAL:  # not mounted: the guest was quicker
                    break
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    os.sync()
                    raise
            time.sleep(_TRY_S)


def holds(target: str, device: str) -> bool:
    """Whether `device` is what is mounted on `target`."""
    try:
        return Path(target).stat().st_dev == Path(device).stat().st_rdev
    except OSError:
        return False


def forget_pages(device: str) -> None:
    """What the kernel read of a disk before this volume was behind it means nothing."""
    fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
