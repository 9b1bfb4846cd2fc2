"""Catalog volumes: disks that waited since boot, mounted and shown under the volumes' names.

The engine puts an image behind a waiting disk and says here which volume that is.  The disk's
own serial number cannot change, so `/sys/block/*/serial` is covered, from boot on, with a file
that holds the volume's name, by which clients find the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox_guest import volume
from sandbox_guest.linux import MS_BIND, MS_NODEV, MS_NOSUID, MS_RDONLY, mount, unmount

PREFIX = "volume-"
"""How the serial numbers of these disks begin."""
MOUNTS = "/volumes"
"""Where they are mounted that are not asked for elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A volume on its disk."""

    disk: str
    """Serial number of the disk that waited."""
    name: str
    mount: str = ""
    """Empty where it is attached only."""
    writable: bool = False


def prepare(state: str) -> None:
    """Cover the serial numbers, once.  Nothing in a guest without such disks."""
    disks = volume.beginning(PREFIX)
    if disks:
        Path(state, "volumes").mkdir(exist_ok=True)
        Path(MOUNTS).mkdir(exist_ok=True)
    for serial in disks:
        _write(serial, serial, state)
        _cover(serial, state)


def take(disk: Disk, state: str) -> None:
    """Mount the volume and show its name.  Again is nothing.  Raises `OSError`."""
    if disk.mount:
        device = volume.find(disk.disk)
        if not volume.holds(disk.mount, device):
            _mount(disk, device)
    else:
        _renew(disk.disk)
        _cover(disk.disk, state)
    _write(disk.disk, disk.name, state)


def give_back(disk: Disk, state: str) -> None:
    """Unmount it and show its name no more.  Again is nothing.  Raises `OSError` (EBUSY too)."""
    device = volume.find(disk.disk)
    if disk.mount and volume.holds(disk.mount, device):
        unmount(disk.mount)
    _write(disk.disk, disk.disk, state)
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


def _write(serial: str, text: str, state: str) -> None:
    Path(state, "volumes", serial).write_text(text)


def _cover(serial: str, state: str) -> None:
    target = f"/sys/block/{Path(volume.find(serial)).name}/serial"
    mount(f"{state}/volumes/{serial}", target, "", MS_BIND)
