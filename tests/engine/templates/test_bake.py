"""Baking, against fakes of machine and guest: order, ownership, and every way it can go wrong."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from sandbox_engine.errors import NoSpace
from sandbox_engine.templates import bake as baking
from sandbox_engine.templates.bake import BakeFailed, Guest, bake, sweep_work
from sandbox_engine.templates.work import work_folder

from tests.engine.templates.making import UID, FakeDriver, FakeGuest, FakeMachine


def guest(memory_mib: int = 64, warmup: tuple[str, ...] = ()) -> Guest:
    return Guest(
        name="bake-1",
        memory_mib=memory_mib,
        vcpus=1,
        kernel=Path("/kernel"),
        initramfs=Path("/initramfs"),
        agent_disk=Path("/agent"),
        warmup=warmup,
        uid=UID,
        gid=UID,
    )


class Kitchen:
    """One bake: its folder and its fakes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "rootfs.ext4").write_bytes(b"root")
        self.driver = FakeDriver()
        self.link = FakeGuest(self.driver.events)
        self.told: list[str] = []

    async def bake(self, what: Guest) -> None:
        await bake(what, self.folder, self.driver, self.link, self.told.append)


@pytest.fixture
async def kitchen(tmp_path: Path) -> Kitchen:
    """A bake in a folder of its own."""
    folder = tmp_path / "bake"
    folder.mkdir()
    return Kitchen(folder)


async def test_a_bake_freezes_a_quiet_guest_then_ends_its_vmm(kitchen: Kitchen) -> None:
    await kitchen.bake(guest(warmup=("python3", "-c", "")))
    assert kitchen.driver.events == ["start", "sync", "quiesce", "pause", "save", "close", "kill"]
    assert kitchen.link.commands == [["python3", "-c", ""], ["true"]]
    assert kitchen.told == ["booting", "warming up", "saving"]


async def test_its_files_are_root_s_afterwards_and_were_the_vmm_s_before(
    kitchen: Kitchen,
) -> None:
    def look() -> None:
        for name in ("memory.snap", "rootfs.ext4"):
            stat = (kitchen.folder / name).stat()
            assert (stat.st_uid, stat.st_mode & 0o777) == (UID, 0o600)

    kitchen.link.on_warmup = look
    await kitchen.bake(guest(warmup=("look",)))
    for name in ("memory.snap", "vmstate", "rootfs.ext4"):
        stat = (kitchen.folder / name).stat()
        assert (stat.st_uid, stat.st_gid, stat.st_mode & 0o777) == (0, 0, 0o644)


async def test_memory_the_guest_never_touched_takes_no_space(kitchen: Kitchen) -> None:
    await kitchen.bake(guest(64))
    memory = kitchen.folder / "memory.snap"
    assert memory.stat().st_size == 64 << 20
    assert memory.stat().st_blocks * 512 <= 1 << 20
    assert memory.read_bytes()[1 << 20 :].startswith(b"a guest")


async def test_a_guest_that_never_answers_is_told_with_its_console(kitchen: Kitchen) -> None:
    kitchen.link.answers = False
    with pytest.raises(BakeFailed, match=r"never answered.*last words of the console"):
        await kitchen.bake(guest())
    assert kitchen.driver.events[-1] == "kill"


async def test_a_guest_that_dies_while_booting_is_noticed_at_once(kitchen: Kitchen) -> None:
    kitchen.link.silent = True

    class Dying(FakeMachine):
        async def start(self) -> None:
            self.exited.set()

    async def launch(spec: object) -> FakeMachine:
        machine = Dying(spec, kitchen.driver.events)  # type: ignore[arg-type] # a MachineSpec
        kitchen.driver.machines.append(machine)
        return machine

    kitchen.driver.launch = launch  # type: ignore[method-assign] # this test's own machine
    with pytest.raises(BakeFailed, match=r"the guest ended.*last words of the console"):
        await kitchen.bake(guest())


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"type": "exit", "code": 3}, "the warm-up exited with 3: x"),
        ({"type": "exit", "code": 0, "signal": 9}, "killed by signal 9"),
        ({"type": "exit", "code": 0, "timed_out": True}, "ran longer than"),
        ({"type": "error", "status": 3, "message": "no such program"}, "no such program"),
    ],
)
async def test_a_warmup_that_fails_fails_the_bake(
    kitchen: Kitchen, outcome: dict[str, object], words: str
) -> None:
    kitchen.link.warmup = outcome
    kitchen.link.warmup_output = b"x" * 5000 + b"no such module\n"
    with pytest.raises(BakeFailed) as caught:
        await kitchen.bake(guest(warmup=("python3",)))
    assert "the warm-up" in str(caught.value)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 3000
    assert "save" not in kitchen.driver.events
    assert kitchen.driver.events[-1] == "kill"


async def test_cancellation_ends_the_machine(kitchen: Kitchen) -> None:
    kitchen.link.warmup_never_ends = True
    began = asyncio.Event()
    kitchen.link.on_warmup = began.set
    running = asyncio.get_running_loop().create_task(kitchen.bake(guest(warmup=("sleep",))))
    await began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kitchen.driver.events[-2:] == ["close", "kill"]


async def test_memory_that_does_not_fit_is_refused_before_anything_starts(
    small_disk: Path,
) -> None:
    kitchen = Kitchen(small_disk)
    with pytest.raises(OSError, match="No space left"):
        await kitchen.bake(guest(64))
    assert kitchen.driver.machines == []


async def test_a_disk_that_fills_while_the_guest_runs_ends_the_bake(small_disk: Path) -> None:
    kitchen = Kitchen(small_disk)
    kitchen.link.warmup_never_ends = True  # as a guest whose write never completes

    def fill() -> None:
        space = os.statvfs(small_disk)
        left = space.f_bavail * space.f_frsize
        (small_disk / "filler").write_bytes(bytes(left - baking.LOW_SPACE_BYTES + 4096))

    kitchen.link.on_warmup = fill
    with pytest.raises(NoSpace):
        await kitchen.bake(guest(8, warmup=("fill",)))
    assert kitchen.driver.events[-1] == "kill"


async def test_work_of_the_dead_is_swept_and_of_the_living_is_not(tmp_path: Path) -> None:
    driver = FakeDriver()
    (tmp_path / "partial-dead" / "vm").mkdir(parents=True)
    with work_folder(tmp_path) as alive:
        await sweep_work(tmp_path, driver)
        assert driver.swept == [tmp_path / "partial-dead"]  # its VM first
        assert sorted(tmp_path.iterdir()) == [alive]
