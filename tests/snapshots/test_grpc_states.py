"""Saved states by gRPC, against a live engine."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from sandbox.v1 import (
    checkpoints_pb2,
    checkpoints_pb2_grpc,
    guest_pb2,
    guest_pb2_grpc,
    sandboxes_pb2,
    sandboxes_pb2_grpc,
    templates_pb2,
    templates_pb2_grpc,
)

from tests.snapshots.nodes import Node

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


def test_what_is_not_served_is_refused(stubs: Stubs, sandbox: str) -> None:
    for call in (
        lambda: stubs.boxes.ForkSandbox(
            sandboxes_pb2.ForkSandboxRequest(sandbox_id=sandbox, count=1, request_id="1")
        ),
        lambda: stubs.checkpoints.CreateCheckpoint(
            checkpoints_pb2.CreateCheckpointRequest(sandbox_id=sandbox, request_id="1")
        ),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
