"""What a guest may send as a tree, and what it may not."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from sandbox_sdk import _tree
from sandbox_sdk.errors import UnsafeTree


def packed(*members: tuple[str, bytes, str]) -> io.BytesIO:
    """A tar file of (name, kind, content or target)."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.mode = 0o7777
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content.encode()))
            else:
                info.linkname = content
                archive.addfile(info)
    made.seek(0)
    return made


FILE, LINK, HARD, FIFO, DEVICE = (
    tarfile.REGTYPE,
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
)


@pytest.mark.parametrize(
    "members",
    [
        [("/etc/x", FILE, "a")],
        [("../x", FILE, "a")],
        [("a/../../x", FILE, "a")],
        [("a", LINK, "/etc/passwd")],
        [("a", LINK, "..")],
        [("a/b", LINK, "../../x")],
        [("a", LINK, "b/../..")],
        # Each link by itself stays inside; through the first, the second would not.
        [("a/b/c/s", LINK, "../../.."), ("a/b/c/e", LINK, "s/../..")],
        [("a", LINK, "b"), ("a/x", LINK, "c")],
        [("a", HARD, "/etc/passwd")],
        [("a", FIFO, "")],
        [("a", DEVICE, "")],
    ],
    ids=lambda members: " ".join(f"{name}>{target}" for name, _, target in members),
)
def test_what_would_reach_outside_is_refused(
    members: list[tuple[str, bytes, str]], tmp_path: Path
) -> None:
    inside = tmp_path / "deep" / "inside"
    with pytest.raises(UnsafeTree):
        _tree.unpack(packed(*members), str(inside))
    assert sorted(tmp_path.iterdir()) == [tmp_path / "deep"]
    assert list((tmp_path / "deep").iterdir()) == [inside]


def test_a_file_is_never_written_through_a_link(tmp_path: Path) -> None:
    with pytest.raises((UnsafeTree, FileExistsError)):
        _tree.unpack(packed(("d", LINK, "e"), ("d/x", FILE, "a")), str(tmp_path / "t"))
    assert not (tmp_path / "t/e").exists()


def test_what_is_not_a_tar_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeTree):
        _tree.unpack(io.BytesIO(b"no tar" * 200), str(tmp_path / "t"))


def test_a_full_folder_is_not_unpacked_into(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(FileExistsError):
        _tree.unpack(packed(("there", FILE, "theirs")), str(tmp_path))
    assert (tmp_path / "there").read_text() == "mine"


def test_a_tree_comes_back_as_it_was(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/b/file").write_bytes(bytes(range(256)))
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    (tree / "a/link").symlink_to("b/file")
    os.mkfifo(tree / "fifo")
    with io.BytesIO() as kept:
        _tree.pack(str(tree), kept)
        _tree.unpack(kept, str(tmp_path / "back"))
    back = tmp_path / "back"
    assert (back / "a/link").readlink() == Path("b/file")
    assert (back / "a/link").read_bytes() == bytes(range(256))
    assert (back / "run").stat().st_mode & 0o777 == 0o755
    assert not (back / "fifo").exists()


def test_set_user_id_bits_do_not_come_along(tmp_path: Path) -> None:
    _tree.unpack(packed(("x", FILE, "a")), str(tmp_path / "t"))
    assert (tmp_path / "t/x").stat().st_mode & 0o7022 == 0
