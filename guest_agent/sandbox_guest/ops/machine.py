"""`info`, `ping`, `sync`, `clock`, `configure`: the machine itself."""

from __future__ import annotations

import asyncio
import os
import time

import sandbox_guest
from sandbox_guest import catalog, fields, volume
from sandbox_guest.agent import Agent
from sandbox_guest.doors import PORTS
from sandbox_guest.framing import Control
from sandbox_guest.identity import set_clock
from sandbox_guest.interface import set_interface
from sandbox_guest.metadata import MAX_DOCUMENT
from sandbox_guest.stream import Stream
from sandbox_guest.trust import set_trust
from sandbox_guest.variables import LANES

DONE: Control = {"type": "done"}


def ping(_agent: Agent, _stream: Stream, _request: Control) -> Control:
    """Answer."""
    return {"type": "pong"}


def info(agent: Agent, _stream: Stream, _request: Control) -> Control:
    """What this guest is."""
    system = os.uname()
    return {
        "type": "info",
        "agent_version": sandbox_guest.__version__,
        "kernel": system.release,
        "hostname": system.nodename,
        "boot_id": agent.identity.boot_id,
        "uptime_ms": round(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000),
        "clock_ns": time.time_ns(),
    }


async def sync(_agent: Agent, _stream: Stream, _request: Control) -> Control:
    """Write out every filesystem.  In a thread: the loop goes on meanwhile."""
    await asyncio.to_thread(os.sync)
    return DONE


def clock(_agent: Agent, _stream: Stream, request: Control) -> Control:
    """Step the wall clock to `clock_ns`."""
    clock_ns = fields.number(request, "clock_ns", 0)
    if not clock_ns:
        raise fields.refuse("clock_ns", "is missing")
    set_clock(clock_ns)
    return DONE


def configure(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Replace what is named: `env`, the sandbox's own variables, `lane`, its network, `doors`,
    the names of those to the host's proxy that are open, `interface`, its network card:
    `{"address", "mask", "mac"}`, or `{}` for none, `trust`, certificates of roots besides the
    system's, and `workspace`, the volume there: `{"serial"}` of its disk, or `{}` for none.
    """
    variables = fields.variables(request, "env")
    if variables is not None:
        agent.variables.set_own(variables)
    lane = fields.text(request, "lane")
    if lane is not None:
        if lane not in LANES:
            raise fields.refuse("lane", f"must be one of {', '.join(LANES)}")
        agent.variables.set_lane(lane)
    doors = fields.optional(request, "doors", list)
    if doors is not None:
        _set_doors(agent, doors)
    interface = fields.optional(request, "interface", dict)
    if interface is not None:
        _set_interface(agent, interface)
    trust = fields.text(request, "trust")
    if trust is not None:
        set_trust(agent.places, trust)
    workspace = fields.optional(request, "workspace", dict)
    if workspace is not None:
        _set_volume(agent, fields.text(workspace, "serial"))
    return DONE


def _set_doors(agent: Agent, names: list[str]) -> None:
    if unknown := [name for name in names if name not in PORTS]:
        raise fields.refuse("doors", f"{unknown[0]!r} is none of {', '.join(PORTS)}")
    try:
        agent.doors.set(names)
    except OSError as error:
        raise fields.refuse("doors", f"cannot be opened: {error}") from error


def _set_interface(agent: Agent, wanted: Control) -> None:
    try:
        set_interface(agent.interface, wanted)
    except (OSError, KeyError, ValueError) as error:
        raise fields.refuse("interface", f"cannot be set: {error}") from error


def metadata(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Replace the instance metadata by `document`; says whether it is served at all."""
    document = fields.required_text(request, "document")
    if len(document.encode()) > MAX_DOCUMENT:
        raise fields.refuse("document", f"is over {MAX_DOCUMENT} bytes")
    if agent.metadata.served:
        agent.metadata.put(document)
    return {"type": "done", "served": agent.metadata.served}


def mount_volumes(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Take catalog volumes, `{disk, name, mount, writable}` each, as `catalog.take` does.

    Not in a thread, as in `_set_volume`.
    """
    for disk in _disks(request):
        catalog.take(disk, agent.places.state)
    return DONE


def unmount_volumes(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Give catalog volumes back; `end` ends the workload first, else what is used is an error."""
    disks = _disks(request)
    if fields.flag(request, "end"):
        volume.detach(agent.cgroups, *(disk.mount for disk in disks if disk.mount))
        return DONE
    for disk in disks:
        catalog.give_back(disk, agent.places.state)
    return DONE


def _disks(request: Control) -> list[catalog.Disk]:
    return [
        catalog.Disk(
            disk=fields.required_text(each, "disk"),
            name=fields.required_text(each, "name"),
            mount=fields.text(each, "mount") or "",
            writable=fields.flag(each, "writable"),
        )
        for each in fields.optional(request, "volumes", list) or []
    ]


def _set_volume(agent: Agent, serial: str | None) -> None:
    """Not in a thread: a clone's first one costs ten times what mounting does, and nothing else
    runs yet, or any more.  The engine hands over no volume whose journal must be played back.
    """
    if serial is None:
        volume.detach(agent.cgroups, agent.places.workspace)
    else:
        volume.attach(serial, agent.places.workspace)
