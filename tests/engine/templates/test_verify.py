"""The vault: verified once, sealed, and refused as soon as one byte is another."""

from __future__ import annotations

import asyncio
import gc
import mmap
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from sandbox_engine.errors import TemplateCorrupt, TemplateIncompatible, TemplateNotFound
from sandbox_engine.templates.layout import TemplateFiles
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import TemplateVault, verify_files

from tests.engine.templates.making import PLATFORM, PROTOCOL, flip_byte, published

OWN = ["memory.snap", "vmstate", "rootfs.ext4", "overlay.qcow2"]
SHARED = ["kernel", "initramfs", "agent disk"]
LABELS = [*OWN, *SHARED]


@pytest.fixture
def files(data: Path) -> TemplateFiles:
    """A published template."""
    return published(data)


@pytest.fixture
async def vault(data: Path) -> AsyncIterator[TemplateVault]:
    """A vault of its data folder."""
    made = TemplateVault(TemplateStore(data), PLATFORM, PROTOCOL)
    yield made
    made.close()


def path_of(files: TemplateFiles, label: str) -> Path:
    return next(path for name, path, _ in files.expected() if name == label)


def test_intact_files_differ_in_nothing(files: TemplateFiles) -> None:
    assert verify_files(files) == []


@pytest.mark.parametrize("label", LABELS)
def test_each_difference_names_its_file(files: TemplateFiles, label: str) -> None:
    path = path_of(files, label)
    flip_byte(path)
    (difference,) = verify_files(files)
    assert difference.startswith(f"{label} has SHA-256")
    path.write_bytes(path.read_bytes()[:-1])
    (difference,) = verify_files(files)
    assert difference.startswith(f"{label} has")
    assert "bytes instead of" in difference
    path.unlink()
    assert verify_files(files) == [f"{label} is missing"]
    path.mkdir()
    assert len(verify_files(files)) == 1


def test_every_difference_is_told(files: TemplateFiles) -> None:
    files.memory.unlink()
    flip_byte(files.rootfs, 2 << 20)  # in a hole
    assert len(verify_files(files)) == 2


def test_a_link_in_place_of_a_file_is_refused(files: TemplateFiles, tmp_path: Path) -> None:
    files.rootfs.rename(tmp_path / "elsewhere")
    files.rootfs.symlink_to(tmp_path / "elsewhere")
    (difference,) = verify_files(files)
    assert "cannot be opened" in difference


async def test_a_verified_template_is_the_files_content(
    files: TemplateFiles, vault: TemplateVault
) -> None:
    template = await vault.open("base")
    assert template.manifest == files.manifest
    assert (template.name, template.rootfs, template.overlay) == (
        "base", files.rootfs, files.overlay,
    )  # fmt: skip
    assert template.snapshot.memory_fd is not None
    memory = os.pread(template.snapshot.memory_fd, files.memory.stat().st_size, 0)
    assert memory == files.memory.read_bytes()
    assert os.pread(template.snapshot.state_fd, 100, 0) == b"device state"
    assert os.fstat(template.snapshot.memory_fd).st_blocks * 512 <= 4 << 20  # the rest is holes
    assert not template.changed()


async def test_what_was_verified_can_be_changed_by_nobody(
    files: TemplateFiles, vault: TemplateVault
) -> None:
    snapshot = (await vault.open("base")).snapshot
    for fd in (snapshot.memory_fd, snapshot.state_fd):
        writable = os.open(f"/proc/self/fd/{fd}", os.O_RDWR)  # as QEMU insists on opening it
        try:
            with pytest.raises(PermissionError):
                os.pwrite(writable, b"x", 0)
            with pytest.raises(PermissionError):
                os.ftruncate(writable, 0)
            with pytest.raises(PermissionError):
                mmap.mmap(writable, 0)
            with mmap.mmap(writable, 0, flags=mmap.MAP_PRIVATE) as private:
                private[0:1] = b"x"  # a clone's own page
        finally:
            os.close(writable)


async def test_a_second_open_is_the_same_object(files: TemplateFiles, vault: TemplateVault) -> None:
    assert await vault.open("base") is await vault.open("base")


async def test_concurrent_opens_share_one_verification(
    files: TemplateFiles, vault: TemplateVault
) -> None:
    opened = await asyncio.gather(*(vault.open("base") for _ in range(10)))
    assert len({id(template) for template in opened}) == 1


async def test_an_open_that_is_cancelled_does_not_fail_the_others(
    files: TemplateFiles, vault: TemplateVault
) -> None:
    loop = asyncio.get_running_loop()
    first, second = (loop.create_task(vault.open("base")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert (await second).name == "base"
    assert first.cancelled()


@pytest.mark.parametrize("label", LABELS)
async def test_a_changed_byte_refuses_until_it_is_put_back(
    files: TemplateFiles, vault: TemplateVault, label: str
) -> None:
    template = await vault.open("base")
    path = path_of(files, label)
    flip_byte(path)
    assert template.changed()
    for _ in range(2):
        with pytest.raises(TemplateCorrupt, match=f"{label} has SHA-256") as caught:
            await vault.open("base")
        assert len(caught.value.differences) == 1
    assert os.pread(template.snapshot.state_fd, 6, 0) == b"device"  # what runs is untouched
    flip_byte(path)
    again = await vault.open("base")
    assert again is not template
    assert not again.changed()


async def test_a_byte_in_a_hole_counts(files: TemplateFiles, vault: TemplateVault) -> None:
    await vault.open("base")
    flip_byte(files.memory, 40 << 20)
    with pytest.raises(TemplateCorrupt, match=r"memory\.snap"):
        await vault.open("base")


async def test_a_changed_manifest_refuses(files: TemplateFiles, vault: TemplateVault) -> None:
    template = await vault.open("base")
    flip_byte(files.directory / "manifest.bin", 20)
    assert template.changed()
    with pytest.raises(TemplateCorrupt, match=r"manifest\.bin"):
        await vault.open("base")


@pytest.mark.parametrize("label", LABELS)
async def test_a_missing_file_refuses(
    files: TemplateFiles, vault: TemplateVault, label: str
) -> None:
    template = await vault.open("base")
    path_of(files, label).unlink()
    assert template.changed()
    with pytest.raises(TemplateCorrupt, match=f"{label} is missing"):
        await vault.open("base")


async def test_a_file_replaced_by_its_equal_is_verified_again_and_good(
    files: TemplateFiles, vault: TemplateVault
) -> None:
    template = await vault.open("base")
    content = files.vmstate.read_bytes()
    files.vmstate.unlink()
    files.vmstate.write_bytes(content)
    assert template.changed()
    assert not (await vault.open("base")).changed()


async def test_a_rebuilt_template_counts_as_changed(
    files: TemplateFiles, vault: TemplateVault, data: Path
) -> None:
    template = await vault.open("base")
    published(data, vcpus=2)
    assert template.changed()
    assert (await vault.open("base")).manifest.vcpus == 2


async def test_a_template_rebuilt_while_it_is_verified_is_never_called_corrupt(
    files: TemplateFiles, vault: TemplateVault, data: Path
) -> None:
    for vcpus in range(2, 6):
        opening = asyncio.get_running_loop().create_task(vault.open("base"))
        await asyncio.sleep(0)  # the verification has begun in its thread
        published(data, vcpus=vcpus)
        TemplateStore(data).sweep()
        await opening
        assert (await vault.open("base")).manifest.vcpus == vcpus


async def test_a_removed_template_is_changed_and_not_found(
    files: TemplateFiles, vault: TemplateVault, data: Path
) -> None:
    template = await vault.open("base")
    TemplateStore(data).remove("base")
    assert template.changed()
    with pytest.raises(TemplateNotFound):
        await vault.open("base")
    assert os.pread(template.snapshot.state_fd, 6, 0) == b"device"


async def test_another_platform_is_refused_before_anything_is_read(
    files: TemplateFiles, data: Path
) -> None:
    files.memory.unlink()  # corrupt as well: what no rebuild-free host can run is told first
    platform = msgspec.structs.replace(PLATFORM, vmm="fake 2")
    vault = TemplateVault(TemplateStore(data), platform, PROTOCOL + 1)
    with pytest.raises(TemplateIncompatible, match="rebuild") as caught:
        await vault.open("base")
    assert len(caught.value.differences) == 2


async def test_descriptors_are_released(files: TemplateFiles, vault: TemplateVault) -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    template = await vault.open("base")
    flip_byte(files.vmstate)
    with pytest.raises(TemplateCorrupt):
        await vault.open("base")
    flip_byte(files.vmstate)
    kept = await vault.open("base")
    del template
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before + 2
    vault.close()
    kept.close()
    assert len(os.listdir("/proc/self/fd")) == before
