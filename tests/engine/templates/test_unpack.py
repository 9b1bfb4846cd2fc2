"""Unpacking tars: what honest ones hold, and everything a hostile one may try."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sandbox_engine.templates.unpack import BadTree, Limits, unpack

LIMITS = Limits(max_bytes=1 << 20, max_entries=100)
Member = tuple[tarfile.TarInfo, bytes]


def file(name: str, content: bytes = b"", **facts: object) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in facts.items():
        setattr(info, field, value)
    return info, content


def special(name: str, kind: bytes, **facts: object) -> Member:
    info = tarfile.TarInfo(name)
    info.type = kind
    for field, value in facts.items():
        setattr(info, field, value)
    return info, b""


def symlink(name: str, target: str) -> Member:
    return special(name, tarfile.SYMTYPE, linkname=target)


def hard_link(name: str, target: str) -> Member:
    return special(name, tarfile.LNKTYPE, linkname=target)


def folder(name: str, mode: int = 0o755) -> Member:
    return special(name, tarfile.DIRTYPE, mode=mode)


def tar(*members: Member) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder to fill; what lies beside it must never change."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("untouched")
    inside = tmp_path / "root"
    inside.mkdir()
    return inside


def fill(root: Path, *members: Member, limits: Limits = LIMITS) -> None:
    unpack(io.BytesIO(tar(*members)), root, limits)


def test_an_honest_tree_keeps_its_facts(root: Path) -> None:
    fill(
        root,
        folder("."),
        folder("etc", 0o750),
        file("./etc/passwd", b"root", mode=0o640, uid=5, gid=6, mtime=12345),
        file("usr/bin/su", b"#!", mode=0o4755, uid=0),
        symlink("bin", "usr/bin"),
        symlink("etc/absolute", "/usr/bin/su"),
        hard_link("usr/bin/also-su", "usr/bin/su"),
        special("run/pipe", tarfile.FIFOTYPE, mode=0o600),
    )
    passwd = (root / "etc/passwd").stat()
    assert (root / "etc/passwd").read_bytes() == b"root"
    assert stat.S_IMODE(passwd.st_mode) == 0o640
    assert (passwd.st_uid, passwd.st_gid, passwd.st_mtime) == (5, 6, 12345)
    assert stat.S_IMODE((root / "etc").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "usr/bin/su").stat().st_mode) == 0o4755
    assert os.readlink(root / "bin") == "usr/bin"
    assert os.readlink(root / "etc/absolute") == "/usr/bin/su"
    assert (root / "usr/bin/su").samefile(root / "usr/bin/also-su")
    assert stat.S_ISFIFO((root / "run/pipe").stat().st_mode)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_compression_is_recognised(root: Path, compress: Callable[[bytes], bytes]) -> None:
    unpack(io.BytesIO(compress(tar(file("a", b"content")))), root, LIMITS)
    assert (root / "a").read_bytes() == b"content"


def test_file_capabilities_are_kept(root: Path) -> None:
    # cap_net_raw+ep, as a revision 2 attribute: bytes that are not all UTF-8 by accident
    value = bytes.fromhex("0100000200200000000000000000000000000000")
    info, content = file("ping", b"x")
    info.pax_headers = {"SCHILY.xattr.security.capability": value.decode(errors="surrogateescape")}
    fill(root, (info, content))
    assert os.getxattr(root / "ping", "security.capability") == value


def test_a_later_member_replaces_an_earlier_one(root: Path) -> None:
    fill(root, file("a", b"first"), hard_link("b", "a"), file("a", b"second"))
    assert (root / "a").read_bytes() == b"second"
    assert (root / "b").read_bytes() == b"first"  # replaced, not written through


@pytest.mark.parametrize(
    "members",
    [
        pytest.param([file("/etc/passwd")], id="an absolute name"),
        pytest.param([file("../outside/secret", b"x")], id="dots"),
        pytest.param([file("a/../../outside/secret", b"x")], id="dots in the middle"),
        pytest.param(
            [symlink("way", "../outside"), file("way/secret", b"x")], id="through a link out"
        ),
        pytest.param(
            [symlink("way", "/"), folder("way"), file("way/tmp/x", b"x")], id="a folder over a link"
        ),
        pytest.param(
            [symlink("a", "."), symlink("a/b", "../outside"), file("b/secret", b"x")],
            id="a link made through a link",
        ),
        pytest.param([hard_link("mine", "../outside/secret")], id="a hard link out"),
        pytest.param([hard_link("mine", "/etc/passwd")], id="an absolute hard link"),
        pytest.param(
            [symlink("way", "../outside"), hard_link("mine", "way/secret")],
            id="a hard link through a link",
        ),
        pytest.param(
            [symlink("way", "../outside/secret"), hard_link("mine", "way")],
            id="a hard link to a link",
        ),
        pytest.param([hard_link("mine", "missing")], id="a hard link to nothing"),
        pytest.param([hard_link("mine", ".")], id="a hard link to the root"),
        pytest.param([special("disk", tarfile.BLKTYPE, devmajor=8)], id="a block device"),
        pytest.param([special("etc/mem", tarfile.CHRTYPE, devmajor=1)], id="a character device"),
        pytest.param([file(".", b"x")], id="the root as a file"),
        pytest.param([file("a"), file("a/b")], id="a file as a folder"),
        pytest.param([folder("a"), file("a")], id="a folder replaced by a file"),
        pytest.param([file("a" * 300)], id="a name too long"),
        pytest.param([symlink("a", "")], id="a link to nothing"),
        pytest.param([file("a", mtime=1e30)], id="a time beyond time"),
        pytest.param([file("a", uid=1 << 40)], id="an owner beyond owners"),
    ],
)
def test_a_hostile_tar_is_refused_and_touches_nothing_outside(
    root: Path, members: list[Member]
) -> None:
    outside = root.parent / "outside" / "secret"
    before = outside.stat()
    with pytest.raises(BadTree):
        fill(root, *members)
    assert outside.read_text() == "untouched"
    assert outside.stat().st_nlink == before.st_nlink
    assert sorted(path.name for path in root.parent.iterdir()) == ["outside", "root"]


def test_devices_below_dev_are_left_out(root: Path) -> None:
    fill(root, folder("dev"), special("./dev/null", tarfile.CHRTYPE), file("a", b"x"))
    assert list((root / "dev").iterdir()) == []
    assert (root / "a").exists()


def test_limits_have_two_sides(root: Path) -> None:
    fill(root, file("a", b"x" * 10), file("b"), limits=Limits(max_bytes=10, max_entries=2))
    with pytest.raises(BadTree, match="bytes"):
        fill(root, file("a", b"x" * 11), limits=Limits(max_bytes=10, max_entries=2))
    with pytest.raises(BadTree, match="files"):
        fill(root, file("a"), file("b"), file("c"), limits=Limits(max_bytes=10, max_entries=2))


def test_a_name_that_is_not_utf_8_is_kept(root: Path) -> None:
    info, content = file("caf\udce9", b"x")
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape"
    ) as archive:
        archive.addfile(info, io.BytesIO(content))
    unpack(io.BytesIO(out.getvalue()), root, LIMITS)
    assert os.listdir(bytes(root)) == [b"caf\xe9"]


def test_members_can_be_renamed_or_left_out(root: Path) -> None:
    def rename(name: str) -> str | None:
        return None if name == "left-out" else f"usr/{name}"

    members = tar(file("lib/a", b"x"), file("left-out"), hard_link("lib/b", "lib/a"))
    unpack(io.BytesIO(members), root, LIMITS, rename)
    assert (root / "usr/lib/b").samefile(root / "usr/lib/a")
    assert not (root / "left-out").exists()
    members = tar(file("left-out"), hard_link("lib/c", "left-out"))
    with pytest.raises(BadTree, match="left out"):
        unpack(io.BytesIO(members), root, LIMITS, rename)


SAMPLE = tar(folder("d"), file("d/a", b"x" * 2000), symlink("l", "d/a"), hard_link("h", "d/a"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, len(SAMPLE) - 1), st.integers(1, 255), st.integers(0, len(SAMPLE)))
def test_a_damaged_tar_never_does_more_than_be_refused(
    tmp_path_factory: pytest.TempPathFactory, at: int, change: int, length: int
) -> None:
    place = tmp_path_factory.mktemp("damaged")
    (place / "root").mkdir()
    data = bytearray(SAMPLE)
    data[at] ^= change
    for candidate in (bytes(data), SAMPLE[:length]):
        with contextlib.suppress(BadTree):
            unpack(io.BytesIO(candidate), place / "root", LIMITS)
    assert [path.name for path in place.iterdir()] == ["root"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=2000))
def test_garbage_is_refused(tmp_path: Path, data: bytes) -> None:
    if any(data[:512]):  # a block of zeros is the end of an empty archive
        with pytest.raises(BadTree):
            unpack(io.BytesIO(data), tmp_path, LIMITS)
