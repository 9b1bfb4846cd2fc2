"""Saved states: how long a sandbox stands still, and what it takes to go on from it.

The floors are QEMU's own: a migration of the same stopped VM into a file, and a load of
that file by `bare`.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from sandbox_engine.ports.snapshots import Files
from sandbox_engine.services import vms
from sandbox_engine.services.saving import go_on, stand_still
from sandbox_engine.services.vms import Vm
from sandbox_engine.storage.snapshots import DirectoryStore
from sandbox_engine.templates.pins import Pins
from sandbox_engine.vmm.qemu.driver import QemuMachine

from tests.bench.clones import Bench, output, private_memory
from tests.bench.measure import Row, in_turn, timed

ROUNDS = 5
LINKS = 20
DIRTY = "python3 -c \"open('/dev/shm/dirty', 'wb').write(b'x' * (96 << 20))\""


class Source:
    """A VM whose state is taken again and again; its disks become layers."""

    def __init__(self, parts: Bench, vm: Vm, layers: tuple[str, ...] = ()) -> None:
        self.parts, self.vm, self.layers = parts, vm, layers
        self.store = DirectoryStore(parts.folder / "snapshots", Pins(parts.folder / "pins"))
        self._disk = Path(vm.machine.ref.directory) / vms.DISK
        self._takes = 0

    async def take(self) -> tuple[float, Files]:
        """A state, and how long the guest stood still for it."""
        self._takes += 1
        over = vms.new_disk(self.vm, self.parts.template, f"disk-{self._takes}.qcow2")
        files = self.store.draft()
        started = time.perf_counter()
        await stand_still(self.vm, files)
        await self.vm.machine.freeze_disk(over)
        await go_on(self.vm)
        elapsed = time.perf_counter() - started
        name = os.urandom(10).hex()
        self.store.add_layer(name, self._disk)
        self.store.seal_layer(name)
        self.layers, self._disk = (*self.layers, name), over
        return elapsed, files

    async def window(self) -> float:
        """Only how long."""
        elapsed, files = await self.take()
        files.close()
        return elapsed

    async def child(self, files: Files) -> Vm:
        """A VM that goes on from a state."""
        state = vms.State(layers=tuple(self.store.layer(one) for one in self.layers), files=files)
        vm = await self.parts.factory.prepare(self.parts.template, state=state)
        await self.parts.factory.bring_up(vm)
        return vm


async def save_bare(vm: Vm, path: Path) -> float:
    """Migrate a VM into a file, from its stop on; it is not let run again."""
    machine = vm.machine
    assert isinstance(machine, QemuMachine)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        started = time.perf_counter()
        await machine.pause()
        await machine._run("getfd", handing=fd, fdname="bare")
        await machine._run("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        await machine._run("migrate", uri="fd:bare")
        while (await machine._run("query-migrate"))["status"] not in ("completed", "failed"):
            await asyncio.sleep(0.0005)
        return time.perf_counter() - started
    finally:
        os.close(fd)


async def rows(parts: Bench) -> list[Row]:
    """All of them."""
    found = await window_rows(parts, "few dirty pages", "true", 0.5)
    found += await window_rows(parts, "96 MiB more dirtied", DIRTY, 1.2)
    found += await wake_rows(parts)
    found += await fork_rows(parts)
    return [*found, await chain_row(parts)]


async def _fresh(parts: Bench, script: str = "true") -> Source:
    vm = await parts.factory.prepare(parts.template)
    await parts.factory.bring_up(vm)
    await output(vm, ["/bin/sh", "-c", script])
    return Source(parts, vm)


async def window_rows(parts: Bench, words: str, script: str, limit: float) -> list[Row]:
    """The pause of a checkpoint against QEMU's save of a VM that did the same."""
    source = await _fresh(parts, script)

    async def floor_of_a_twin() -> float:
        twin = (await _fresh(parts, script)).vm  # QEMU gives its disk up with its state
        elapsed = await save_bare(twin, parts.folder / "bare")
        await parts.factory.destroy(twin)
        return elapsed

    try:
        ours, floor = await in_turn(ROUNDS, source.window, floor_of_a_twin)
    finally:
        await parts.factory.destroy(source.vm)
    return [timed(f"pause of a checkpoint, {words}", ours, "bare QEMU save", floor, limit)]


async def wake_rows(parts: Bench) -> list[Row]:
    """A wake, its VMM started for it, against QEMU's load of the same state."""
    source = await _fresh(parts)
    _, files = await source.take()
    stream = parts.folder / "stream"
    await save_bare(source.vm, stream)
    await parts.factory.destroy(source.vm)

    async def wake() -> float:
        started = time.perf_counter()
        vm = await source.child(files)
        elapsed = time.perf_counter() - started
        await parts.factory.destroy(vm)
        return elapsed

    ours, floor = await in_turn(ROUNDS, wake, lambda: parts.bare_load(stream))
    files.close()
    return [timed("wake to identity confirmed", ours, "bare QEMU load", floor, 1.2)]


async def fork_rows(parts: Bench) -> list[Row]:
    """Four children against one, and what a child keeps to itself."""
    source = await _fresh(parts)

    async def fork(count: int) -> float:
        started = time.perf_counter()
        _, files = await source.take()
        made = await asyncio.gather(*(source.child(files) for _ in range(count)))
        elapsed = time.perf_counter() - started
        files.close()
        for vm in made:
            await parts.factory.destroy(vm)
        return elapsed

    four, one = await in_turn(ROUNDS, lambda: fork(4), lambda: fork(1))
    _, files = await source.take()
    child, clone = await source.child(files), (await _fresh(parts)).vm
    await asyncio.sleep(1)  # idle guests are what is weighed
    weights = [private_memory(vm.machine.ref.pid) for vm in (child, clone)]
    for vm in (child, clone, source.vm):
        await parts.factory.destroy(vm)
    files.close()
    memory = Row(
        what="private memory of an idle fork",
        value=f"{weights[0] >> 20} MiB",
        floor=f"a fresh clone: {weights[1] >> 20} MiB",
        ratio=weights[0] / weights[1],
        limit=1.1,
    )
    return [timed("fork of 4", four, "fork of 1", one, 1.5), memory]


async def chain_row(parts: Bench) -> Row:
    """A branch from the twentieth checkpoint in a chain against one from the first."""
    source = await _fresh(parts)
    times: dict[int, list[float]] = {}
    for link in range(1, LINKS + 1):
        await output(source.vm, ["/bin/sh", "-c", f"echo {link} > /root/link-{link}"])
        _, files = await source.take()
        await parts.factory.destroy(source.vm)
        for _ in range(ROUNDS if link in (1, LINKS) else 1):
            started = time.perf_counter()
            vm = await source.child(files)
            times.setdefault(link, []).append(time.perf_counter() - started)
            if len(times[link]) < ROUNDS and link in (1, LINKS):
                await parts.factory.destroy(vm)
        files.close()
        source = Source(parts, vm, source.layers)
    await parts.factory.destroy(source.vm)
    first, last = (sorted(times[link])[ROUNDS // 2] for link in (1, LINKS))
    return timed(f"branch from checkpoint {LINKS} of a chain", last, "from the first", first, 1.3)
