"""A hundred sandboxes later the daemon is as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.engine import Engine, engine
from tests.support.frames import Frames
from tests.support.wait import until

pytestmark = pytest.mark.vm
COUNT = 100
RSS_SLACK_MIB = 8


@pytest.mark.timeout(240)
def test_a_hundred_creates_and_destroys_leave_nothing(busybox_template: str) -> None:
    pools = [{"template": busybox_template, "warm": 1, "waiting": 1}]
    with engine(pools=pools) as made, Frames(made.engine_socket) as frames:
        churn(frames, busybox_template, 10)  # caches of the daemon and its allocator fill
        settled(made)
        before = (rss_mib(made.pid), descriptors(made.pid), tree(made))
        churn(frames, busybox_template, COUNT)
        settled(made)
        until(lambda: descriptors(made.pid) <= before[1])
        assert rss_mib(made.pid) <= before[0] + RSS_SLACK_MIB
        assert tree(made) == before[2]


def churn(frames: Frames, template: str, count: int) -> None:
    for _ in range(count):
        frames.destroy(frames.create(template).sandbox_id)


def settled(made: Engine) -> None:
    """The pool is full again: one warm VM and one waiting VMM."""
    until(lambda: len(made.vm_folders()) == len(made.vmm_pids()) == 2)


def rss_mib(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") >> 20


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def tree(made: Engine) -> list[str]:
    """Every name in the state folder, VMs counted and not named."""
    names = sorted(entry.name for entry in made.data.iterdir())
    return [*names, str(len(made.vm_folders()))]
