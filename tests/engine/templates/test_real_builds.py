"""Builds with real kernels, disks and virtual machines, by the builder as its own process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.model.template import decode_manifest
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import verify_files

from tests.support.engine import CACHE, processes_below

pytestmark = pytest.mark.vm

LIBRARIES = "/run/agent/usr/lib/x86_64-linux-gnu"
AGENT_PYTHON = [
    f"{LIBRARIES}/ld-linux-x86-64.so.2", "--library-path", LIBRARIES,
    "/run/agent/usr/bin/python3.11", "-I", "-S", "-c",
]  # fmt: skip
STEPS = ["kernel", "initramfs", "agent", "rootfs", "bake", "publish"]


class BuilderProcess:
    """`python -m sandbox_engine.builder` on one data folder."""

    def __init__(self, data: Path, tree: Path) -> None:
        self.data, self.store = data, TemplateStore(data)
        self._tree = tree

    def start(self, **fields: Any) -> subprocess.Popen[str]:
        sizes = {"memory_mib": 160, "disk_mib": 64}
        request = {"name": "small", "source": f"dir:{self._tree}", **sizes, **fields}
        return subprocess.Popen(
            [
                sys.executable, "-m", "sandbox_engine.builder",
                "--data-dir", str(self.data), "--request", json.dumps(request),
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def build(self, **fields: Any) -> list[dict[str, Any]]:
        """Every line it printed."""
        process = self.start(**fields)
        out, _ = process.communicate()
        lines = [json.loads(line) for line in out.splitlines()]
        assert process.returncode == (1 if "error" in lines[-1] else 0)
        return lines

    def error(self, **fields: Any) -> dict[str, str]:
        """What a build that must fail ended with; nothing of it may be left."""
        last = self.build(**fields)[-1]
        assert "error" in last
        assert self.store.names() == []
        assert self.leftovers == []
        error: dict[str, str] = last["error"]
        return error

    @property
    def leftovers(self) -> list[str]:
        """Work folders and processes of builds."""
        work = self.data / "work"
        names = os.listdir(work) if work.exists() else []
        return [*names, *map(str, processes_below(work))]


@pytest.fixture
def builder(busybox_template: str, busybox_tree: Path) -> Iterator[BuilderProcess]:
    """A builder on a folder of its own; kernel and agent come from the shared cache."""
    data = Path(tempfile.mkdtemp(prefix="builder-", dir=CACHE.parent))
    data.chmod(0o711)
    for name in ("store", "cache"):
        (data / name).symlink_to(CACHE / name)
    made = BuilderProcess(data, busybox_tree)
    yield made
    for pid in processes_below(data):
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(data)


def until(process: subprocess.Popen[str], detail: str) -> None:
    """Read its lines up to the one that says `detail`."""
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line).get("detail") == detail:
            return
    raise AssertionError(f"it never said {detail!r}")


@pytest.mark.parametrize("name", ["base", "busybox"])
def test_templates_of_debian_and_of_nothing_but_busybox(
    base_template: str, busybox_template: str, name: str
) -> None:
    files = TemplateStore(CACHE).find(name)
    assert verify_files(files) == []
    assert files.manifest.kernel_release.endswith("-cloud-amd64")
    assert files.memory.stat().st_size == files.manifest.memory_mib << 20
    data = (files.directory / "manifest.bin").read_bytes()
    assert decode_manifest(data) == files.manifest


def test_a_build_tells_its_steps_and_the_second_is_cached(builder: BuilderProcess) -> None:
    # The warm-up is the agent's own interpreter, in a root that has no libc.
    modules = "asyncio, bz2, ctypes, hashlib, json, lzma, resource, ssl, subprocess, tarfile"
    fields = {"warmup": [*AGENT_PYTHON, f"import {modules}"]}
    lines = builder.build(**fields)
    assert [line["step"] for line in lines if line.get("state") == "started"] == STEPS
    assert {"booting", "warming up", "saving"} <= {line.get("detail") for line in lines}
    assert lines[-1]["result"]["name"] == "small"
    assert builder.store.find("small").digest == lines[-1]["result"]["digest"]
    assert verify_files(builder.store.find("small")) == []
    again = builder.build(**fields)
    ended = {line["step"]: line["state"] for line in again if line.get("state") == "cached"}
    assert list(ended) == STEPS
    assert again[-1] == lines[-1]
    assert builder.leftovers == []


def test_a_warmup_that_fails_is_told_with_its_output(builder: BuilderProcess) -> None:
    error = builder.error(warmup=["sh", "-c", "echo the reason >&2; exit 7"])
    assert error["step"] == "bake"
    assert "exited with 7: the reason" in error["message"]


def test_a_guest_without_room_for_its_kernel_is_told_why(builder: BuilderProcess) -> None:
    assert "too little memory" in builder.error(memory_mib=64)["message"]


def test_a_warmup_that_is_not_there_is_told(builder: BuilderProcess) -> None:
    assert "no-such-program" in builder.error(warmup=["no-such-program"])["message"]


def test_a_guest_that_crashes_is_noticed_and_its_console_shown(builder: BuilderProcess) -> None:
    crash = "echo 1 >/proc/sys/kernel/sysrq; echo c >/proc/sysrq-trigger"
    error = builder.error(warmup=["sh", "-c", crash])
    assert error["step"] == "bake"
    assert "sysrq triggered crash" in error["message"]


def test_a_stopped_build_leaves_nothing(builder: BuilderProcess) -> None:
    with builder.start(warmup=["sleep", "600"]) as process:
        until(process, "warming up")
        assert processes_below(builder.data / "work")
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        last = json.loads(process.stdout.read().splitlines()[-1])
        assert "stopped" in last["error"]["message"]
    assert process.returncode == 1
    assert builder.leftovers == []
    assert builder.store.names() == []


def test_a_build_whose_reader_is_gone_leaves_nothing(builder: BuilderProcess) -> None:
    with builder.start(warmup=["sleep", "1"]) as process:
        until(process, "warming up")
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 1
    assert builder.leftovers == []
    assert builder.store.names() == []


def test_what_a_killed_builder_left_is_ended_by_the_next(builder: BuilderProcess) -> None:
    with builder.start(warmup=["sleep", "600"]) as process:
        until(process, "warming up")
        process.kill()
    assert processes_below(builder.data / "work")  # its VM runs on
    assert builder.store.names() == []
    assert "result" in builder.build()[-1]
    assert builder.leftovers == []


def test_bad_requests_are_refused_by_field(builder: BuilderProcess) -> None:
    error = builder.error(memory_mib=63)
    assert (error["code"], error["field"]) == ("INVALID_ARGUMENT", "memory_mib")
    assert builder.error(nonsense=1)["code"] == "INVALID_ARGUMENT"
    error = builder.error(source="dir:/no/such/folder")
    assert (error["code"], error["field"]) == ("INVALID_ARGUMENT", "source")
    assert "No such file" in error["message"]
