"""`kill -9` of the daemon before and after each write of its journal, and in a build's steps.

Whatever the moment: what was answered under a lease is there and usable after the next start,
and of everything else neither a process nor a folder nor a record is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from sandbox.v1 import (
    guest_pb2,
    guest_pb2_grpc,
    sandboxes_pb2,
    sandboxes_pb2_grpc,
    templates_pb2,
    templates_pb2_grpc,
)
from sandbox_engine.templates.work import claimed, stale_folders

from tests.support.engine import CACHE, Engine, engine, processes_below
from tests.support.killed import AT
from tests.support.wait import until

pytestmark = [pytest.mark.vm, pytest.mark.timeout(600)]  # some wait for a whole bake

Stub = sandboxes_pb2_grpc.SandboxServiceStub
RUNNING, PAUSED = sandboxes_pb2.SANDBOX_STATE_RUNNING, sandboxes_pb2.SANDBOX_STATE_PAUSED


def create(stub: Stub, request_id: str = "") -> str:
    request = sandboxes_pb2.CreateSandboxRequest(template="busybox", request_id=request_id)
    request.pool_wait.FromSeconds(90)
    request.ttl.FromSeconds(900)
    created: str = stub.CreateSandbox(request).sandbox.id
    return created


def pause(stub: Stub, sandbox: str) -> None:
    stub.PauseSandbox(sandboxes_pb2.PauseSandboxRequest(sandbox_id=sandbox))


def resume(stub: Stub, sandbox: str) -> None:
    stub.ResumeSandbox(sandboxes_pb2.ResumeSandboxRequest(sandbox_id=sandbox))


def destroy(stub: Stub, sandbox: str) -> None:
    stub.DestroySandbox(sandboxes_pb2.DestroySandboxRequest(sandbox_id=sandbox))


def states(stub: Stub) -> dict[str, int]:
    listed = stub.ListSandboxes(sandboxes_pb2.ListSandboxesRequest()).sandboxes
    return {each.id: each.state for each in listed}


def answers(channel: grpc.Channel, sandbox: str) -> bool:
    start = guest_pb2.ExecStart(sandbox_id=sandbox, argv=["echo", "on"])
    events = guest_pb2_grpc.GuestServiceStub(channel).Exec(
        iter([guest_pb2.ExecRequest(start=start)])
    )
    return b"".join(event.out.data for event in events) == b"on\n"


class World:
    """A daemon that can be told where to die, and a sandbox beside those it dies over."""

    def __init__(self, made: Engine, kill_at: Path) -> None:
        self.engine, self._kill_at = made, kill_at
        self.bystander = ""

    @contextlib.contextmanager
    def stub(self) -> Iterator[tuple[grpc.Channel, Stub]]:
        with grpc.insecure_channel(f"unix:{self.engine.grpc_socket}") as channel:
            yield channel, Stub(channel)

    def die(self, where: str, call: Callable[[Stub], object]) -> None:
        """Make the daemon die at `where`, which `call` must reach."""
        with self.stub() as (_, stub):
            self._kill_at.write_text(where)
            with pytest.raises(grpc.RpcError) as caught:
                call(stub)
            assert caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
        assert self.engine.died() == -signal.SIGKILL, "it was never there"
        self._kill_at.unlink()
        self.engine.start()

    def check(self, *expected: set[int], subject: str = "") -> None:
        """The bystander lives; `subject`, or a sandbox nobody knows, is in one of `expected`.

        An empty `expected` is "none but the bystander".
        """
        with self.stub() as (channel, stub):
            found = states(stub)
            assert found.pop(self.bystander) == RUNNING
            assert answers(channel, self.bystander)
            if found:
                ((sandbox, state),) = found.items()
                assert sandbox == (subject or sandbox)
                assert state in set().union(*expected)
                if state == PAUSED:
                    resume(stub, sandbox)
                assert answers(channel, sandbox)
            else:
                assert set() in expected or not expected
            self._whole(found.keys() | {self.bystander})
            for sandbox in found:
                destroy(stub, sandbox)
            self._whole({self.bystander})

    def _whole(self, sandboxes: set[str]) -> None:
        names = sorted("vm-" + sandbox.removeprefix("sb_") for sandbox in sandboxes)
        until(lambda: self.engine.vm_folders() == names)
        until(lambda: len(self.engine.vmm_pids()) == len(names))


@pytest.fixture(scope="module")
def world(busybox_template: str) -> Iterator[World]:
    with engine(start=False, pools=[]) as made:
        kill_at = made.data / "kill-at"
        made.module, made.env = "tests.support.killed", {AT: str(kill_at)}
        made.start()
        world = World(made, kill_at)
        with world.stub() as (_, stub):
            world.bystander = create(stub)
        yield world
        with world.stub() as (_, stub):
            destroy(stub, world.bystander)


NONE: set[int] = set()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("vm_intended 1 after", [NONE]),
        ("vm_launched 1 before", [NONE]),
        ("vm_launched 1 after", [NONE]),
        ("sandbox_put 1 before", [NONE]),
        ("sandbox_put 1 after", [{RUNNING}]),
        ("request_put 1 before", [{RUNNING}]),
        ("request_put 1 after", [{RUNNING}]),
    ],
)
def test_killed_while_it_creates(world: World, where: str, expected: list[set[int]]) -> None:
    world.die(where, lambda stub: create(stub, request_id=where))
    if where == "request_put 1 after":  # answered on record: the same call finds it
        with world.stub() as (_, stub):
            assert create(stub, request_id=where) in states(stub)
    world.check(*expected)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("sandbox_put 1 after", {PAUSED}),
        ("sandbox_put 2 before", {PAUSED}),
        ("sandbox_put 2 after", {PAUSED}),
    ],
)
def test_killed_while_it_pauses(world: World, where: str, expected: set[int]) -> None:
    with world.stub() as (_, stub):
        subject = create(stub)
    world.die(where, lambda stub: pause(stub, subject))
    world.check(expected, subject=subject)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("sandbox_put 1 after", {RUNNING}),
        ("sandbox_put 2 before", {RUNNING}),
        ("sandbox_put 2 after", {RUNNING}),
    ],
)
def test_killed_while_it_resumes(world: World, where: str, expected: set[int]) -> None:
    with world.stub() as (_, stub):
        subject = create(stub)
        pause(stub, subject)
    world.die(where, lambda stub: resume(stub, subject))
    world.check(expected, subject=subject)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("sandbox_put 1 before", {RUNNING}),
        ("sandbox_put 1 after", NONE),
        ("sandbox_gone 1 before", NONE),
        ("sandbox_gone 1 after", NONE),
    ],
)
def test_killed_while_it_destroys(world: World, where: str, expected: set[int]) -> None:
    with world.stub() as (_, stub):
        subject = create(stub)
    world.die(where, lambda stub: destroy(stub, subject))
    world.check(expected, subject=subject)


def _claimable() -> list[Path]:
    found = []
    for folder in stale_folders(CACHE / "work"):
        with claimed(folder) as ours:
            if ours:
                found.append(folder)
    return found


@pytest.mark.parametrize("step", ["rootfs", "bake", "publish"])
def test_killed_while_it_builds_a_template(world: World, busybox_tree: Path, step: str) -> None:
    """The builder, which is a process of its own, does not outlive whoever asked it."""
    name = f"killed-{os.getpid()}-{step}"
    request = templates_pb2.BuildTemplateRequest(
        name=name, memory_mib=128, vcpu_count=1, disk_mib=64, warmup=["echo", name]
    )
    request.source.directory = str(busybox_tree)
    with world.stub() as (channel, _):
        build = templates_pb2_grpc.TemplateServiceStub(channel).BuildTemplate(request)
        for event in build:
            if event.progress.step == step:
                break
        world.engine.kill()
    world.engine.start()
    until(lambda: not processes_below(CACHE / "work") and not _claimable(), timeout_s=60)
    world.check(NONE)
    with world.stub() as (channel, _):
        templates = templates_pb2_grpc.TemplateServiceStub(channel)
        listed = templates.ListTemplates(templates_pb2.ListTemplatesRequest()).templates
        if name in [each.name for each in listed]:  # it came in before the end of its reader
            verify = templates_pb2.VerifyTemplateRequest(name=name)
            assert not templates.VerifyTemplate(verify).differences
            templates.RemoveTemplate(templates_pb2.RemoveTemplateRequest(name=name))
