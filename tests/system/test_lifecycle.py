"""Create, pause, resume, inspect, destroy over the frames, on real VMs."""

from __future__ import annotations

import os
import signal

import pytest
from sandbox.v1 import legacy_pb2 as pb

from tests.support.engine import Engine, engine
from tests.support.frames import FrameError, Frames
from tests.support.wait import until

pytestmark = pytest.mark.vm


def test_a_command_runs(frames: Frames, sandbox: int) -> None:
    done = frames.sh(sandbox, "echo out; echo err >&2; exit 3")
    assert (done.exit_code, done.out, done.err) == (3, b"out\n", b"err\n")
    assert (done.out_total, done.err_total) == (4, 4)


def test_create_answers_a_token_of_64_hex_digits(frames: Frames) -> None:
    token = frames.create("base").session_token
    assert len(token) == 64
    int(token, 16)


def test_env_vars_reach_commands(frames: Frames) -> None:
    made = frames.create("base", env_vars=["GREETING=hello", "EMPTY="])
    done = frames.sh(made.sandbox_id, 'echo "$GREETING,${EMPTY-unset}"')
    assert done.out == b"hello,\n"


def test_inspect_counts(frames: Frames, sandbox: int) -> None:
    status = frames.inspect(sandbox)
    assert status.is_running
    assert status.memory_rss_mib > 10
    assert status.page_faults > 100


def test_pause_stops_and_resume_continues(frames: Frames, sandbox: int) -> None:
    frames.call(pause=pb.PauseRequest(sandbox_id=sandbox))
    status = frames.inspect(sandbox)
    assert not status.is_running
    assert status.uptime_ms == 0
    with pytest.raises(FrameError):
        frames.sh(sandbox, "true")
    frames.call(pause=pb.PauseRequest(sandbox_id=sandbox))  # idempotent
    frames.call(resume=pb.ResumeRequest(sandbox_id=sandbox))
    assert frames.inspect(sandbox).is_running
    assert frames.sh(sandbox, "echo on").out == b"on\n"


def test_a_closed_connection_takes_its_sandboxes_along(shared_engine: Engine) -> None:
    before = set(shared_engine.vm_folders())
    with Frames(shared_engine.engine_socket) as other, Frames(shared_engine.engine_socket) as me:
        number = other.create("base").sandbox_id
        assert other.sh(number, "true").exit_code == 0
        other.close()
        until(lambda: not_found(me, number))
    until(lambda: len(shared_engine.vm_folders()) <= len(before) + 1)


def not_found(frames: Frames, number: int) -> bool:
    try:
        frames.inspect(number)
    except FrameError as error:
        return "no sandbox" in error.message
    return False


def test_another_connections_sandbox_is_denied(shared_engine: Engine, sandbox: int) -> None:
    with Frames(shared_engine.engine_socket) as other, pytest.raises(FrameError) as caught:
        other.sh(sandbox, "true")
    assert caught.value.code == -4


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        pytest.param({"template": "nosuch"}, -2, "no template", id="unknown template"),
        pytest.param({"template": "base", "memory_mib": 77}, -2, "256 MiB", id="wrong memory"),
        pytest.param({"template": "base", "vcpu_count": 9}, -2, "vCPU", id="wrong vcpus"),
        pytest.param({"template": "../etc"}, -2, "template", id="a path for a name"),
        pytest.param({"template": "base", "env_vars": ["1A=b"]}, -2, "env_vars", id="bad env"),
        pytest.param({"template": "base", "session_key": 'a"b'}, -2, "session_key", id="bad key"),
        pytest.param(
            {"template": "base", "egress_allow": ["a.example"], "egress_deny_all": True},
            -2, "contradicts", id="contradiction",
        ),
        pytest.param(
            {"template": "base", "egress_allow": ["a.example"]}, -2, "allowed_services",
            id="not covered by the ceiling",
        ),
    ],
)  # fmt: skip
def test_a_spec_that_cannot_be_is_refused(
    frames: Frames, fields: dict[str, object], code: int, words: str
) -> None:
    with pytest.raises(FrameError) as caught:
        frames.create(**fields)  # type: ignore[arg-type]  # any field
    assert caught.value.code == code
    assert words in caught.value.message


@pytest.mark.parametrize("paused", [False, True])
def test_a_vm_killed_from_outside_is_known_at_once(
    shared_engine: Engine, frames: Frames, sandbox: int, *, paused: bool
) -> None:
    neighbour = frames.create("base").sandbox_id
    pid = int(vmm_of(shared_engine, frames, sandbox))
    if paused:
        frames.call(pause=pb.PauseRequest(sandbox_id=sandbox))
    os.kill(pid, signal.SIGKILL)
    until(lambda: not frames.inspect(sandbox).is_running and refused(frames, sandbox))
    assert frames.sh(neighbour, "echo alive").out == b"alive\n"
    frames.destroy(sandbox)
    assert not_found(frames, sandbox)


def test_a_vm_killed_during_a_command_fails_the_command(
    shared_engine: Engine, frames: Frames, sandbox: int
) -> None:
    pid = int(vmm_of(shared_engine, frames, sandbox))
    frames.send(
        pb.ClientMessage(
            request_id=900,
            guest=pb.GuestRequest(
                sandbox_id=sandbox, exec=pb.GuestExecRequest(argv=["sleep", "600"])
            ),
        )
    )
    with Frames(shared_engine.engine_socket):
        os.kill(pid, signal.SIGKILL)
    reply = frames.receive()
    assert reply.request_id == 900
    assert reply.error.error_code == -9


def refused(frames: Frames, sandbox: int) -> bool:
    try:
        frames.sh(sandbox, "true")
    except FrameError as error:
        return bool(error.code == -9)
    return False


def vmm_of(made: Engine, frames: Frames, sandbox: int) -> int:
    """The VMM whose guest has this sandbox's host name."""
    host = frames.sh(sandbox, "hostname").out.decode().strip()
    name = "vm-" + host.removeprefix("sb-")
    for pid in made.vmm_pids():
        if os.readlink(f"/proc/{pid}/cwd").endswith(name):
            return pid
    raise AssertionError(f"no VMM of {host}")


def test_pool_wait_zero_fails_fast_and_a_wait_does_not(base_template: str) -> None:
    with (
        engine(pools=[{"template": base_template, "warm": 0, "waiting": 0}]) as made,
        Frames(made.engine_socket) as frames,
    ):
        with pytest.raises(FrameError) as caught:
            frames.create("base", pool_wait_ms=0)
        assert caught.value.code == -1
        assert frames.sh(frames.create("base").sandbox_id, "true").exit_code == 0


def test_nothing_is_left(base_template: str) -> None:
    with engine(pools=[{"template": base_template, "warm": 1}]) as made:
        with Frames(made.engine_socket) as frames:
            frames.create("base")
        made.stop()
        assert made.vmm_pids() == []
        assert made.vm_folders() == []
