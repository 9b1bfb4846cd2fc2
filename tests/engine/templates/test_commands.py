"""Running programs: output, failure, cancellation."""

from __future__ import annotations

import asyncio
import os
import select
from pathlib import Path

import pytest
from sandbox_engine.templates.commands import KEPT_LINES, CommandFailed, run


async def test_output_input_and_lines() -> None:
    lines: list[str] = []
    out = await run(
        ["sh", "-c", "cat; echo one >&2; printf two >&2"], script="in", on_line=lines.append
    )
    assert out == "in"
    assert lines == ["one"]


async def test_a_failure_ends_with_its_last_words() -> None:
    command = (
        f"i=0; while [ $i -lt {KEPT_LINES + 5} ]; do echo line $i >&2; i=$((i+1)); done; exit 3"
    )
    with pytest.raises(CommandFailed) as caught:
        await run(["sh", "-c", command])
    assert "sh ended with 3" in str(caught.value)
    assert f"line {KEPT_LINES + 4}" in str(caught.value)
    assert "line 0\n" not in str(caught.value)
    assert not caught.value.no_space


async def test_a_line_without_end_does_not_fill_memory() -> None:
    with pytest.raises(CommandFailed) as caught:
        await run(["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1"])
    assert len(str(caught.value)) < 10_000


async def test_a_full_disk_is_recognised() -> None:
    with pytest.raises(CommandFailed) as caught:
        await run(["sh", "-c", "head -c1 /dev/zero >/dev/full"])
    assert caught.value.no_space


async def test_a_missing_program_is_named() -> None:
    with pytest.raises(CommandFailed, match="no-such-program is not installed") as caught:
        await run(["no-such-program"])
    assert caught.value.did_not_start


async def test_cancellation_ends_the_whole_group(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    started = asyncio.Event()
    script = f"sleep 600 & echo $! $$ >{pids}; echo started >&2; wait"
    command = run(["sh", "-c", script], on_line=lambda _: started.set())
    running = asyncio.get_running_loop().create_task(command)
    await started.wait()
    watched = [os.pidfd_open(int(pid)) for pid in pids.read_text().split()]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for pidfd in watched:
        ended, _, _ = select.select([pidfd], [], [], 10)
        assert ended
        os.close(pidfd)
