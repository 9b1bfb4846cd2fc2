"""Saved states by gRPC, against a live engine."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from sandbox.v1 import (
    checkpoints_pb2,
    checkpoints_pb2_grpc,
    guest_pb2,
    guest_pb2_grpc,
    node_pb2,
    node_pb2_grpc,
    sandboxes_pb2,
    sandboxes_pb2_grpc,
    templates_pb2,
    templates_pb2_grpc,
)

from tests.snapshots.nodes import Node
from tests.support.wait import until

pytestmark = pytest.mark.vm


class Stubs:
    def __init__(self, channel: grpc.Channel) -> None:
        self.boxes = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        self.checkpoints = checkpoints_pb2_grpc.CheckpointServiceStub(channel)
        self.templates = templates_pb2_grpc.TemplateServiceStub(channel)
        self.guest = guest_pb2_grpc.GuestServiceStub(channel)

    def run(self, sandbox: str, script: str) -> bytes:
        start = guest_pb2.ExecStart(sandbox_id=sandbox, argv=["sh", "-c", script])
        answers = self.guest.Exec(iter([guest_pb2.ExecRequest(start=start)]))
        return b"".join(one.out.data for one in answers if one.HasField("out"))

    def destroy(self, sandbox: str) -> None:
        self.boxes.DestroySandbox(sandboxes_pb2.DestroySandboxRequest(sandbox_id=sandbox))


@pytest.fixture
def stubs(live: Node) -> Iterator[Stubs]:
    with grpc.insecure_channel(f"unix:{live.engine.grpc_socket}") as channel:
        yield Stubs(channel)


@pytest.fixture
def sandbox(stubs: Stubs) -> Iterator[str]:
    request = sandboxes_pb2.CreateSandboxRequest(template="base")
    request.pool_wait.FromSeconds(60)
    made = stubs.boxes.CreateSandbox(request).sandbox.id
    yield made
    stubs.destroy(made)


def test_hibernate_wake_fork_checkpoint_and_branch(stubs: Stubs, sandbox: str) -> None:
    stubs.run(sandbox, "echo past > /root/mark")
    slept = stubs.boxes.HibernateSandbox(sandboxes_pb2.HibernateSandboxRequest(sandbox_id=sandbox))
    assert slept.sandbox.state == sandboxes_pb2.SANDBOX_STATE_HIBERNATED
    assert stubs.run(sandbox, "cat /root/mark") == b"past\n"
    woken = stubs.boxes.WakeSandbox(sandboxes_pb2.WakeSandboxRequest(sandbox_id=sandbox))
    assert woken.sandbox.state == sandboxes_pb2.SANDBOX_STATE_RUNNING
    forked = stubs.boxes.ForkSandbox(
        sandboxes_pb2.ForkSandboxRequest(sandbox_id=sandbox, count=1, claim_ref_prefix="x/")
    )
    (child,) = forked.children
    assert (child.sandbox.parent_id, child.sandbox.claim_ref) == (sandbox, f"x/{child.sandbox.id}")
    assert len(child.credentials.token) == 64
    assert stubs.run(child.sandbox.id, "cat /root/mark") == b"past\n"
    stubs.destroy(child.sandbox.id)
    kept = stubs.checkpoints.CreateCheckpoint(
        checkpoints_pb2.CreateCheckpointRequest(sandbox_id=sandbox, name="one")
    ).checkpoint
    listed = stubs.checkpoints.ListCheckpoints(
        checkpoints_pb2.ListCheckpointsRequest(sandbox_id=sandbox)
    ).checkpoints
    assert list(listed) == [kept]
    asked = checkpoints_pb2.GetCheckpointRequest(checkpoint_id=kept.id)
    assert stubs.checkpoints.GetCheckpoint(asked).checkpoint == kept
    branch = stubs.checkpoints.BranchCheckpoint(
        checkpoints_pb2.BranchCheckpointRequest(checkpoint_id=kept.id)
    ).sandbox
    assert branch.from_checkpoint == kept.id
    assert stubs.run(branch.id, "cat /root/mark") == b"past\n"
    stubs.destroy(branch.id)
    gone = checkpoints_pb2.DeleteCheckpointRequest(checkpoint_id=kept.id)
    stubs.checkpoints.DeleteCheckpoint(gone)
    with pytest.raises(grpc.RpcError) as refused:
        stubs.checkpoints.GetCheckpoint(asked)
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_promote_label_create_and_remove(stubs: Stubs, sandbox: str) -> None:
    stubs.run(sandbox, "echo promoted > /root/mark")
    made = stubs.checkpoints.PromoteSandbox(
        checkpoints_pb2.PromoteSandboxRequest(sandbox_id=sandbox, template="proj:v1")
    ).template
    assert (made.name, made.source) == ("proj:v1", f"sandbox:{sandbox}")
    named = templates_pb2.SetTemplateLabelsRequest(
        name="proj:v1", labels={"a": "b"}, digest=made.digest
    )
    assert stubs.templates.SetTemplateLabels(named).template.labels == {"a": "b"}
    listed = stubs.templates.ListTemplates(templates_pb2.ListTemplatesRequest()).templates
    assert [one.labels for one in listed if one.name == "proj:v1"] == [{"a": "b"}]
    request = sandboxes_pb2.CreateSandboxRequest(template="proj:v1")
    child = stubs.boxes.CreateSandbox(request).sandbox.id
    assert stubs.run(child, "cat /root/mark") == b"promoted\n"
    stubs.destroy(child)
    for digest, code in (
        ("sha256:0", grpc.StatusCode.FAILED_PRECONDITION),
        (made.digest, None),
        ("", grpc.StatusCode.NOT_FOUND),
    ):
        gone = templates_pb2.RemoveTemplateRequest(name="proj:v1", digest=digest)
        if code is None:
            stubs.templates.RemoveTemplate(gone)
            continue
        with pytest.raises(grpc.RpcError) as refused:
            stubs.templates.RemoveTemplate(gone)
        assert refused.value.code() is code


def code_of(call: Callable[[], object]) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as refused:
        call()
    code: grpc.StatusCode = refused.value.code()
    return code


def test_what_is_not_served_is_refused(stubs: Stubs, sandbox: str) -> None:
    request = sandboxes_pb2.ForkSandboxRequest(sandbox_id=sandbox, count=1, attach_session="se_1")
    assert code_of(lambda: stubs.boxes.ForkSandbox(request)) is grpc.StatusCode.UNIMPLEMENTED


def test_a_request_id_makes_one_of_two(stubs: Stubs, sandbox: str) -> None:
    fork = sandboxes_pb2.ForkSandboxRequest(sandbox_id=sandbox, count=1, request_id="fork")
    children = [stubs.boxes.ForkSandbox(fork).children[0] for _ in range(2)]
    assert children[0] == children[1]
    moment = checkpoints_pb2.CreateCheckpointRequest(sandbox_id=sandbox, request_id="moment")
    kept = [stubs.checkpoints.CreateCheckpoint(moment).checkpoint for _ in range(2)]
    assert kept[0] == kept[1]
    promote = checkpoints_pb2.PromoteSandboxRequest(
        sandbox_id=sandbox, template="once:v1", request_id="promote"
    )
    made = [stubs.checkpoints.PromoteSandbox(promote).template for _ in range(2)]
    assert made[0] == made[1]
    branch = checkpoints_pb2.BranchCheckpointRequest(checkpoint_id=kept[0].id, request_id="branch")
    branched = [stubs.checkpoints.BranchCheckpoint(branch) for _ in range(2)]
    assert branched[0] == branched[1]
    fork.count = 2
    moment.request_id = branch.request_id = promote.request_id = "fork"
    for call in (
        lambda: stubs.boxes.ForkSandbox(fork),
        lambda: stubs.checkpoints.CreateCheckpoint(moment),
        lambda: stubs.checkpoints.BranchCheckpoint(branch),
        lambda: stubs.checkpoints.PromoteSandbox(promote),
    ):
        assert code_of(call) is grpc.StatusCode.ALREADY_EXISTS
    listed = stubs.boxes.ListSandboxes(sandboxes_pb2.ListSandboxesRequest()).sandboxes
    there = {sandbox, children[0].sandbox.id, branched[0].sandbox.id}
    assert {one.id for one in listed} == there
    for child in there - {sandbox}:
        stubs.destroy(child)
    gone = checkpoints_pb2.DeleteCheckpointRequest(checkpoint_id=kept[0].id)
    stubs.checkpoints.DeleteCheckpoint(gone)
    stubs.templates.RemoveTemplate(templates_pb2.RemoveTemplateRequest(name="once:v1"))


def state_of(stubs: Stubs, sandbox: str) -> int:
    asked = sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox)
    return int(stubs.boxes.GetSandbox(asked).sandbox.state)


def test_a_lease_that_ends_archives_where_it_was_asked_for(stubs: Stubs, sandbox: str) -> None:
    archive = sandboxes_pb2.EXPIRE_ACTION_ARCHIVE
    renewed = sandboxes_pb2.RenewSandboxRequest(sandbox_id=sandbox, on_expire=archive)
    renewed.ttl.FromSeconds(60)
    assert stubs.boxes.RenewSandbox(renewed).sandbox.on_expire == archive
    forked = sandboxes_pb2.ForkSandboxRequest(sandbox_id=sandbox, count=1)
    (child,) = stubs.boxes.ForkSandbox(forked).children
    assert child.sandbox.on_expire == archive, "a child inherits it"
    stubs.destroy(child.sandbox.id)
    stubs.run(sandbox, "echo kept > /run/kept")
    renewed.ttl.FromSeconds(5)  # and as long after the wake
    stubs.boxes.RenewSandbox(renewed)
    until(lambda: state_of(stubs, sandbox) == sandboxes_pb2.SANDBOX_STATE_ARCHIVED)
    assert stubs.run(sandbox, "cat /run/kept") == b"kept\n"
    unknown = sandboxes_pb2.RenewSandboxRequest(sandbox_id=sandbox)
    unknown.on_expire = 9  # type: ignore[assignment]  # none that there is
    assert code_of(lambda: stubs.boxes.RenewSandbox(unknown)) is grpc.StatusCode.INVALID_ARGUMENT


def test_the_rule_of_a_pool_hibernates_what_nobody_uses(
    live: Node, stubs: Stubs, sandbox: str
) -> None:
    """A command that runs holds it off, and so does the session of one that lives with one."""
    with grpc.insecure_channel(f"unix:{live.engine.grpc_socket}") as channel:
        node = node_pb2_grpc.NodeServiceStub(channel)
        config = node_pb2.PoolConfig(template="base", warm=1)
        config.idle_hibernate.FromSeconds(1)
        config.archive_after.FromSeconds(3600)
        session = stubs.boxes.Attach(sandboxes_pb2.AttachRequest())
        request = sandboxes_pb2.CreateSandboxRequest(
            template="base", attach_session=next(iter(session)).ready.attach_session
        )
        request.pool_wait.FromSeconds(60)
        held = stubs.boxes.CreateSandbox(request).sandbox.id
        start = guest_pb2.ExecStart(
            sandbox_id=sandbox, argv=["sh", "-c", "echo begun; read line"], input=True
        )
        told: queue.Queue[guest_pb2.ExecRequest | None] = queue.Queue()
        told.put(guest_pb2.ExecRequest(start=start))
        running = stubs.guest.Exec(iter(told.get, None))
        while not next(running).HasField("out"):
            pass
        (pool,) = node.SetPools(node_pb2.SetPoolsRequest(pools=[config])).pools
        assert pool.config == config
        other = sandboxes_pb2.CreateSandboxRequest(template="base")
        other.pool_wait.FromSeconds(60)
        idle = stubs.boxes.CreateSandbox(other).sandbox.id
        until(lambda: state_of(stubs, idle) == sandboxes_pb2.SANDBOX_STATE_HIBERNATED)
        stubs.destroy(idle)
        for one in (sandbox, held):
            assert state_of(stubs, one) == sandboxes_pb2.SANDBOX_STATE_RUNNING
        told.put(guest_pb2.ExecRequest(input=guest_pb2.ExecInput(data=b"\n")))
        assert [one.exit.code for one in running if one.HasField("exit")] == [0]
        told.put(None)
        until(lambda: state_of(stubs, sandbox) == sandboxes_pb2.SANDBOX_STATE_HIBERNATED)
        assert state_of(stubs, held) == sandboxes_pb2.SANDBOX_STATE_RUNNING
        session.cancel()
        config.ClearField("idle_hibernate")
        config.ClearField("archive_after")
        node.SetPools(node_pb2.SetPoolsRequest(pools=[config]))


def vmm_of(node: Node, sandbox: str) -> int:
    own = sandbox.removeprefix("sb_")
    (pid,) = (
        pid for pid in node.engine.vmm_pids() if own in str(Path(f"/proc/{pid}/cwd").readlink())
    )
    return pid


def test_a_vm_that_dies_boots_again_until_its_budget_is_spent(
    live: Node, stubs: Stubs, sandbox: str
) -> None:
    asked = sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox)

    def shown() -> sandboxes_pb2.Sandbox:
        return stubs.boxes.GetSandbox(asked).sandbox

    stubs.run(sandbox, "echo kept > /root/mark; echo lost > /run/mark; sync")
    os.kill(vmm_of(live, sandbox), signal.SIGKILL)
    until(lambda: shown().restarts == 1, timeout_s=90)
    look = "cat /root/mark; cat /run/mark 2>/dev/null || echo none"
    assert stubs.run(sandbox, look) == b"kept\nnone\n"
    os.kill(vmm_of(live, sandbox), signal.SIGKILL)
    until(lambda: shown().state == sandboxes_pb2.SANDBOX_STATE_FAILED)
    assert "its budget of 1 restarts is spent" in shown().failure
    with pytest.raises(grpc.RpcError, match="budget of 1 restarts is spent") as refused:
        stubs.run(sandbox, "true")
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    stubs.boxes.WakeSandbox(sandboxes_pb2.WakeSandboxRequest(sandbox_id=sandbox))
    assert (shown().restarts, shown().failure) == (2, "")
    assert stubs.run(sandbox, look) == b"kept\nnone\n"
