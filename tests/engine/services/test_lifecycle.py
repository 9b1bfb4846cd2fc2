"""Pause, resume, inspect, renew, destroy: one after the other, by whoever may."""

from __future__ import annotations

import asyncio
import re

import pytest
from sandbox_engine.errors import (
    Code,
    EngineError,
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    PermissionDenied,
    SandboxNotFound,
    StateConflict,
    VmmError,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import MAX_LEASE_S
from sandbox_engine.observe.tasks import cancel, settle, spawn

from tests.fakes.guest import GuestStream, Message
from tests.fakes.services import OPERATOR, Services

MINE = Caller(name="uid:1", uid=1, session="se_1", confined=True)
YOURS = Caller(name="uid:1", uid=1, session="se_2", confined=True)


async def test_pause_stops_the_cpus_and_resume_starts_them_with_the_clock_set(
    services: Services,
) -> None:
    sandbox = await services.create()
    process = services.process(sandbox)
    assert (await services.sandboxes.pause(OPERATOR, sandbox.id)).state is State.PAUSED
    assert not process.running
    services.clock.skip(1000)
    assert (await services.sandboxes.resume(OPERATOR, sandbox.id)).state is State.RUNNING
    assert process.running
    assert len(process.guest.clocks) == 1
    assert sandbox.resumed_at == services.clock.now()


@pytest.mark.parametrize("step", ["pause", "resume"])
async def test_saying_it_twice_is_no_error_and_does_nothing(services: Services, step: str) -> None:
    sandbox = await services.create()
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    if step == "resume":
        await services.sandboxes.resume(OPERATOR, sandbox.id)
    before = services.steps.counts[step]
    await getattr(services.sandboxes, step)(OPERATOR, sandbox.id)
    assert services.steps.counts[step] == before


async def test_a_paused_sandbox_serves_no_guest_operation(services: Services) -> None:
    sandbox = await services.create()
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    with pytest.raises(StateConflict, match="cannot use a sandbox that is paused"):
        services.sandboxes.channel(OPERATOR, sandbox.id)


@pytest.mark.parametrize(("step", "before"), [("pause", State.RUNNING), ("resume", State.PAUSED)])
async def test_a_step_that_fails_leaves_it_as_it_was(
    services: Services, step: str, before: State
) -> None:
    sandbox = await services.create()
    if before is State.PAUSED:
        await services.sandboxes.pause(OPERATOR, sandbox.id)
    services.steps.fail(step, lambda: VmmError("refused"), times=1)
    with pytest.raises(VmmError, match="refused"):
        await getattr(services.sandboxes, step)(OPERATOR, sandbox.id)
    assert sandbox.state is before
    assert services.journal.sandboxes()[0].state is before
    await getattr(services.sandboxes, step)(OPERATOR, sandbox.id)  # and can be tried again


async def refuse(stream: GuestStream, _: Message) -> None:
    await stream.fail(4, "the clock is stuck")


async def test_a_resume_whose_guest_does_not_answer_stands_still_again(
    services: Services,
) -> None:
    sandbox = await services.create()
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    services.guest(sandbox).operations["clock"] = refuse
    with pytest.raises(EngineError):
        await services.sandboxes.resume(OPERATOR, sandbox.id)
    assert sandbox.state is State.PAUSED
    assert not services.process(sandbox).running


async def test_a_caller_that_leaves_does_not_stop_the_step(services: Services) -> None:
    sandbox = await services.create()
    held = services.steps.hold("pause")
    pausing = spawn(services.sandboxes.pause(OPERATOR, sandbox.id), name="pause")
    await held.arrived()
    await cancel(pausing)
    assert sandbox.state.value == "pausing"
    held.release()
    await settle()
    assert sandbox.state is State.PAUSED


async def test_inspect_tells_what_the_kernel_counts(services: Services) -> None:
    sandbox = await services.create()
    services.clock.skip(2.5)
    status = services.sandboxes.inspect(OPERATOR, sandbox.id)
    assert status.is_running
    assert (status.uptime_ms, status.memory_rss_bytes, status.page_faults) == (2500, 100 << 20, 7)
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    status = services.sandboxes.inspect(OPERATOR, sandbox.id)
    assert (status.is_running, status.uptime_ms) == (False, 0)
    await services.sandboxes.resume(OPERATOR, sandbox.id)
    services.clock.skip(1)
    assert services.sandboxes.inspect(OPERATOR, sandbox.id).uptime_ms == 1000


async def test_a_clock_that_steps_back_makes_no_negative_uptime(services: Services) -> None:
    sandbox = await services.create()
    services.clock.skip(-3600)
    assert services.sandboxes.inspect(OPERATOR, sandbox.id).uptime_ms == 0


async def test_a_vm_that_dies_is_known_at_once_and_stays_on_record(services: Services) -> None:
    sandbox = await services.create()
    services.process(sandbox).die()
    assert sandbox.state is State.FAILED
    assert services.journal.sandboxes()[0].state is State.FAILED
    with pytest.raises(GuestUnavailable, match="its virtual machine died"):
        services.sandboxes.channel(OPERATOR, sandbox.id)
    with pytest.raises(StateConflict, match="failed"):
        await services.sandboxes.pause(OPERATOR, sandbox.id)
    status = services.sandboxes.inspect(OPERATOR, sandbox.id)
    assert (status.is_running, status.memory_rss_bytes) == (False, 0)
    assert services.admission.total == 1
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.left() == {}


@pytest.mark.parametrize("paused", [False, True])
async def test_other_sandboxes_go_on_when_one_dies(services: Services, paused: bool) -> None:
    dying, other = await services.create(), await services.create()
    if paused:
        await services.sandboxes.pause(OPERATOR, dying.id)
    services.process(dying).die()
    assert dying.state is State.FAILED
    channel = services.sandboxes.channel(OPERATOR, other.id)
    assert await channel.call({"op": "ping"}) == {"type": "pong"}


async def test_destroy_leaves_nothing_and_the_id_is_not_known_any_more(
    services: Services,
) -> None:
    sandbox = await services.create()
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.left() == {}
    for ask in (
        lambda: services.sandboxes.get(OPERATOR, sandbox.id),
        lambda: services.sandboxes.by_number(OPERATOR, sandbox.number),
        lambda: services.sandboxes.channel(OPERATOR, sandbox.id),
        lambda: services.sandboxes.inspect(OPERATOR, sandbox.id),
        lambda: services.sandboxes.renew(OPERATOR, sandbox.id, 60),
    ):
        with pytest.raises(SandboxNotFound):
            ask()
    with pytest.raises(SandboxNotFound):
        await services.sandboxes.destroy(OPERATOR, sandbox.id)


async def test_a_caller_that_leaves_does_not_stop_the_destruction(services: Services) -> None:
    sandbox = await services.create()
    held = services.steps.hold("kill")
    destroying = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="destroy")
    await held.arrived()
    await cancel(destroying)
    held.release()
    await settle()
    assert services.left() == {}


async def test_everybody_who_destroys_waits_until_nothing_is_left(services: Services) -> None:
    sandbox = await services.create()
    held = services.steps.hold("kill")
    first = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="first")
    await held.arrived()
    second = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="second")
    await asyncio.sleep(0)
    assert not second.done()
    held.release()
    await asyncio.gather(first, second)
    assert services.left() == {}


async def test_destroy_works_on_a_full_disk(services: Services) -> None:
    """It is what frees space."""
    sandbox = await services.create()
    services.journal.full = True
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.host.processes == {}
    assert services.sandboxes.visible(OPERATOR) == []
    services.journal.full = False
    assert services.journal.sandboxes()
    await services.recovery.run()  # the next start finds it gone
    assert services.left() == {}


@pytest.mark.parametrize("step", ["pause", "resume"])
async def test_a_step_that_cannot_be_recorded_is_not_begun(services: Services, step: str) -> None:
    sandbox = await services.create()
    if step == "resume":
        await services.sandboxes.pause(OPERATOR, sandbox.id)
    before, done = sandbox.state, services.steps.counts[step]
    services.journal.full = True
    with pytest.raises(NoSpace):
        await getattr(services.sandboxes, step)(OPERATOR, sandbox.id)
    assert sandbox.state is before
    assert services.steps.counts[step] == done
    services.journal.full = False
    await getattr(services.sandboxes, step)(OPERATOR, sandbox.id)


async def test_a_step_whose_end_cannot_be_recorded_ends_all_the_same(services: Services) -> None:
    sandbox = await services.create()
    held = services.steps.hold("pause")
    pausing = spawn(services.sandboxes.pause(OPERATOR, sandbox.id), name="pause")
    await held.arrived()
    services.journal.full = True
    held.release()
    assert (await pausing).state is State.PAUSED
    services.journal.full = False


async def test_a_death_on_a_full_disk_is_told_to_whoever_watches(services: Services) -> None:
    first, second = await services.create(), await services.create()
    services.journal.full = True
    services.process(first).die()
    services.process(second).die()
    services.journal.full = False
    assert {first.state, second.state} == {State.FAILED}


async def test_a_renewal_counts_from_now_and_is_on_record(services: Services) -> None:
    sandbox = await services.create(ttl_s=60)
    services.clock.skip(50)
    services.sandboxes.renew(OPERATOR, sandbox.id, 60)
    assert sandbox.deadline == services.clock.now() + 60
    assert services.journal.sandboxes()[0].deadline == sandbox.deadline
    services.sandboxes.renew(OPERATOR, sandbox.id, 0)
    assert sandbox.deadline == services.clock.now() + 300
    services.sandboxes.renew(OPERATOR, sandbox.id, MAX_LEASE_S + 1)
    assert sandbox.deadline == services.clock.now() + MAX_LEASE_S
    with pytest.raises(InvalidArgument):
        services.sandboxes.renew(OPERATOR, sandbox.id, -1)


async def test_a_renewal_that_cannot_be_recorded_is_none(services: Services) -> None:
    sandbox = await services.create(ttl_s=60)
    before = sandbox.deadline
    services.journal.full = True
    with pytest.raises(NoSpace):
        services.sandboxes.renew(OPERATOR, sandbox.id, 3600)
    services.journal.full = False
    assert sandbox.deadline == before


async def test_what_a_session_holds_has_no_lease_to_renew(services: Services) -> None:
    sandbox = await services.create(MINE)
    with pytest.raises(StateConflict, match="held by a session"):
        services.sandboxes.renew(MINE, sandbox.id, 60)


async def test_another_session_cannot_see_touch_or_end_it(services: Services) -> None:
    sandbox = await services.create(MINE)
    assert services.sandboxes.visible(YOURS) == []
    assert services.sandboxes.visible(MINE) == [sandbox]
    with pytest.raises(PermissionDenied, match=re.escape(f"sandbox {sandbox.number}")):
        services.sandboxes.by_number(YOURS, sandbox.number)
    for step in (services.sandboxes.pause, services.sandboxes.resume, services.sandboxes.destroy):
        with pytest.raises(SandboxNotFound):
            await step(YOURS, sandbox.id)
    with pytest.raises(SandboxNotFound):
        services.sandboxes.inspect(YOURS, sandbox.id)
    with pytest.raises(SandboxNotFound):
        services.sandboxes.channel(YOURS, sandbox.id)


async def test_a_session_does_not_see_what_a_lease_holds(services: Services) -> None:
    sandbox = await services.create()
    assert services.sandboxes.visible(MINE) == []
    with pytest.raises(SandboxNotFound):
        services.sandboxes.get(MINE, sandbox.id)


async def test_the_end_of_a_session_takes_its_sandboxes_and_no_other(services: Services) -> None:
    mine = [await services.create(MINE) for _ in range(3)]
    await services.sandboxes.pause(MINE, mine[0].id)
    services.process(mine[1]).die()
    yours, leased = await services.create(YOURS), await services.create()
    await services.sandboxes.end_session("se_1")
    assert services.sandboxes.visible(OPERATOR) == [yours, leased]


async def test_an_operator_sees_everything_oldest_first(services: Services) -> None:
    made = [await services.create(caller) for caller in (MINE, OPERATOR, YOURS)]
    assert services.sandboxes.visible(OPERATOR) == made


async def test_an_error_carries_its_code(services: Services) -> None:
    with pytest.raises(EngineError) as caught:
        services.sandboxes.get(OPERATOR, "sb_nowhere")
    assert caught.value.code is Code.SANDBOX_NOT_FOUND
