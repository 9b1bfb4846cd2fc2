"""`info`, `ping`, `sync`, `clock`, `configure`: the machine itself."""

from __future__ import annotations

import asyncio
import os
import time

import sandbox_guest
from sandbox_guest import fields
from sandbox_guest.agent import Agent
from sandbox_guest.framing import Control
from sandbox_guest.identity import set_clock
from sandbox_guest.stream import Stream
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
    """Replace what is named: `env`, the sandbox's own variables, and `lane`, its network."""
    variables = fields.variables(request, "env")
    if variables is not None:
        agent.variables.set_own(variables)
    lane = fields.text(request, "lane")
    if lane is not None:
        if lane not in LANES:
            raise fields.refuse("lane", f"must be one of {', '.join(LANES)}")
        agent.variables.set_lane(lane)
    return DONE
