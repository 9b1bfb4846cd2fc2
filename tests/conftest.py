"""Fixtures every test may use, named by what is ready when they are handed over."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import (
    CACHE,
    LANE,
    LANES,
    Engine,
    build_template,
    cgroups,
    engine,
    left_behind,
)
from tests.support.node import ROOT, free_port
from tests.support.wait import until

BASE = "base"
BASE_MEMORY_MIB = 256


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """An engine is started, and a template baked, only where a test says that it is of the VMs."""
    LANE.may_start = item.get_closest_marker("vm") is not None


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's own, but never named by the test: a socket's path has at most 107 bytes."""
    return tmp_path_factory.mktemp("t")


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left() -> Iterator[None]:
    """When the suite is over, no engine's folder, VMM or control group of it remains."""
    before = cgroups()
    yield
    assert left_behind() == []
    if LANES not in os.environ:  # where there are two, `tools.lanes` looks when both have ended
        until(lambda: not cgroups() - before)


@pytest.fixture(scope="session")
def base_template() -> str:
    """A template of Debian with git and Python, baked once; its name."""
    build_template(
        BASE,
        "debian:bookworm",
        include=["git", "python3"],
        memory_mib=BASE_MEMORY_MIB,
        vcpus=1,
        disk_mib=1024,
    )
    return BASE


@pytest.fixture(scope="session")
def busybox_tree() -> Path:
    """A root folder that holds busybox and nothing else: no libc, no Python."""
    tree = CACHE / "busybox-tree"
    (tree / "bin").mkdir(parents=True, exist_ok=True)
    (tree / "etc").mkdir(exist_ok=True)
    busybox = tree / "bin" / "busybox"
    if not busybox.exists():
        busybox.write_bytes(Path("/bin/busybox").read_bytes())
        busybox.chmod(0o755)
        for name in subprocess.check_output([str(busybox), "--list"], text=True).split():
            if name != "busybox":
                (tree / "bin" / name).symlink_to("busybox")
    return tree


@pytest.fixture(scope="session")
def busybox_template(busybox_tree: Path) -> str:
    """A template of that tree; its name."""
    build_template("busybox", f"dir:{busybox_tree}", memory_mib=128, vcpus=1, disk_mib=64)
    return "busybox"


@pytest.fixture(scope="session")
def shared_engine(base_template: str) -> Iterator[Engine]:
    """One running engine for tests that leave nothing behind: a pool of two of `base`."""
    with engine(
        pools=[{"template": base_template, "warm": 2, "waiting": 1}],
        listen=f"127.0.0.1:{free_port()}",
        api_token=ROOT,
        grpc_listen=f"127.0.0.1:{free_port()}",
        connect_listen=f"127.0.0.1:{free_port()}",
        grpc_tokens={"root": hashlib.sha256(ROOT.encode()).hexdigest()},
        preview_listen=f"127.0.0.1:{free_port()}",
        sizes={"tiny": {"cpus": 1, "memory_mib": BASE_MEMORY_MIB}},
    ) as made:
        yield made
