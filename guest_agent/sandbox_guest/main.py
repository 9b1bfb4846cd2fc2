"""The agent, in reading order: boot, parts, channel, serve for ever."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import time

from sandbox_guest import boot, catalog, interface, volume
from sandbox_guest.agent import Agent
from sandbox_guest.cgroups import Cgroups
from sandbox_guest.channel import Channel
from sandbox_guest.greeting import Guest
from sandbox_guest.identity import Identity
from sandbox_guest.link import Link, find_port
from sandbox_guest.metadata import Metadata
from sandbox_guest.ops.server import EngineServer
from sandbox_guest.places import Places
from sandbox_guest.process import Launcher
from sandbox_guest.reaper import Reaper
from sandbox_guest.shells import Shells
from sandbox_guest.silkd.server import ClientServer
from sandbox_guest.spawn import Spawner
from sandbox_guest.table import Table
from sandbox_guest.variables import Variables
from sandbox_guest.worker import Workers

PORT_NAME = "agent"
CLIENT_PORT = 1
ENGINE_PORT = 2
_PORT_POLL_S = 0.005


def pid_1(places: Places) -> None:
    """Be the guest's init; never returns."""
    boot.boot(places)
    interface.unbind()
    Identity(places).prepare()
    boot.hide_boot_id(places)
    with contextlib.suppress(OSError):  # known before any clone asks
        volume.find(volume.WORKSPACE_DISK)
    catalog.prepare(places.state)
    asyncio.run(serve(places, _open_port()))


async def serve(places: Places, fd: int) -> None:
    """Serve the channel on `fd` until cancelled.  The guest is up and its state prepared."""
    cgroups = Cgroups(places.cgroups)
    cgroups.start()
    reaper = Reaper()
    reaper.start()
    variables = Variables()
    launcher = Launcher(places, Spawner(places.library), reaper, cgroups, variables)
    agent = Agent(
        places=places,
        cgroups=cgroups,
        variables=variables,
        launcher=launcher,
        identity=Identity(places),
        metadata=Metadata(places),
        table=Table(launcher),
        shells=Shells(launcher),
        workers=Workers(reaper, cgroups),
    )
    accept = {CLIENT_PORT: ClientServer(agent).accept, ENGINE_PORT: EngineServer(agent).accept}
    channel = Channel(Link(fd), Guest(agent), accept)
    agent.doors.channel = channel
    channel.start()
    await agent.metadata.start()
    _settle_memory()
    await asyncio.get_running_loop().create_future()


def _open_port() -> int:
    """The channel's port; its device appears a moment after the driver is loaded."""
    while (path := find_port(PORT_NAME)) is None:
        time.sleep(_PORT_POLL_S)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)


def _settle_memory() -> None:
    """What is loaded now stays: the collector need not walk it in every clone."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
