"""Volumes as files: whole or not there, sparse, repaired as nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from sandbox_engine.errors import NoSpace, WorkspaceDamaged
from sandbox_engine.storage import workspaces
from sandbox_engine.storage.workspaces import NOBODY, Images

SIZE = 64 << 20


@pytest.fixture
def images(tmp_path: Path) -> Images:
    return Images(tmp_path / "volumes")


async def test_a_new_one_is_sparse_and_in_order(images: Images, tmp_path: Path) -> None:
    await images.make("a", SIZE)
    assert images.names() == ["a"]
    assert images.used_bytes("a") < SIZE // 8
    path = tmp_path / "volumes" / "a.ext4"
    assert path.stat().st_size == SIZE
    assert (path.stat().st_mode & 0o777, path.stat().st_uid) == (0o600, NOBODY)
    subprocess.run(["e2fsck", "-fn", str(path)], check=True, capture_output=True)


async def test_an_unclean_one_is_repaired(images: Images, tmp_path: Path) -> None:
    await images.make("a", SIZE)
    path = tmp_path / "volumes" / "a.ext4"
    for wrong in ("ssv free_blocks_count 1", "ssv state 2", "ssv free_inodes_count 3"):
        subprocess.run(["debugfs", "-w", "-R", wrong, str(path)], check=True, capture_output=True)
    await images.repair("a")
    subprocess.run(["e2fsck", "-fn", str(path)], check=True, capture_output=True)


async def test_what_is_no_filesystem_is_an_error(images: Images, tmp_path: Path) -> None:
    await images.make("a", SIZE)
    os.truncate(tmp_path / "volumes" / "a.ext4", 0)
    with pytest.raises(WorkspaceDamaged, match="cannot be repaired"):
        await images.repair("a")


async def test_a_missing_one_is_an_error(images: Images) -> None:
    with pytest.raises(WorkspaceDamaged):
        images.open("a")
    images.remove("a")


async def test_a_link_is_not_followed(images: Images, tmp_path: Path) -> None:
    (tmp_path / "volumes" / "a.ext4").symlink_to("/etc/passwd")
    with pytest.raises(WorkspaceDamaged):
        images.open("a")


def test_half_of_one_is_swept(tmp_path: Path) -> None:
    folder = tmp_path / "volumes"
    folder.mkdir()
    (folder / "a.new").touch()
    assert Images(folder).names() == []
    assert list(folder.iterdir()) == []


async def test_a_full_host_makes_none(images: Images, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "LOW_SPACE_BYTES", shutil.disk_usage("/").total * 2)
    with pytest.raises(NoSpace, match="too little space"):
        await images.make("a", SIZE)
    assert images.names() == []
