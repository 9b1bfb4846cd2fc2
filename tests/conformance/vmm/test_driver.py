"""What every driver and its machines promise (`ports.vmm`), asked of QEMU and of the fake."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace
from sandbox_engine.errors import GuestUnavailable, VmmError
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.guest import GuestPort
from sandbox_engine.ports.vmm import WAITING_DISKS, Machine, MachineStats, Snapshot
from sandbox_guest.framing import FrameKind

from tests.conformance.machines import Bench, greeted, launched, printed, soon, started
from tests.support.engine import cgroups

GONE: dict[str, Callable[[Machine], Awaitable[object]]] = {
    "start": lambda machine: machine.start(),
    "pause": lambda machine: machine.pause(),
    "resume": lambda machine: machine.resume(),
    "save_state": lambda machine: machine.save_state(-1),
    "save_memory": lambda machine: machine.save_memory(-1),
    "load_memory": lambda machine: machine.load_memory(-1),
    "freeze_disk": lambda machine: machine.freeze_disk(Path("disk")),
    "attach_disk": lambda machine: machine.attach_disk(WAITING_DISKS[0], 0),
    "attach_link": lambda machine: machine.attach_link(0),
    "attached_disks": lambda machine: machine.attached_disks(),
    "detach_disk": lambda machine: machine.detach_disk(WAITING_DISKS[0]),
}


def file() -> int:
    return os.memfd_create("conformance")


def test_the_platform_is_the_same_for_every_engine_of_this_host(bench: Bench) -> None:
    assert bench.driver.accel in ("kvm", "tcg")
    assert all((bench.driver.platform.vmm, bench.driver.platform.machine))
    assert bench.successor().platform == bench.driver.platform


async def test_a_launched_machine_waits_until_it_is_started(bench: Bench) -> None:
    async with launched(bench, "waits") as machine:
        assert not machine.exited.is_set()
        assert machine.ref.name == "waits"
        assert Path(machine.ref.directory) == bench.root / "waits"
        assert machine.channel_path.is_socket()
        await machine.start()
        async with greeted(machine) as channel:
            assert await printed(channel, "echo", "on") == b"on\n"


async def test_a_paused_machine_answers_once_it_is_resumed(bench: Bench) -> None:
    async with started(bench, "paused") as machine, greeted(machine) as channel:
        for _ in range(2):
            await machine.pause()
        with pytest.raises(GuestUnavailable, match="did not answer"):
            await channel.call({"op": "ping"}, timeout_s=0.2)
        for _ in range(2):
            await machine.resume()
        assert await channel.call({"op": "ping"}) == {"type": "pong"}


async def test_a_kill_ends_it_for_everybody_who_watches(bench: Bench) -> None:
    async with started(bench, "killed") as machine:
        calls: list[str] = []
        machine.when_exited(lambda: calls.append("before"))
        assert machine.stats().rss_bytes > 0
        assert machine.stats().page_faults > 0
        for _ in range(2):
            await machine.kill()
        assert machine.exited.is_set()
        assert calls == ["before"]
        assert machine.stats() == MachineStats(rss_bytes=0, page_faults=0)
        heard = asyncio.Event()
        machine.when_exited(heard.set)
        assert not heard.is_set(), "called from the loop, not from within"
        await soon(heard)
        assert isinstance(await machine.console_tail(), str)


@pytest.mark.parametrize("state", ["waiting", "running", "paused"])
async def test_one_that_dies_by_itself_is_known_at_once(bench: Bench, state: str) -> None:
    async with launched(bench, f"dies-{state}") as machine:
        if state != "waiting":
            await machine.start()
        if state == "paused":
            await machine.pause()
        bench.crash(machine.ref)
        await soon(machine.exited)
        for call in GONE.values():
            with pytest.raises(VmmError):
                await call(machine)
        await machine.kill()


async def test_a_crash_ends_the_channel_too(bench: Bench) -> None:
    async with started(bench, "broken") as machine, greeted(machine) as channel:
        stream = channel.open(GuestPort.ENGINE, {"op": "exec", "argv": ["sleep", "1000"]})
        await stream.receive()
        bench.crash(machine.ref)
        with pytest.raises(GuestUnavailable):
            await stream.receive()
        await soon(channel.lost)


async def test_a_saved_machine_goes_on_in_another(bench: Bench) -> None:
    state, memory = file(), file()
    async with started(bench, "parent") as parent, greeted(parent) as channel:
        await channel.call({"op": "configure", "env": {"KEPT": "yes"}})
        await channel.quiesce()
        await parent.pause()
        await parent.save_state(state)
        assert await parent.save_memory(memory) > 0
        await parent.resume()
        await channel.resume()
        assert await printed(channel, "printenv", "KEPT") == b"yes\n", "it goes on itself"
    snapshot = Snapshot(memory_fd=bench.template_memory(), state_fd=state)
    async with launched(bench, "child", snapshot=snapshot) as child:
        await child.load_memory(memory)
        await child.start()
        async with greeted(child, resync=True) as channel:
            assert await printed(channel, "printenv", "KEPT") == b"yes\n"
    os.close(state)
    os.close(memory)


async def test_a_frozen_disk_changes_no_more(bench: Bench) -> None:
    async with started(bench, "frozen") as machine, greeted(machine) as channel:
        await channel.quiesce()
        await machine.pause()
        disk = bench.root / "frozen" / "disk.qcow2"
        await machine.freeze_disk(bench.disk("frozen", "disk-1.qcow2"))
        content = disk.read_bytes()
        await machine.resume()
        await channel.resume()
        stream = channel.open(GuestPort.ENGINE, {"op": "write_file", "path": "/workspace/f"})
        await stream.send_bulk(FrameKind.DATA, b"x" * 4096)
        await stream.send({"op": "data_end"})
        assert await stream.receive() is not None
        await channel.call({"op": "sync"})
        assert disk.read_bytes() == content


async def test_a_disk_that_waits_takes_one_file_and_only_one(bench: Bench) -> None:
    async with started(bench, "disks") as machine:
        with tempfile.TemporaryFile() as volume:
            volume.truncate(1 << 20)
            with pytest.raises(VmmError):
                await machine.attach_disk("no-such-disk", volume.fileno())
            await machine.attach_disk(WAITING_DISKS[0], volume.fileno())
            with pytest.raises(VmmError):
                await machine.attach_disk(WAITING_DISKS[0], volume.fileno())
            assert os.fstat(volume.fileno()), "the descriptor stays the caller's"
            assert await machine.attached_disks() == {WAITING_DISKS[0]}
            for _ in range(2):
                await machine.detach_disk(WAITING_DISKS[0])
            assert await machine.attached_disks() == set()
            await machine.attach_disk(WAITING_DISKS[0], volume.fileno())
        await machine.pause()
        await machine.resume()


async def test_an_interface_that_waits_takes_one_tap_and_only_one(bench: Bench) -> None:
    async with started(bench, "linked") as machine, greeted(machine) as channel:
        with bench.tap() as tap:
            await machine.attach_link(tap.fileno())
            with pytest.raises(VmmError):
                await machine.attach_link(tap.fileno())
            assert os.fstat(tap.fileno()), "the descriptor stays the caller's"
        await machine.pause()
        await machine.resume()
        assert await printed(channel, "echo", "on") == b"on\n"


@pytest.mark.parametrize("missing", ["kernel", "initramfs", "agent_disk", "disk"])
async def test_a_launch_that_fails_leaves_no_process(bench: Bench, missing: str) -> None:
    nowhere = bench.root / "no such file"
    with pytest.raises(VmmError, match="no such file"):
        async with launched(bench, "fails", **{missing: nowhere}):
            pass
    assert await bench.driver.sweep(set(), bench.root) == []


async def test_a_launch_that_is_cancelled_leaves_no_process_and_no_group(bench: Bench) -> None:
    for turns in range(4):  # before it is asked for, and while it comes
        name = f"cancelled-{turns}"
        launching = spawn(bench.driver.launch(bench.spec(name)), name=name)
        for _ in range(turns):
            await asyncio.sleep(0)
        launching.cancel()
        with suppress(asyncio.CancelledError):
            await (await launching).kill()  # it was there before it could be cancelled
        assert name not in cgroups()
    assert await bench.driver.sweep(set(), bench.root) == []


async def test_the_next_engine_adopts_what_runs_and_nothing_else(bench: Bench) -> None:
    async with started(bench, "adopted") as first:
        bench.forget(first)
        driver = bench.successor()
        ref = first.ref
        assert await driver.adopt(replace(ref, start_ticks=ref.start_ticks + 1)) is None
        machine = await driver.adopt(ref)
        assert machine is not None
        assert machine.ref == ref
        assert machine.channel_path == first.channel_path
        async with greeted(machine) as channel:
            await machine.pause()
            await machine.resume()
            assert await printed(channel, "echo", "on") == b"on\n"
        await machine.kill()
        assert machine.exited.is_set()
        assert await bench.successor().adopt(ref) is None


async def test_a_sweep_ends_what_is_not_to_be_kept_below_its_root(bench: Bench) -> None:
    async with (
        launched(bench, "one") as one,
        started(bench, "two") as two,
        launched(bench, "three") as kept,
    ):
        assert await bench.driver.sweep(set(), bench.root / "elsewhere") == []
        swept = await bench.successor().sweep({"three"}, bench.root)
        assert sorted(swept) == ["one", "two"]
        await soon(one.exited)
        await soon(two.exited)
        assert not kept.exited.is_set()
        await kept.start()
