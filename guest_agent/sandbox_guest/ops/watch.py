"""`watch`: what changes below a path of the workspace, live."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from sandbox_guest import fields
from sandbox_guest.agent import Agent
from sandbox_guest.framing import Control
from sandbox_guest.inotify import Overflow, Watch
from sandbox_guest.ops.errors import OpError, Status
from sandbox_guest.ops.paths import folder_of
from sandbox_guest.stream import Stream


async def watch(agent: Agent, stream: Stream, request: Control) -> Control:
    """`ready` once armed, then a `change` each, until the host ends the stream.

    Nothing after `ready` is missed: when the kernel's queue ran over, that is an error.
    """
    told = fields.required_text(request, "path")
    with folder_of(agent, request) as (folder, path):
        held = folder.open(path, os.O_PATH)
        try:
            real = str(Path(f"/proc/self/fd/{held}").readlink())
        finally:
            os.close(held)
    armed = Watch(real, recursive=fields.flag(request, "recursive"))
    wake = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(armed.fd, wake.set)
    try:
        stream.send({"type": "ready"})
        while True:
            await wake.wait()
            wake.clear()
            await _report(stream, armed, real, told.rstrip("/"))
    except Overflow:
        raise OpError(Status.IO, "changes were lost; watch again") from None
    finally:
        loop.remove_reader(armed.fd)
        armed.close()


async def _report(stream: Stream, armed: Watch, real: str, told: str) -> None:
    """Paths as the caller knows them, whatever links led there."""
    last = None
    for change in armed.changes():
        if change != last:  # a file written in pieces is one change in a burst
            last = change
            await stream.drain()
            kind, path = change
            stream.send({"type": "change", "kind": kind, "path": told + path[len(real) :]})
