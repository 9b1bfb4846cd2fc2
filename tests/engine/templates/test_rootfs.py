"""Root file systems from tars and folders (suites are built by the tests with VMs)."""

from __future__ import annotations

import gzip
import io
import os
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from sandbox_engine.model.template import BuildRequest
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.rootfs import BadSource, obtain


def listing(image: Path, folder: str = "/") -> set[str]:
    """Names in a folder of an ext4 image."""
    out = subprocess.run(
        ["debugfs", "-R", f"ls -p {folder}", str(image)], capture_output=True, text=True, check=True
    ).stdout
    return {line.split("/")[5] for line in out.splitlines() if line} - {".", "..", "lost+found"}


def content(image: Path, path: str) -> str:
    return subprocess.run(
        ["debugfs", "-R", f"cat {path}", str(image)], capture_output=True, text=True, check=True
    ).stdout


def request(source: str, disk_mib: int = 64) -> BuildRequest:
    return BuildRequest(name="base", source=source, disk_mib=disk_mib)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder as a source."""
    folder = tmp_path / "tree"
    (folder / "etc").mkdir(parents=True)
    (folder / "etc/motd").write_text("hello")
    (folder / "bin").symlink_to("usr/bin")
    return folder


async def test_a_folder_becomes_an_image_and_stays_as_it_was(data: Path, tree: Path) -> None:
    before = sorted(str(path) for path in tree.rglob("*"))
    rootfs, cached = await obtain(Layout(data), request(f"dir:{tree}"))
    assert not cached
    assert listing(rootfs.image) == {"etc", "bin"}
    assert content(rootfs.image, "/etc/motd") == "hello"
    assert rootfs.image.stat().st_size == 64 << 20
    assert rootfs.image.stat().st_blocks * 512 < 8 << 20
    assert sorted(str(path) for path in tree.rglob("*")) == before
    subprocess.run(["e2fsck", "-fn", str(rootfs.image)], check=True, capture_output=True)


async def test_the_same_content_is_not_made_twice(data: Path, tree: Path) -> None:
    first, _ = await obtain(Layout(data), request(f"dir:{tree}"))
    second, cached = await obtain(Layout(data), request(f"dir:{tree}"))
    assert (second, cached) == (first, True)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda tree: (tree / "etc/motd").write_text("hallo"), id="content"),
        pytest.param(lambda tree: (tree / "etc/motd").chmod(0o600), id="a mode"),
        pytest.param(lambda tree: os.chown(tree / "etc", 7, 7), id="an owner"),
        pytest.param(lambda tree: (tree / "new").touch(), id="a file more"),
        pytest.param(lambda tree: (tree / "bin").unlink(), id="a link less"),
        pytest.param(lambda tree: os.utime(tree / "etc/motd", (5, 5)), id="a time"),
    ],
)
async def test_any_change_of_a_folder_is_another_input(
    data: Path, tree: Path, change: Callable[[Path], None]
) -> None:
    first, _ = await obtain(Layout(data), request(f"dir:{tree}"))
    change(tree)
    second, cached = await obtain(Layout(data), request(f"dir:{tree}"))
    assert not cached
    assert second.identity != first.identity


async def test_another_disk_size_is_another_image(data: Path, tree: Path) -> None:
    first, _ = await obtain(Layout(data), request(f"dir:{tree}", 64))
    second, cached = await obtain(Layout(data), request(f"dir:{tree}", 65))
    assert not cached
    assert second.image.stat().st_size - first.image.stat().st_size == 1 << 20


def packed(tree: Path) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(tree, ".")
    return out.getvalue()


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-qc"], input=data, capture_output=True, check=True).stdout


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd], ids=["plain", "gzip", "zstd"])
async def test_a_tar_becomes_an_image(
    data: Path, tree: Path, tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    archive = tmp_path / "root.tar"
    archive.write_bytes(compress(packed(tree)))
    rootfs, cached = await obtain(Layout(data), request(f"tar:{archive}"))
    assert not cached
    assert listing(rootfs.image) == {"etc", "bin"}
    assert content(rootfs.image, "/etc/motd") == "hello"


async def test_owners_of_a_tar_are_in_the_image(data: Path, tmp_path: Path) -> None:
    archive = tmp_path / "root.tar"
    with tarfile.open(archive, "w") as out:
        info = tarfile.TarInfo("mine")
        info.uid, info.gid, info.mode = 1234, 4321, 0o4711
        out.addfile(info)
    rootfs, _ = await obtain(Layout(data), request(f"tar:{archive}"))
    facts = subprocess.run(
        ["debugfs", "-R", "stat /mine", str(rootfs.image)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "User:  1234   Group:  4321" in facts
    assert "Mode:  04711" in facts


async def refused(data: Path, source: str, disk_mib: int = 64) -> BadSource:
    with pytest.raises(BadSource) as caught:
        await obtain(Layout(data), request(source, disk_mib))
    assert not (data / "cache" / "rootfs").exists()
    work = data / "work"
    assert not work.exists() or os.listdir(work) == []
    return caught.value


async def test_a_source_that_is_not_there(data: Path, tmp_path: Path) -> None:
    assert "No such file" in str(await refused(data, f"tar:{tmp_path}/none"))
    assert "No such file" in str(await refused(data, f"dir:{tmp_path}/none"))


async def test_a_source_of_the_wrong_kind(data: Path, tmp_path: Path, tree: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert "regular file" in str(await refused(data, f"tar:{tmp_path}/fifo"))
    assert "regular file" in str(await refused(data, f"tar:{tree}"))
    assert "folder" in str(await refused(data, f"dir:{tree}/etc/motd"))


async def test_a_hostile_tar_names_its_member(data: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bad.tar", "w") as out:
        out.addfile(tarfile.TarInfo("../escape"))
    error = await refused(data, f"tar:{tmp_path}/bad.tar")
    assert "../escape" in str(error)
    assert error.field == "source"


async def test_a_broken_zstd_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.tar.zst").write_bytes(zstd(bytes(1000))[:-5] + b"zzzzz")
    assert "tar" in str(await refused(data, f"tar:{tmp_path}/bad.tar.zst"))


async def test_a_folder_with_a_device_is_refused(data: Path, tree: Path) -> None:
    os.mknod(tree / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    assert "device" in str(await refused(data, f"dir:{tree}"))


async def test_more_than_the_disk_holds_is_refused_whatever_the_source(
    data: Path, tree: Path, tmp_path: Path
) -> None:
    (tree / "big").write_bytes(os.urandom(70 << 20))
    assert (await refused(data, f"dir:{tree}")).field == "disk_mib"
    (tmp_path / "root.tar").write_bytes(packed(tree))
    assert "bytes" in str(await refused(data, f"tar:{tmp_path}/root.tar"))


async def test_a_bomb_is_stopped_at_the_disk_s_size(data: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "bomb.tar.gz", "w:gz", compresslevel=1) as out:
        info = tarfile.TarInfo("zeros")
        info.size = 200 << 20
        out.addfile(info, io.BytesIO(bytes(200 << 20)))
    assert "bytes" in str(await refused(data, f"tar:{tmp_path}/bomb.tar.gz"))
