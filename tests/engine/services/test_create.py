"""Creates: what they refuse, what a caller who leaves gets no bill for, and caps met exactly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sandbox_engine.errors import (
    Code,
    Draining,
    EngineError,
    InvalidArgument,
    LimitReached,
    PoolExhausted,
    TemplateNotFound,
    VmmError,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Tier
from sandbox_engine.observe.tasks import cancel, run_eagerly, settle, spawn

from tests.engine.services.conftest import MakeServices
from tests.fakes.services import OPERATOR, TEMPLATE, Services, spec

SESSION = Caller(name="uid:1", uid=1, session="se_1", confined=True)


async def test_a_leased_sandbox_is_running_and_on_record(services: Services) -> None:
    sandbox = await services.create(ttl_s=60)
    assert sandbox.state is State.RUNNING
    assert sandbox.deadline == services.clock.now() + 60
    assert services.journal.sandboxes() == [sandbox]
    assert services.sandboxes.get(OPERATOR, sandbox.id) is sandbox


async def test_a_session_holds_its_sandbox_without_a_deadline(services: Services) -> None:
    sandbox = await services.create(SESSION)
    assert sandbox.deadline is None
    await services.sandboxes.end_session("se_1")
    assert services.left() == {}


async def test_a_warm_create_never_waits(services: Services) -> None:
    pool = services.pool(warm=1)
    await pool.ready()
    answers: list[Any] = []
    work = services.sandboxes.create(OPERATOR, spec(pool_wait_ms=0))
    assert run_eagerly(work, answers.append, name="create") is None
    assert answers[0].tier is Tier.WARM


async def test_what_waited_says_that_it_was_cloned(services: Services) -> None:
    created = await services.sandboxes.create(OPERATOR, spec())
    assert created.tier is Tier.CLONE


async def test_every_sandbox_has_a_number_an_id_and_a_token_of_its_own(
    services: Services,
) -> None:
    created = [await services.sandboxes.create(OPERATOR, spec()) for _ in range(3)]
    assert len({one.sandbox.number for one in created}) == 3
    assert len({one.sandbox.id for one in created}) == 3
    assert len({one.token for one in created}) == 3


async def test_variables_reach_the_guest_before_any_operation(services: Services) -> None:
    pool = services.pool(warm=1)
    await pool.ready()
    sandbox = await services.create(env={"KEY": "value"})
    channel = services.sandboxes.channel(OPERATOR, sandbox.id)
    await channel.call({"op": "ping"})
    guest = services.guest(sandbox)
    assert guest.env == {"KEY": "value"}
    assert [call["op"] for call in guest.calls] == ["configure", "ping"]


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        pytest.param({"template": "none"}, Code.TEMPLATE_NOT_FOUND, "none", id="template"),
        pytest.param({"memory_mib": 1024}, Code.INVALID_ARGUMENT, "256 MiB, not 1024", id="memory"),
        pytest.param({"vcpus": 2}, Code.INVALID_ARGUMENT, "1 vCPUs, not 2", id="vcpus"),
        pytest.param({"env": {"A=B": ""}}, Code.INVALID_ARGUMENT, "A=B", id="env"),
        pytest.param({"pool_wait_ms": -1}, Code.INVALID_ARGUMENT, "pool_wait_ms", id="wait"),
        pytest.param({"session_key": 'a"'}, Code.INVALID_ARGUMENT, "session_key", id="key"),
        pytest.param(
            {"egress_allow": ("a.example",)},
            Code.INVALID_ARGUMENT,
            "not covered by the daemon's allowed_services",
            id="ceiling",
        ),
    ],
)
@pytest.mark.parametrize("warm", [0, 1])
async def test_a_bad_request_is_told_and_costs_nothing(
    services: Services, fields: dict[str, Any], code: Code, words: str, warm: int
) -> None:
    pool = services.pool(warm=warm)
    await pool.ready()
    made = services.steps.counts["launch"]
    with pytest.raises(EngineError, match=words) as caught:
        await services.create(**fields)
    assert caught.value.code is code
    await settle()
    assert services.admission.total == 0
    assert services.steps.counts["launch"] == made


async def test_a_negative_lease_is_refused(services: Services) -> None:
    with pytest.raises(InvalidArgument, match="ttl_seconds"):
        await services.create(ttl_s=-1)


async def test_a_request_may_repeat_what_the_template_is(services: Services) -> None:
    sandbox = await services.create(memory_mib=256, vcpus=1)
    assert (sandbox.memory_mib, sandbox.vcpus) == (256, 1)


async def test_without_a_wait_an_empty_pool_fails_fast_and_is_filled(
    make_services: MakeServices,
) -> None:
    services = make_services(default_warm=1)
    with pytest.raises(PoolExhausted):
        await services.create(pool_wait_ms=0)
    await services.pools.all()[0].ready()
    await services.create(pool_wait_ms=0)


async def test_the_wait_is_bounded_and_leaves_nothing(services: Services) -> None:
    services.steps.hold("start")
    with pytest.raises(PoolExhausted):
        await services.create(pool_wait_ms=1)
    assert services.admission.total == 0


async def test_a_draining_node_takes_nothing(services: Services) -> None:
    services.admission.draining = True
    with pytest.raises(Draining):
        await services.create()
    services.admission.draining = False
    await services.create()


async def test_what_keeps_vms_from_starting_is_what_the_caller_reads(
    services: Services,
) -> None:
    services.steps.fail("start", lambda: VmmError("no such device"))
    with pytest.raises(VmmError, match="no such device"):
        await services.create()
    assert services.admission.total == 0


@pytest.mark.parametrize(
    "how", ["silent", "unconfirmed", "garbage", "clock", "refused", "protocol"]
)
async def test_a_guest_that_did_not_confirm_is_never_handed_out(
    services: Services, how: str
) -> None:
    held = services.steps.hold("start")
    creating = spawn(services.create(), name="create")
    await held.arrived()
    (process,) = services.host.processes.values()
    guest = process.guest
    match how:
        case "silent":
            guest.silent = True
        case "unconfirmed":
            guest.greeting = {"identity_confirmed": False}
        case "garbage":
            guest.raw_welcome = b"[]"
        case "protocol":
            guest.greeting = {"protocol": 2}
        case "clock":
            guest.greeting = {"clock_ns": 0}
        case "refused":
            guest.greeting = {"error": "cannot write /etc/machine-id"}
    if how == "silent":
        greeting = guest.steps.hold("greet")
        held.release()
        await greeting.arrived()
        process.die()  # a silent guest is given up after seconds; its end is the same
    else:
        held.release()
    with pytest.raises(EngineError) as caught:
        await creating
    assert caught.value.code is Code.GUEST_UNAVAILABLE
    await services.close()
    assert services.left() == {}


@pytest.mark.parametrize("step", ["open", "launch", "start", "greet"])
async def test_a_client_that_leaves_during_a_create_leaves_nothing(
    services: Services, step: str
) -> None:
    """What was begun for it goes to the shelf, or is undone; it owns none of it."""
    if step == "greet":
        start = services.steps.hold("start")
        creating = spawn(services.create(SESSION), name="create")
        await start.arrived()
        (process,) = services.host.processes.values()
        held = process.guest.steps.hold("greet")
        start.release()
    else:
        steps = services.vault.steps if step == "open" else services.steps
        held = steps.hold(step)
        creating = spawn(services.create(SESSION), name="create")
    await held.arrived()
    assert services.admission.total == 1
    await cancel(creating)
    assert services.admission.total == 0
    held.release()
    await settle()
    assert services.sandboxes.visible(OPERATOR) == []
    assert services.journal.sandboxes() == []


async def test_the_caps_are_exact_when_many_come_at_once(make_services: MakeServices) -> None:
    services = make_services(node=5, per_session=3, per_uid=4)
    one = Caller(name="uid:1", uid=1, session="se_1", confined=True)
    two = Caller(name="uid:1", uid=1, session="se_2", confined=True)
    other = Caller(name="uid:2", uid=2, session="se_3", confined=True)
    asked = [one] * 6 + [two] * 6 + [other] * 6
    answers = await asyncio.gather(
        *(services.create(caller) for caller in asked), return_exceptions=True
    )
    made = [answer.owner for answer in answers if not isinstance(answer, BaseException)]
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(answer, LimitReached) for answer in refused)
    sessions = [
        sum(1 for s in services.sandboxes.visible(OPERATOR) if s.session == caller.session)
        for caller in (one, two, other)
    ]
    assert sessions == [3, 1, 1]
    assert len(made) == services.admission.total == 5


async def test_a_place_is_free_again_once_its_sandbox_is_gone(
    make_services: MakeServices,
) -> None:
    services = make_services(node=1)
    for _ in range(3):
        sandbox = await services.create()
        with pytest.raises(LimitReached):
            await services.create()
        await services.sandboxes.destroy(OPERATOR, sandbox.id)


async def test_a_full_journal_refuses_a_create_and_undoes_it(services: Services) -> None:
    pool = services.pool(warm=1)
    await pool.ready()
    services.journal.full = True
    with pytest.raises(EngineError) as caught:
        await services.create(pool_wait_ms=0)
    assert caught.value.code is Code.NO_SPACE
    await services.close()
    assert services.admission.total == 0
    assert services.host.processes == {}
    services.journal.full = False
    await services.factory.clear(set())


async def test_a_template_that_is_not_there_is_told_before_any_wait(services: Services) -> None:
    with pytest.raises(TemplateNotFound, match="sandbox-cli template build none"):
        await services.create(template="none")


async def test_a_template_removed_while_somebody_waits_for_it_is_told(
    services: Services,
) -> None:
    held = services.vault.steps.hold("open")
    creating = spawn(services.create(), name="create")
    await held.arrived()
    services.vault.remove(TEMPLATE)
    held.release()
    with pytest.raises(TemplateNotFound):
        await creating
