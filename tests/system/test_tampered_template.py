"""A template that is not what its manifest says starts nothing, and says what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import CACHE, Engine, build_template, engine
from tests.support.frames import FrameError, Frames

pytestmark = pytest.mark.vm
FILES = ["memory.snap", "vmstate", "rootfs.ext4", "manifest.bin"]


@pytest.fixture
def copied(busybox_tree: Path) -> Iterator[Engine]:
    """An engine, not started, with a copy of the small template as its own."""
    build_template("busybox", f"dir:{busybox_tree}", memory_mib=128, vcpus=1, disk_mib=64)
    with engine(start=False, share=False) as made:
        for name in ("templates", "store"):
            subprocess.run(
                ["cp", "-a", "--sparse=always", str(CACHE / name), str(made.data / name)],
                check=True,
            )
        shutil.rmtree(made.data / "templates" / "base", ignore_errors=True)
        made.start()
        yield made


def current(made: Engine) -> Path:
    return (made.data / "templates" / "busybox" / "current").resolve()


def flip_last_byte(path: Path) -> None:
    """Change one byte and leave size and modification time as they were."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        (byte,) = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([byte ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_refuses_every_create(copied: Engine, name: str) -> None:
    with Frames(copied.engine_socket) as frames:
        number = frames.create("busybox").sandbox_id
        flip_last_byte(current(copied) / name)
        for _ in range(2):
            with pytest.raises(FrameError) as caught:
                frames.create("busybox")
            assert "rebuild" in caught.value.message
        assert frames.sh(number, "echo alive").out == b"alive\n"  # what runs goes on


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_refuses_every_create(copied: Engine, name: str) -> None:
    (current(copied) / name).unlink()
    with Frames(copied.engine_socket) as frames, pytest.raises(FrameError) as caught:
        frames.create("busybox")
    assert "rebuild" in caught.value.message


def test_a_byte_changed_while_the_engine_was_down_is_found(copied: Engine) -> None:
    copied.stop()
    flip_last_byte(current(copied) / "memory.snap")
    copied.start()
    with Frames(copied.engine_socket) as frames, pytest.raises(FrameError) as caught:
        frames.create("busybox")
    assert "memory.snap" in caught.value.message
