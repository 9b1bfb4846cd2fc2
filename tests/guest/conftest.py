"""An agent for each module that asks, and a channel to it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.guest.host import AgentProcess, Host

ROOT = Path(__file__).parents[2]


def _cgroup2() -> Path:
    """Where version 2 of the cgroup tree is on this host."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] == "cgroup2":
            return Path(fields[4])
    pytest.fail("these tests need a writable cgroup2 mount")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The native library, compiled."""
    spec = importlib.util.spec_from_file_location("build", ROOT / "guest_agent/native/build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    out = tmp_path_factory.mktemp("native") / "libspawn.so"
    built: Path = build.build_spawn(out)
    return built


@pytest.fixture(scope="module")
async def agent(
    tmp_path_factory: pytest.TempPathFactory, library: Path
) -> AsyncIterator[tuple[AgentProcess, Host]]:
    """A running agent and the host's end of its link, not yet greeted."""
    folder = tmp_path_factory.mktemp("guest")
    process = AgentProcess(
        folder, _cgroup2() / f"sandbox-test-{os.getpid()}-{folder.name}", library
    )
    host = await process.start()
    yield process, host
    await process.stop()
    host.close()


@pytest.fixture
async def host(agent: tuple[AgentProcess, Host]) -> Host:
    """A greeted channel: every test is an epoch of its own."""
    await agent[1].greet()
    return agent[1]


@pytest.fixture
def workspace(agent: tuple[AgentProcess, Host]) -> Path:
    """The guest's workspace."""
    return agent[0].workspace
