"""Disks that wait in a machine: an image is put behind one, and taken away again.

A waiting disk is a `raw` node over one that holds nothing (`argv.waiting_disk`).  A reopen
puts the node of an image there: the guest sees the same device, with content now.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Any

from sandbox_engine.errors import VmmError
from sandbox_engine.ports.vmm import VOLUME_SERIALS, WAITING_DISKS
from sandbox_engine.vmm.qemu import argv
from sandbox_engine.vmm.qemu.monitor import Monitor

FDSET = "/dev/fdset/"
FDSETS = 1 << 20
"""Sets of descriptors that are numbered here begin at this; QEMU itself counts from 0."""
_WAITING = {*WAITING_DISKS, *VOLUME_SERIALS}


async def attach(monitor: Monitor, serial: str, fd: int) -> None:
    """See `ports.vmm.Machine.attach_disk`."""
    try:
        await _swap_in(monitor, serial, fd)
    except VmmError:
        if serial in await attached(monitor):
            raise
        await detach(monitor, serial)  # what an engine that died here left of the node
        await _swap_in(monitor, serial, fd)


async def _swap_in(monitor: Monitor, serial: str, fd: int) -> None:
    number = FDSETS + secrets.randbelow(FDSETS)
    image, access = _image(serial), _access(serial)
    file = {"driver": "file", "node-name": image, "filename": f"{FDSET}{number}"}
    await _in_order(
        monitor,
        ("add-fd", fd, {"fdset-id": number}),
        ("blockdev-add", None, file | access),
        # The node has its own copy; this one would keep the image's lock when that is gone.
        ("remove-fd", None, {"fdset-id": number}),
        ("blockdev-reopen", None, {"options": [_disk(serial, image)]}),
    )


async def detach(monitor: Monitor, serial: str) -> None:
    """See `ports.vmm.Machine.detach_disk`."""
    image = _image(serial)
    if not any(node["node-name"] == image for node in await _nodes(monitor)):
        return
    await _in_order(
        monitor,
        ("blockdev-reopen", None, {"options": [_disk(serial, argv.nothing_behind(serial))]}),
        ("blockdev-del", None, {"node-name": image}),
    )


async def attached(monitor: Monitor) -> set[str]:
    """See `ports.vmm.Machine.attached_disks`."""
    return {
        node["node-name"]
        for node in await _nodes(monitor)
        if node["node-name"] in _WAITING and node["file"].startswith(FDSET)
    }


async def _nodes(monitor: Monitor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = await monitor.execute("query-named-block-nodes", flat=True)
    return found


async def _in_order(monitor: Monitor, *commands: tuple[str, int | None, dict[str, Any]]) -> None:
    """Send all of them at once: a round trip for each would cost as much again.

    QEMU goes through them in order, also where one fails.  Raises the first failure.
    """
    sent = [monitor.send(name, fd, words) for name, fd, words in commands]
    for result in await asyncio.gather(*sent, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _image(serial: str) -> str:
    return f"{serial}-file"


def _disk(serial: str, behind: str) -> dict[str, Any]:
    disk: dict[str, Any] = {"driver": "raw", "node-name": serial, "file": behind}
    return disk | _access(serial)


def _access(serial: str) -> dict[str, Any]:
    return {"read-only": True} if argv.is_read_only(serial) else {"discard": "unmap"}
