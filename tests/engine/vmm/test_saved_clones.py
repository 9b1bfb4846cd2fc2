"""A clone's memory and disk at one moment, put into other machines."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sandbox_engine.ports.guest import GuestPort
from sandbox_engine.services.vms import DISK, State, Vm, new_disk, same_identity
from sandbox_engine.storage.snapshots import DirectoryStore
from sandbox_engine.templates.pins import Pins
from sandbox_guest.framing import FrameKind

from tests.support.workshop import Workshop

pytestmark = pytest.mark.vm


BEAT = "while :; do date +%s.%N > /run/b; mv /run/b /run/beat; sleep 0.1; done"


async def run(vm: Vm, script: str, *, detach: bool = False) -> str:
    call = {"op": "exec", "argv": ["sh", "-c", script], "detach": detach}
    stream = vm.channel.open(GuestPort.ENGINE, call)
    output = b""
    while (received := await stream.receive()) is not None:
        if received[0] in (FrameKind.STDOUT, FrameKind.STDERR):
            output += received[1]
    return output.decode().strip()


@asynccontextmanager
async def clone(shop: Workshop, state: State | None = None, of: str = "") -> AsyncIterator[Vm]:
    vm = await shop.factory.prepare(shop.template, state=state, sandbox_id=of)
    await shop.factory.bring_up(vm, same_identity({}) if of else None)
    try:
        yield vm
    finally:
        await shop.factory.destroy(vm)


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return DirectoryStore(tmp_path / "snapshots", Pins(tmp_path / "pins"))


async def test_a_moment_of_a_running_clone_goes_on_elsewhere(
    workshop: Workshop, store: DirectoryStore
) -> None:
    async with clone(workshop) as parent:
        await run(parent, "echo tmpfs > /run/mark; echo v1 > /root/mark; sync")
        machine_id = await run(parent, "cat /etc/machine-id")
        await run(parent, BEAT, detach=True)
        files = store.draft()
        store.add_layer("one", Path(parent.machine.ref.directory) / DISK)
        disk = new_disk(parent, workshop.template, "disk-1.qcow2")
        await parent.channel.quiesce()
        await parent.machine.pause()
        await parent.machine.save_state(files.state_fd)
        saved = await parent.machine.save_memory(files.memory_fd)
        await parent.machine.freeze_disk(disk)
        await parent.machine.resume()
        await parent.channel.resume()
        store.seal_layer("one")
        assert saved < 64 << 20, "pages of the template were written"
        frozen = store.layer("one").stat().st_mtime_ns
        assert await run(parent, "cat /root/mark; echo v2 > /root/mark; sync") == "v1"
        state = State(layers=(store.layer("one"),), files=files)
        async with clone(workshop, state) as fork:
            seen = await run(fork, "cat /run/mark /root/mark; echo child > /root/mark; sync")
            assert seen == "tmpfs\nv1"
            assert await run(fork, "cat /etc/machine-id") != machine_id
        async with clone(workshop, state, of="sb_" + "0" * 20) as woken:
            assert await run(woken, "cat /root/mark /etc/machine-id") == f"v1\n{machine_id}"
            beat = await run(woken, "sleep 0.5; cat /run/beat")
            assert await run(woken, "sleep 0.5; cat /run/beat") > beat, "a process stood still"
            woken_files = store.draft()
            await woken.channel.quiesce()
            await woken.machine.pause()
            again = await woken.machine.save_memory(woken_files.memory_fd)
            assert again >= saved, "pages that were put in were lost"
            woken_files.close()
        assert await run(parent, "cat /root/mark") == "v2"
        assert store.layer("one").stat().st_mtime_ns == frozen
        files.close()


async def test_a_chain_of_frozen_disks_is_read_as_one(
    workshop: Workshop, store: DirectoryStore
) -> None:
    async with clone(workshop) as vm:
        active = Path(vm.machine.ref.directory) / DISK
        names = []
        for number in range(3):
            await run(vm, f"echo {number} > /root/f{number}; sync")
            name = f"l{number}"
            store.add_layer(name, active)
            active = new_disk(vm, workshop.template, f"disk-{name}.qcow2")
            await vm.channel.quiesce()
            await vm.machine.pause()
            await vm.machine.freeze_disk(active)
            await vm.machine.resume()
            await vm.channel.resume()
            store.seal_layer(name)
            names.append(name)
        cold = State(layers=tuple(store.layer(name) for name in names), files=None)
        async with clone(workshop, cold) as booted:
            assert await run(booted, "cat /root/f0 /root/f1 /root/f2") == "0\n1\n2"
    assert os.listdir(workshop.factory.root) == []
