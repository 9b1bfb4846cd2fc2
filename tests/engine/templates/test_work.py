"""Work folders, locks and publication."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sandbox_engine.errors import TemplateBusy
from sandbox_engine.templates.work import (
    claimed,
    exclusive,
    link,
    make_folders,
    publish,
    stale_folders,
    work_folder,
)


def test_a_work_folder_is_private_and_goes(tmp_path: Path) -> None:
    with work_folder(tmp_path / "work") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert stale_folders(tmp_path / "work") == []


def test_what_was_renamed_out_of_it_stays(tmp_path: Path) -> None:
    with work_folder(tmp_path / "work") as folder:
        (folder / "file").write_text("kept")
        publish(folder / "file", tmp_path / "store" / "file")
    assert (tmp_path / "store" / "file").read_text() == "kept"


def test_a_live_work_folder_cannot_be_claimed_a_dead_one_can(tmp_path: Path) -> None:
    with work_folder(tmp_path) as folder, claimed(folder) as ours:
        assert not ours
    code = (
        "import sys, os; from pathlib import Path\n"
        "from sandbox_engine.templates.work import work_folder\n"
        "with work_folder(Path(sys.argv[1])) as folder: os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    (folder,) = stale_folders(tmp_path)
    with claimed(folder) as ours:
        assert ours


def test_a_link_is_never_mistaken_for_a_work_folder(tmp_path: Path) -> None:
    (tmp_path / "partial-x").symlink_to("/")
    with claimed(tmp_path / "partial-x") as ours:
        assert not ours


def test_a_lock_excludes_and_says_what_is_busy(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "base"
    with (
        exclusive(lock, "template 'base'"),
        pytest.raises(TemplateBusy, match="'base'"),
        exclusive(lock, "template 'base'"),
    ):
        pass
    with exclusive(lock, "template 'base'"):
        pass


def test_folders_are_passable_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        make_folders(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o755


def test_of_two_equal_results_the_first_stays(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
        publish(tmp_path / name, tmp_path / "store" / "digest")
    assert (tmp_path / "store" / "digest" / "file").read_text() == "first"


def test_publishing_to_an_impossible_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    (tmp_path / "result").touch()
    with pytest.raises(OSError, match="Not a directory"):
        publish(tmp_path / "result", tmp_path / "store" / "digest")


def test_a_link_turns_and_is_relative(tmp_path: Path) -> None:
    for target in ("one", "two"):
        (tmp_path / "base" / target).mkdir(parents=True)
        link(tmp_path / "base" / target, tmp_path / "base" / "current", tmp_path / "work")
    assert os.readlink(tmp_path / "base" / "current") == "two"
    assert stale_folders(tmp_path / "work") == []
