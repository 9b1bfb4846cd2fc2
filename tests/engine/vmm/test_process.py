"""A held process: what the kernel counts of it, and that its end leaves no descriptor."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

from sandbox_engine.vmm.process import Process

from tests.support.wait import until

COMMAND = ("sh", "-c", "read line")


async def test_counts_are_the_kernel_s_and_zeros_after_the_end() -> None:
    child = await asyncio.create_subprocess_exec(*COMMAND, stdin=asyncio.subprocess.PIPE)
    held = Process.find(child.pid)
    assert held is not None
    until(lambda: held.memory_and_faults()[0])  # the kernel counts in batches
    for _ in range(2):
        resident, faults = held.memory_and_faults()
        assert 0 < resident < 1 << 30
        assert faults > 0
    await held.kill()
    assert held.memory_and_faults() == (0, 0)
    await child.wait()


async def test_a_process_that_is_gone_leaves_no_descriptor() -> None:
    child = await asyncio.create_subprocess_exec(*COMMAND, stdin=asyncio.subprocess.PIPE)
    held = Process.find(child.pid)
    assert held is not None
    held.memory_and_faults()
    assert about(child.pid)
    await held.kill()
    assert not about(child.pid)
    await child.wait()


def about(pid: int) -> list[str]:
    """Our descriptors on files of that process."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the one that lists the folder
            links.append(str(entry.readlink()))
    return [link for link in links if link.startswith(f"/proc/{pid}/")]
