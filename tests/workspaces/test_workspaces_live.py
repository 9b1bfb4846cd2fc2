"""Workspaces in real VMs: files stay, one VM at a time, and what a crash leaves is repaired."""

from __future__ import annotations

import os
import secrets
import signal

import grpc
import pytest
from sandbox.v1 import legacy_pb2 as legacy
from sandbox.v1 import workspaces_pb2 as pb
from sandbox.v1.workspaces_pb2_grpc import WorkspaceServiceStub

from tests.support.engine import Engine
from tests.support.frames import FrameError, Frames
from tests.support.wait import until

pytestmark = pytest.mark.vm


@pytest.fixture
def key() -> str:
    return "key " + secrets.token_hex(4)


def created(frames: Frames, key: str) -> int:
    return int(frames.create("base", session_key=key).sandbox_id)


def test_files_are_there_in_the_next_sandbox(frames: Frames, key: str) -> None:
    first = created(frames, key)
    assert frames.sh(first, "ls -A /workspace; echo kept > a; mkdir d; pwd").out == b"/workspace\n"
    frames.destroy(first)
    second = created(frames, key)
    assert frames.sh(second, "cat /workspace/a; ls -A /workspace").out == b"kept\na\nd\n"
    frames.destroy(second)


def test_another_key_is_another_workspace(frames: Frames, key: str) -> None:
    first = created(frames, key)
    frames.sh(first, "echo mine > /workspace/mine")
    second = created(frames, key + "x")
    assert frames.sh(second, "ls -A /workspace").out == b""
    frames.destroy(first)
    frames.destroy(second)


def test_a_second_sandbox_of_a_session_is_refused(frames: Frames, key: str) -> None:
    first = created(frames, key)
    with pytest.raises(FrameError, match="in use by sandbox") as caught:
        created(frames, key)
    assert caught.value.code == -9
    frames.destroy(first)
    frames.destroy(created(frames, key))


def test_a_full_workspace_is_the_guests_error_alone(frames: Frames, key: str) -> None:
    box = created(frames, key)
    result = frames.sh(box, "head -c 100M /dev/zero > /workspace/big; df -m /workspace | tail -1")
    assert b"No space left" in result.err
    assert (
        frames.sh(box, "rm /workspace/big; sync; echo again > /workspace/a; cat a").out
        == b"again\n"
    )
    frames.destroy(box)


def test_what_was_synced_outlives_a_killed_machine(
    workspace_engine: Engine, frames: Frames, key: str
) -> None:
    box = created(frames, key)
    frames.sh(box, "echo safe > /workspace/a; sync; (while :; do date >> b; done) &")
    for pid in workspace_engine.vmm_pids():
        os.kill(pid, signal.SIGKILL)
    until(lambda: not frames.inspect(box).is_running)
    frames.destroy(box)
    box = created(frames, key)
    assert frames.sh(box, "cat /workspace/a").out == b"safe\n"
    frames.destroy(box)


def test_a_killed_engine_leaves_every_synced_byte(
    workspace_engine: Engine, frames: Frames, key: str
) -> None:
    box = created(frames, key)
    assert frames.sh(box, "seq 100000 > /workspace/a; sync; cksum < a").exit_code == 0
    told = frames.sh(box, "cksum < /workspace/a").out
    workspace_engine.restart()
    with Frames(workspace_engine.engine_socket) as again:
        box = created(again, key)
        assert again.sh(box, "cksum < /workspace/a").out == told
        again.destroy(box)


def test_renewing_over_frames(frames: Frames, key: str) -> None:
    with pytest.raises(FrameError) as caught:
        frames.call(session_renew=legacy.SessionRenewRequest(session_key=key, extra_seconds=60))
    assert caught.value.code == -8
    frames.destroy(created(frames, key))
    asked = legacy.SessionRenewRequest(session_key=key, extra_seconds=60)
    first = frames.call(session_renew=asked).expires_at
    assert frames.call(session_renew=asked).expires_at == first + 60
    longest = legacy.SessionRenewRequest(session_key=key, extra_seconds=1 << 31)
    frames.call(session_renew=longest)
    with pytest.raises(FrameError) as caught:
        frames.call(session_renew=asked)
    assert caught.value.code == -7


def test_the_grpc_service(workspace_engine: Engine) -> None:
    with grpc.insecure_channel(f"unix:{workspace_engine.grpc_socket}") as channel:
        stub = WorkspaceServiceStub(channel)
        assert list(stub.ListWorkspaces(pb.ListWorkspacesRequest()).workspaces) == []
        with pytest.raises(grpc.RpcError) as caught:
            stub.GetWorkspace(pb.GetWorkspaceRequest(session_key="none"))
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
