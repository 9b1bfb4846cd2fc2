"""`kill -9` of the daemon: what was answered under a lease lives on, everything else is gone."""

from __future__ import annotations

import os
import signal
import threading

import grpc
import pytest
from sandbox.v1 import guest_pb2, guest_pb2_grpc, sandboxes_pb2, sandboxes_pb2_grpc

from tests.support.engine import Engine, cgroups
from tests.support.frames import Frames
from tests.support.wait import until

pytestmark = pytest.mark.vm


def connect(made: Engine) -> grpc.Channel:
    return grpc.insecure_channel(f"unix:{made.grpc_socket}")


def create(channel: grpc.Channel, **fields: object) -> sandboxes_pb2.Sandbox:
    stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
    request = sandboxes_pb2.CreateSandboxRequest(template="base", **fields)  # type: ignore[arg-type]  # any field
    request.pool_wait.FromSeconds(60)
    request.ttl.FromSeconds(600)
    return stub.CreateSandbox(request).sandbox


def sh(channel: grpc.Channel, sandbox: str, script: str) -> bytes:
    start = guest_pb2.ExecStart(sandbox_id=sandbox, argv=[script], shell=True)
    out = b""
    for event in guest_pb2_grpc.GuestServiceStub(channel).Exec(
        iter([guest_pb2.ExecRequest(start=start)])
    ):
        out += event.out.data
    return out


def test_a_leased_sandbox_is_adopted_with_what_runs_in_it(own_engine: Engine) -> None:
    with connect(own_engine) as channel:
        sandbox = create(channel)
        sh(channel, sandbox.id, "echo kept > /workspace/file; cat /etc/machine-id > /workspace/id")
    own_engine.restart()
    with connect(own_engine) as channel:
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        found = stub.GetSandbox(sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox.id)).sandbox
        assert found.state == sandboxes_pb2.SANDBOX_STATE_RUNNING
        assert found.expire_time == sandbox.expire_time
        assert sh(channel, sandbox.id, "cat file") == b"kept\n"
        assert sh(channel, sandbox.id, "cmp /etc/machine-id id && echo same") == b"same\n"


def test_a_paused_sandbox_is_adopted_paused(own_engine: Engine) -> None:
    with connect(own_engine) as channel:
        sandbox = create(channel)
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        stub.PauseSandbox(sandboxes_pb2.PauseSandboxRequest(sandbox_id=sandbox.id))
    own_engine.restart()
    with connect(own_engine) as channel:
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        found = stub.GetSandbox(sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox.id)).sandbox
        assert found.state == sandboxes_pb2.SANDBOX_STATE_PAUSED
        stub.ResumeSandbox(sandboxes_pb2.ResumeSandboxRequest(sandbox_id=sandbox.id))
        assert sh(channel, sandbox.id, "echo on") == b"on\n"


def test_what_a_connection_held_is_gone(own_engine: Engine) -> None:
    with Frames(own_engine.engine_socket) as frames:
        frames.create("base")
        own_engine.kill()
    assert own_engine.vmm_pids()
    own_engine.start()
    until(lambda: len(own_engine.vm_folders()) == len(set(own_engine.vmm_pids())) <= 2)
    with connect(own_engine) as channel:
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        assert not stub.ListSandboxes(sandboxes_pb2.ListSandboxesRequest()).sandboxes


def test_a_vm_that_died_while_the_engine_was_down_boots_from_its_disk(own_engine: Engine) -> None:
    with connect(own_engine) as channel:
        sandbox = create(channel)
        sh(channel, sandbox.id, "echo kept > /root/kept; sync")
    own_engine.kill()
    names = set(own_engine.vm_folders())
    assert names & cgroups()
    for pid in own_engine.vmm_pids():
        os.kill(pid, signal.SIGKILL)
    until(lambda: not own_engine.vmm_pids())
    own_engine.start()
    assert not names & cgroups(), "the group of a VM that died unwatched is still there"
    with connect(own_engine) as channel:
        assert sh(channel, sandbox.id, "cat /root/kept") == b"kept\n"  # it waits for the boot
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        found = stub.GetSandbox(sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox.id)).sandbox
        assert (found.restarts, found.failure) == (1, "")


def test_killed_at_any_moment_of_a_burst_everything_answered_lives_and_nothing_else(
    own_engine: Engine,
) -> None:
    answered: list[str] = []
    first = threading.Event()

    def burst() -> None:
        with connect(own_engine) as channel:
            try:
                for number in range(4):
                    sandbox = create(channel, request_id=f"burst-{number}")
                    answered.append(sandbox.id)
                    first.set()
            except grpc.RpcError:
                first.set()

    worker = threading.Thread(target=burst)
    worker.start()
    assert first.wait(60)
    own_engine.kill()
    worker.join()
    own_engine.start()
    with connect(own_engine) as channel:
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        listed = {s.id for s in stub.ListSandboxes(sandboxes_pb2.ListSandboxesRequest()).sandboxes}
        assert set(answered) <= listed  # one more may have been committed and not yet answered
        assert len(listed) <= len(answered) + 1
        for number, sandbox_id in enumerate(answered):
            again = create(channel, request_id=f"burst-{number}")
            assert again.id == sandbox_id  # replayed, not made again
        for sandbox_id in listed:
            assert sh(channel, sandbox_id, "echo alive") == b"alive\n"
            stub.DestroySandbox(sandboxes_pb2.DestroySandboxRequest(sandbox_id=sandbox_id))
