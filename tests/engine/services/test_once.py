"""Forks, checkpoints, branches and promotes with a request id: done once, answered alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.errors import (
    InvalidArgument,
    RequestConflict,
    SandboxNotFound,
    SnapshotNotFound,
)
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.snapshot import Kind
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.services.checkpoints import Branch

from tests.fakes.services import OPERATOR, Services

Call = Callable[[Services, str, str], Coroutine[Any, Any, object]]
"""The services, whose state, the request id; what comes back is what it was answered."""


async def fork(services: Services, sandbox: str, request_id: str) -> object:
    children = await services.states.forks.fork(OPERATOR, sandbox, 2, request_id=request_id)
    return [(child.sandbox.id, child.token) for child in children]


async def checkpoint(services: Services, sandbox: str, request_id: str) -> object:
    return await services.states.checkpoints.create(OPERATOR, sandbox, "one", request_id=request_id)


async def branch(services: Services, sandbox: str, request_id: str) -> object:
    made = services.states.checkpoints.all()
    record = made[0] if made else await services.states.checkpoints.create(OPERATOR, sandbox)
    created = await services.states.checkpoints.branch(
        OPERATOR, record.id, Branch(env={"A": "b"}), request_id=request_id
    )
    return created.sandbox.id, created.token


async def promote(services: Services, sandbox: str, request_id: str) -> object:
    return await services.states.promotions.promote(
        OPERATOR, sandbox, "proj", request_id=request_id
    )


CALLS = [fork, checkpoint, branch, promote]


async def forget(services: Services) -> None:
    for record in (*services.store.all(Kind.CHECKPOINT), *services.store.all(Kind.TEMPLATE)):
        services.store.remove(record.id)


@pytest.mark.parametrize("call", CALLS)
async def test_the_same_request_is_answered_alike_also_after_a_restart(
    tmp_path: Path, call: Call
) -> None:
    services = Services(tmp_path)
    sandbox = await services.create()
    first = await call(services, sandbox.id, "id")
    assert await call(services, sandbox.id, "id") == first
    there = {one.id for one in services.sandboxes.visible(OPERATOR)}
    services.cut_off()
    after = await services.successor()
    await after.recovery.run()
    assert await call(after, sandbox.id, "id") == first
    assert {one.id for one in after.sandboxes.visible(OPERATOR)} == there
    assert await call(after, sandbox.id, "another") != first
    await forget(after)
    await after.close()
    assert after.left() == {}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("held", ["id", ""])
async def test_two_at_once_are_one(services: Services, call: Call, held: str) -> None:
    sandbox = await services.create()
    hold = services.steps.hold("launch" if call in (fork, branch) else "save_memory")
    if call is branch:
        await services.states.checkpoints.create(OPERATOR, sandbox.id)
    first = spawn(call(services, sandbox.id, held), name="first")
    await hold.arrived()
    second = spawn(call(services, sandbox.id, held), name="second")
    for _ in range(20):
        await asyncio.sleep(0)
    hold.release()
    services.steps.release_all()
    answers = await asyncio.gather(first, second, return_exceptions=True)
    assert (answers[0] == answers[1]) == bool(held)
    await forget(services)


@pytest.mark.parametrize("call", CALLS)
async def test_an_id_used_for_anything_else_is_refused(services: Services, call: Call) -> None:
    sandbox, other = await services.create(), await services.create()
    await call(services, sandbox.id, "id")
    for again, whose in [(one, sandbox) for one in CALLS if one is not call] + [(call, other)]:
        if again is branch and call is branch:
            continue  # it is of the checkpoint and not of the sandbox
        with pytest.raises(RequestConflict):
            await again(services, whose.id, "id")
    await services.sandboxes.create(OPERATOR, sandbox.spec, request_id="create")
    with pytest.raises(RequestConflict):
        await call(services, sandbox.id, "create")
    await forget(services)


@pytest.mark.parametrize(
    ("request_id", "good"), [("x" * 128, True), ("x" * 129, False), ("\n", False)]
)
async def test_what_an_id_may_be(services: Services, request_id: str, *, good: bool) -> None:
    sandbox = await services.create()
    if good:
        await fork(services, sandbox.id, request_id)
        return
    with pytest.raises(InvalidArgument, match="request_id"):
        await fork(services, sandbox.id, request_id)
    assert len(services.sandboxes.visible(OPERATOR)) == 1


async def test_what_was_answered_and_is_gone_is_not_made_again(services: Services) -> None:
    sandbox = await services.create()
    (child, _) = await services.states.forks.fork(OPERATOR, sandbox.id, 2, request_id="fork")
    await services.sandboxes.destroy(OPERATOR, child.sandbox.id)
    with pytest.raises(SandboxNotFound, match=child.sandbox.id):
        await fork(services, sandbox.id, "fork")
    record = await services.states.checkpoints.create(
        OPERATOR, sandbox.id, "one", request_id="checkpoint"
    )
    services.states.checkpoints.delete(record.id)
    with pytest.raises(SnapshotNotFound, match=record.id):
        await checkpoint(services, sandbox.id, "checkpoint")


async def test_a_promote_is_told_again_as_it_was(services: Services) -> None:
    """A later promote under the name does not change what an earlier one answered."""
    sandbox: Sandbox = await services.create()
    first = await services.states.promotions.promote(OPERATOR, sandbox.id, "proj", request_id="one")
    services.guest(sandbox).files["/workspace/x"] = b"more"
    second = await services.states.promotions.promote(
        OPERATOR, sandbox.id, "proj", request_id="two"
    )
    assert second.content_digest != first.content_digest
    assert await promote(services, sandbox.id, "one") == first
    await forget(services)


async def test_a_request_that_failed_may_be_tried_again(services: Services) -> None:
    sandbox = await services.create()
    services.steps.fail("launch", lambda: RuntimeError("no"), times=1)
    with pytest.raises(RuntimeError):
        await fork(services, sandbox.id, "id")
    await fork(services, sandbox.id, "id")
    assert len(services.sandboxes.visible(OPERATOR)) == 3
