"""Every clone is itself and in the present: clock, entropy, machine id, host name, boot id."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.engine import Engine, build_template
from tests.support.frames import Frames

pytestmark = pytest.mark.vm
FACTS = (
    "cat /etc/machine-id; head -c8 /dev/urandom | od -An -tx1; hostname;"
    "cat /proc/sys/kernel/random/boot_id; cat /run/sandbox/generation"
)


def facts(frames: Frames, sandbox: int) -> list[str]:
    done = frames.sh(sandbox, FACTS)
    assert done.exit_code == 0, done.err
    return list(done.out.decode().split("\n"))[:5]


def test_two_clones_share_nothing_that_should_be_unique(frames: Frames) -> None:
    one = facts(frames, frames.create("base").sandbox_id)
    two = facts(frames, frames.create("base").sandbox_id)
    for mine, other in zip(one, two, strict=True):
        assert mine
        assert mine != other


def test_the_clock_is_the_hosts(frames: Frames, sandbox: int) -> None:
    before = time.time()
    guest = float(frames.sh(sandbox, "date +%s.%N").out)
    assert before - 1 <= guest <= time.time() + 1


def test_the_clock_is_the_hosts_again_after_a_pause(frames: Frames, sandbox: int) -> None:
    from sandbox.v1 import legacy_pb2 as pb

    frames.call(pause=pb.PauseRequest(sandbox_id=sandbox))
    paused_at = time.monotonic()
    while time.monotonic() < paused_at + 3:  # longer than the tolerance below
        assert not frames.inspect(sandbox).is_running
    frames.call(resume=pb.ResumeRequest(sandbox_id=sandbox))
    before = time.time()
    guest = float(frames.sh(sandbox, "date +%s.%N").out)
    assert before - 1 <= guest <= time.time() + 1


def test_the_kernel_is_the_guests(frames: Frames, sandbox: int) -> None:
    import platform

    release = frames.sh(sandbox, "uname -r").out.decode().strip()
    assert release
    assert release != platform.release()


def test_a_clone_of_a_template_from_the_past_lives_in_the_present(
    shared_engine: Engine, busybox_tree: Path
) -> None:
    """The warm-up turns the guest's clock back to 2001: what a clone of an old template finds."""
    build_template(
        "from-2001",
        f"dir:{busybox_tree}",
        memory_mib=128,
        vcpus=1,
        disk_mib=64,
        warmup=["/bin/date", "-s", "@1000000000"],
    )
    with Frames(shared_engine.engine_socket) as frames:
        sandbox = frames.create("from-2001").sandbox_id
        before = int(time.time())
        guest = int(frames.sh(sandbox, "date +%s").out)
        assert before - 1 <= guest <= int(time.time()) + 1
