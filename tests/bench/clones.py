"""Clones, commands and memory, measured on the engine's own parts in one process."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox_engine.guest.channel import PROTOCOL, Connector
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.ports.guest import GuestPort
from sandbox_engine.ports.templates import ReadyTemplate
from sandbox_engine.services.vms import Vm, VmFactory, VmUids
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import TemplateVault
from sandbox_engine.vmm.process import Launcher
from sandbox_engine.vmm.qemu.driver import QemuDriver

from tests.bench import bare
from tests.bench.measure import Row, in_turn, show, timed
from tests.support.engine import CACHE

ROUNDS = 9
SPAWN_LOOP = """
import os, time
def once():
    start = time.perf_counter()
    pid = os.posix_spawn('/bin/true', ['true'], {}, setsigdef=[])
    os.waitpid(pid, 0)
    return time.perf_counter() - start
print(sorted(once() for _ in range(41))[20])
"""


class Bench:
    """The engine's parts around one template."""

    def __init__(self, factory: VmFactory, template: ReadyTemplate, folder: Path) -> None:
        self.factory, self.template, self.folder = factory, template, folder
        self._memory, self._state = folder / "memory", folder / "state"
        files = CACHE / "templates" / "base" / "current"
        shutil.copyfile(files / "memory.snap", self._memory)
        shutil.copyfile(files / "vmstate", self._state)

    async def bare(self) -> float:
        """The floor of every clone."""
        return await asyncio.to_thread(bare.restore, self.template, self._memory, self._state)

    async def bare_load(self, stream: Path) -> float:
        """The floor of a wake: QEMU alone loads a whole saved VM, memory and all."""
        return await asyncio.to_thread(bare.restore, self.template, self._memory, stream)

    async def first_answer(self) -> float:
        """Process start to the agent's first answer, jail, journal and all."""
        started = time.perf_counter()
        vm = await self.factory.prepare(self.template)
        return await self._answered(vm, started)

    async def first_answer_waiting(self) -> float:
        """The same from a VMM that was started ahead and waits."""
        vm = await self.factory.prepare(self.template)
        return await self._answered(vm, time.perf_counter())

    async def handed_out(self) -> float:
        """Process start to identity confirmed."""
        started = time.perf_counter()
        vm = await self.factory.prepare(self.template)
        await self.factory.bring_up(vm)
        elapsed = time.perf_counter() - started
        await self.factory.destroy(vm)
        return elapsed

    async def _answered(self, vm: Vm, started: float) -> float:
        await vm.machine.start()
        vm.guest = await Connector().connect(vm.machine.channel_path)
        await vm.guest.greet(None)
        elapsed = time.perf_counter() - started
        await self.factory.destroy(vm)
        return elapsed


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """Parts on a temporary folder."""
    folder = Path(tempfile.mkdtemp(dir="/tmp", prefix="sbx-bench-"))
    (folder / "vms").mkdir()
    launcher = Launcher.start()
    driver = QemuDriver(launcher, "tcg")
    journal = SqliteJournal(folder / "journal.db")
    vault = TemplateVault(TemplateStore(CACHE), driver.platform, PROTOCOL)
    try:
        factory = VmFactory(
            driver=driver,
            connector=Connector(),
            journal=journal,
            root=folder / "vms",
            uids=VmUids(720_000, 256),
        )
        yield Bench(factory, await vault.open("base"), folder)
    finally:
        vault.close()
        journal.close()
        launcher.close()
        shutil.rmtree(folder)


async def clone_rows(parts: Bench) -> list[Row]:
    """Clone figures against the bare restore."""
    floor, cold, waiting, full = await in_turn(
        ROUNDS, parts.bare, parts.first_answer, parts.first_answer_waiting, parts.handed_out
    )
    name = "bare QEMU restore"
    return [
        timed("clone to the agent's first answer", cold, name, floor, 1.1),
        timed("the same from a waiting VMM", waiting, name, floor, 0.8),
        timed("clone to handed out, identity confirmed", full, name, floor, 1.5),
    ]


async def exec_rows(parts: Bench) -> list[Row]:
    """Commands against the guest's own fork and exec, and memory of an idle clone."""
    vm = await parts.factory.prepare(parts.template)
    await parts.factory.bring_up(vm)
    try:
        await asyncio.sleep(1)  # an idle guest is what is weighed
        memory = private_memory(vm.machine.ref.pid)
        ping, run = await in_turn(31, lambda: _ping(vm), lambda: _true(vm))
        inside = float(await output(vm, ["/usr/bin/python3", "-c", SPAWN_LOOP]))
    finally:
        await parts.factory.destroy(vm)
    return [
        timed("exec of /bin/true", run, "fork+exec in the guest + one ping", inside + ping, 1.3),
        Row(what="agent ping on the channel", value=show(ping)),
        Row(what="private memory of an idle clone", value=f"{memory >> 20} MiB"),
    ]


async def beside_pings(other: Callable[[], float]) -> tuple[float, float]:
    """Seconds of a ping on a bare channel and of `other`, taken in turn."""

    async def theirs() -> float:
        return await asyncio.to_thread(other)

    async with bench() as parts:
        vm = await parts.factory.prepare(parts.template)
        await parts.factory.bring_up(vm)
        try:
            ping, measured = await in_turn(61, lambda: _ping(vm), theirs)
        finally:
            await parts.factory.destroy(vm)
    return ping, measured


async def channel_rate(parts: Bench, size_mib: int = 128) -> float:
    """Bytes a second that a file is read with on the bare channel."""
    vm = await parts.factory.prepare(parts.template)
    await parts.factory.bring_up(vm)
    try:
        path = "/workspace/big"
        await output(vm, ["/bin/sh", "-c", f"head -c {size_mib}M /dev/zero > {path}"])
        started = time.perf_counter()
        stream = vm.channel.open(
            GuestPort.ENGINE, {"op": "read_file", "path": path, "stream": True}
        )
        size = 0
        while (message := await stream.receive()) is not None:
            size += len(message[1]) if message[0] != 1 else 0
        return size / (time.perf_counter() - started)
    finally:
        await parts.factory.destroy(vm)


async def burst_row(parts: Bench, count: int = 16) -> Row:
    """Many clones at once, to identity confirmed."""

    async def one() -> tuple[Vm, float]:
        started = time.perf_counter()
        vm = await parts.factory.prepare(parts.template)
        await parts.factory.bring_up(vm)
        return vm, time.perf_counter() - started

    started = time.perf_counter()
    made = await asyncio.gather(*(one() for _ in range(count)))
    elapsed = time.perf_counter() - started
    for vm, _ in made:
        await parts.factory.destroy(vm)
    median = statistics.median(seconds for _, seconds in made)
    return Row(
        what=f"{count} clones at once", value=f"{show(elapsed)} in all, median {show(median)}"
    )


async def _ping(vm: Vm) -> float:
    started = time.perf_counter()
    await vm.channel.call({"op": "ping"})
    return time.perf_counter() - started


async def _true(vm: Vm) -> float:
    started = time.perf_counter()
    await output(vm, ["/bin/true"])
    return time.perf_counter() - started


async def output(vm: Vm, words: list[str]) -> str:
    stream = vm.channel.open(GuestPort.ENGINE, {"op": "exec", "argv": words})
    out = b""
    while (message := await stream.receive()) is not None:
        if message[0] != 1:
            out += message[1]
    stream.reset()
    return out.decode()


def private_memory(pid: int) -> int:
    """Bytes that are this VMM's alone.

    Clean pages are the template's memory and the program, shared with every other clone,
    also while there is only one to map them.
    """
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return sum(int(line.split()[1]) << 10 for line in file if line.startswith("Private_Dirty"))
