"""Builds, of fake parts: resumed, exclusive, instant the second time, never half-published."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.errors import NoSpace, TemplateBuildFailed, TemplateBusy, TemplateNotFound
from sandbox_engine.templates.verify import verify_files

from tests.engine.templates.making import Bench, flip_byte

STEPS = ["kernel", "initramfs", "agent", "rootfs", "bake", "publish"]


async def test_a_build_publishes_what_its_manifest_says(bench: Bench) -> None:
    files = await bench.build(vcpus=2, disk_mib=100, warmup=["warm", "up"])
    assert bench.store.find("base") == files
    assert verify_files(files) == []
    manifest = files.manifest
    assert (manifest.memory_mib, manifest.vcpus, manifest.disk_mib) == (64, 2, 100)
    assert (manifest.source, manifest.warmup) == ("dir:/tree", ("warm", "up"))
    assert (manifest.agent_protocol, manifest.agent_version) == (1, "9")
    assert manifest.platform == bench.driver.platform
    assert manifest.memory.size == 64 << 20
    names = {"memory.snap", "vmstate", "rootfs.ext4", "overlay.qcow2", "manifest.bin"}
    assert set(os.listdir(files.directory)) == names
    assert bench.leftovers == []
    assert bench.store.newest_kernel() == bench.data / "store" / "vmlinuz"
    assert bench.store.newest_initramfs() == bench.data / "store" / "initramfs.cpio"


async def test_steps_are_told_in_their_order(bench: Bench) -> None:
    await bench.build()
    assert [step for step, state in bench.progress if state == "started"] == STEPS
    assert [step for step, state in bench.progress if state in ("done", "cached")] == STEPS
    assert ("rootfs", "running") in bench.progress


async def test_the_overlay_is_an_empty_one_over_the_published_root(bench: Bench) -> None:
    files = await bench.build(disk_mib=100)
    info = subprocess.run(
        ["qemu-img", "info", "--backing-chain", str(files.overlay)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert f"backing file: {files.rootfs}" in info
    assert "virtual size: 100 MiB" in info
    assert files.overlay.stat().st_size < 1 << 20


async def test_a_second_build_of_the_same_inputs_does_nothing(bench: Bench) -> None:
    first = await bench.build()
    bench.progress.clear()
    assert await bench.build() == first
    assert len(bench.driver.machines) == 1
    assert {state for _, state in bench.progress} == {"started", "running", "cached"}


@pytest.mark.parametrize(
    "change",
    [{"memory_mib": 65}, {"vcpus": 2}, {"disk_mib": 65}, {"warmup": ["x"]}, {"force": True}],
)
async def test_other_inputs_are_another_bake(bench: Bench, change: dict[str, Any]) -> None:
    first = await bench.build()
    second = await bench.build(**change)
    assert second.directory != first.directory
    assert len(bench.driver.machines) == 2
    assert bench.store.find("base") == second


async def test_another_root_is_another_bake(bench: Bench) -> None:
    first = await bench.build()
    bench.ingredients.root_content = b"other"
    assert (await bench.build()).manifest.rootfs != first.manifest.rootfs


async def test_another_name_is_another_template(bench: Bench) -> None:
    await bench.build("one")
    await bench.build("team/two:1")
    assert bench.store.names() == ["one", "team/two:1"]


@pytest.mark.parametrize("state", ["started", "end"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_at_any_step_publishes_nothing_and_the_next_build_resumes(
    bench: Bench, step: str, state: str
) -> None:
    if state == "end":
        state = "cached" if step in ("initramfs", "agent") else "done"
    bench.fail_at = (step, state)
    with pytest.raises(KeyboardInterrupt):
        await bench.build()
    assert bench.leftovers == []
    published = (step, state) == ("publish", "done")
    assert bench.store.names() == (["base"] if published else [])
    bench.fail_at = None
    files = await bench.build()
    assert verify_files(files) == []
    assert bench.ingredients.made == ["kernel", "rootfs"]  # each once, whatever failed
    assert len(bench.driver.machines) == 1


async def test_a_crash_keeps_the_template_that_was_there(bench: Bench) -> None:
    before = await bench.build()
    bench.ingredients.root_content = b"other"
    bench.fail_at = ("publish", "started")
    with pytest.raises(KeyboardInterrupt):
        await bench.build()
    assert bench.store.find("base") == before
    assert verify_files(before) == []


async def test_an_old_generation_stays_until_the_build_after(bench: Bench) -> None:
    first = await bench.build()
    second = await bench.build(vcpus=2)
    assert first.memory.exists()  # a clone may be starting from it
    await bench.build(vcpus=2)
    assert not first.directory.exists()
    assert second.memory.exists()


@pytest.mark.parametrize("name", ["memory.snap", "vmstate", "rootfs.ext4", "manifest.bin"])
async def test_a_damaged_template_is_built_again_from_the_same_inputs(
    bench: Bench, name: str
) -> None:
    first = await bench.build()
    flip_byte(first.directory / name, 3)
    second = await bench.build()
    assert second.directory != first.directory
    assert verify_files(second) == []


async def test_files_that_were_only_touched_are_read_and_kept(bench: Bench) -> None:
    first = await bench.build()
    os.utime(first.memory)
    assert await bench.build() == first
    shutil.rmtree(bench.data / "cache" / "untouched")
    assert await bench.build() == first


async def test_two_builds_of_one_name_exclude_each_other(bench: Bench) -> None:
    bench.guest.warmup_never_ends = True
    began = asyncio.Event()
    bench.guest.on_warmup = began.set
    running = asyncio.get_running_loop().create_task(bench.build(warmup=["sleep"]))
    await began.wait()
    other = Bench(bench.data)
    with pytest.raises(TemplateBusy, match="'base'"):
        await other.build()
    with pytest.raises(TemplateBusy, match="same inputs"):
        await other.build("another", warmup=["sleep"])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.leftovers == []
    assert bench.driver.events[-1] == "kill"
    assert (await other.build()).manifest.name == "base"


async def test_a_failed_bake_is_an_error_of_its_step(bench: Bench) -> None:
    bench.guest.answers = False
    with pytest.raises(TemplateBuildFailed, match="bake: the guest never answered") as caught:
        await bench.build()
    assert caught.value.step == "bake"
    assert ("bake", "failed") in bench.progress
    with pytest.raises(TemplateNotFound):
        bench.store.find("base")
    assert bench.leftovers == []


async def test_a_full_disk_is_its_own_error_and_publishes_nothing(small_disk: Path) -> None:
    bench = Bench(small_disk)
    with pytest.raises(NoSpace, match="free some space"):
        await bench.build(memory_mib=64)
    assert bench.store.names() == []
    assert bench.leftovers == []


async def test_what_a_killed_build_left_is_removed_by_the_next(bench: Bench) -> None:
    dead = bench.data / "work" / "partial-dead"
    (dead / "vm").mkdir(parents=True)
    await bench.build()
    assert bench.driver.swept == [dead]
    assert bench.leftovers == []
