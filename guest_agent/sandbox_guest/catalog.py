"""Catalog volumes: disks that waited since boot, mounted and shown under the volumes' names.

The engine puts an image behind a waiting disk and says here which volume that is.  The disk's
own serial number cannot change, so `/sys/block/*/serial` is covered with the volume's name,
by which clients find the device.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from sandbox_guest import volume
from sandbox_guest.linux import MS_BIND, MS_NODEV, MS_NOSUID, MS_RDONLY, mount, unmount

_shown: dict[str, str] = {}
"""Names that are shown, by disk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A volume on its disk."""

    disk: str
    """Serial number of the disk that waited."""
    name: str
    mount: str = ""
    """Empty where it is attached only."""
    writable: bool = False


def take(disk: Disk, state: str) -> None:
    """Mount the volume and show its name.  Again is nothing.  Raises `OSError`."""
    if disk.mount:
        device = volume.find(disk.disk)
        if not volume.holds(disk.mount, device):
            _mount(disk, device)
    else:
        _renew(disk.disk)
    _show(disk, state)


def give_back(disk: Disk) -> None:
    """Unmount it and show its name no more.  Again is nothing.  Raises `OSError` (EBUSY too)."""
    device = volume.find(disk.disk)
    if disk.mount and volume.holds(disk.mount, device):
        unmount(disk.mount)
    if _shown.pop(disk.disk, None):
        with contextlib.suppress(OSError):
            unmount(_serial(device))
    volume.forget_pages(device)


def _mount(disk: Disk, device: str) -> None:
    volume.forget_pages(device)
    Path(disk.mount).mkdir(parents=True, exist_ok=True)
    flags = MS_NOSUID | MS_NODEV | (0 if disk.writable else MS_RDONLY)
    options = "discard,errors=remount-ro" if disk.writable else ""
    mount(device, disk.mount, "ext4", flags, options)


def _renew(serial: str) -> None:
    """Have the driver look at the disk anew: it learns the image's size.

    Who mounts a filesystem learns its size from that; who gets the bare device does not.
    """
    device = Path("/sys/block", Path(volume.find(serial)).name, "device").resolve()
    driver = (device / "driver").resolve()
    (driver / "unbind").write_text(device.name)
    (driver / "bind").write_text(device.name)
    (block,) = (device / "block").iterdir()
    volume.moved(serial, f"/dev/{block.name}")


def _show(disk: Disk, state: str) -> None:
    if _shown.get(disk.disk) == disk.name:  # kept here: the file is a question to the VMM
        return
    target = _serial(volume.find(disk.disk))
    folder = Path(state, "volumes")
    folder.mkdir(exist_ok=True)
    (folder / disk.name).write_text(disk.name)
    mount(f"{folder}/{disk.name}", target, "", MS_BIND)
    _shown[disk.disk] = disk.name


def _serial(device: str) -> str:
    return os.path.realpath(f"/sys/block/{Path(device).name}/serial")
