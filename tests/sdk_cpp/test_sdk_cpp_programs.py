"""libsandbox++: each program checks itself; the daemon's side is checked here."""

from __future__ import annotations

import asyncio
import functools
from pathlib import Path

import pytest

from tests.sdk_c.building import BUILD, VALGRIND, make
from tests.sdk_c.driving import run
from tests.sdk_c.frame_daemon import FrameDaemon


@functools.cache
def cpp_programs(flavour: str) -> Path:
    """The folder of the C++ programs: `plain`, `asan` (with UBSan) or `tsan`."""
    make("tests/sdk_cpp/cpp", f"FLAVOUR={flavour}")
    return BUILD / "tests/sdk_cpp" / flavour


FLAVOURS = ["plain", "asan", "tsan"]


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_life(daemon: FrameDaemon, flavour: str) -> None:
    assert await run(cpp_programs(flavour) / "life", daemon.path, "base") == "ok\n"
    assert daemon.destroyed == [1]


async def test_life_under_valgrind(daemon: FrameDaemon) -> None:
    out = await run(*VALGRIND, cpp_programs("plain") / "life", daemon.path, "base")
    assert out == "ok\n"


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_errors(daemon: FrameDaemon, flavour: str) -> None:
    assert await run(cpp_programs(flavour) / "errors", daemon.path) == "ok\n"
    created = sum(m.HasField("create") for m in daemon.seen)
    refused = 4  # three specs, and the template that is broken
    for connection in daemon.connections:
        await connection.closed.wait()
    assert len(daemon.destroyed) == created - refused


@pytest.mark.parametrize("flavour", FLAVOURS)
async def test_unwinding_destroys(daemon: FrameDaemon, flavour: str) -> None:
    """While the session is still open, every sandbox is gone."""
    process = await asyncio.create_subprocess_exec(
        cpp_programs(flavour) / "unwinding",
        daemon.path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert await process.stdout.readline() == b"ok\n"
    assert len(daemon.destroyed) == 80
    assert not daemon.connections[0].owned
    process.stdin.close()
    assert await process.wait() == 0


async def test_errors_under_valgrind(daemon: FrameDaemon) -> None:
    out = await run(*VALGRIND, cpp_programs("plain") / "errors", daemon.path)
    assert out == "ok\n"


async def test_the_spec_reaches_the_daemon(daemon: FrameDaemon) -> None:
    assert await run(cpp_programs("plain") / "spec", daemon.path) == "ok\n"
    request = daemon.seen[0].create
    assert (request.memory_mib, request.vcpu_count, request.template_name) == (256, 2, "base")
    assert list(request.env_vars) == ["K=V", "L="]
    assert (request.pool_wait_ms, request.session_key, request.ttl_seconds) == (500, "key", 60)
    assert list(request.egress_allow) == ["index.example", "*.packages.example"]
    assert not request.egress_deny_all
    assert daemon.seen[2].create.egress_deny_all
    assert not daemon.seen[2].create.session_key
