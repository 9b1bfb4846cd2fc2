"""A warm pool: what it keeps, whom it serves first, and what it never hands out."""

from __future__ import annotations

import asyncio

import pytest
from sandbox_engine.errors import PoolExhausted, VmmError
from sandbox_engine.observe.tasks import cancel, settle, spawn
from sandbox_engine.services.pool import Pool
from sandbox_engine.services.vms import Vm

from tests.engine.services.conftest import MakeServices
from tests.fakes.services import TEMPLATE, Services


async def turns(count: int = 20) -> None:
    """Let everything go on that can."""
    for _ in range(count):
        await asyncio.sleep(0)


def taker(pool: Pool, name: str = "take", wait_s: float = 60.0) -> asyncio.Task[Vm]:
    return spawn(pool.take(wait_s), name=name)


async def test_a_take_is_served_from_the_shelf_and_the_shelf_is_filled_again(
    services: Services,
) -> None:
    pool = services.pool(warm=2)
    await pool.ready()
    vm = pool.take_now()
    assert vm is not None
    assert pool.counts()[0] == 1
    await pool.ready()
    assert pool.counts()[0] == 2
    assert (pool.status.hits, pool.status.misses) == (1, 0)
    await services.factory.destroy(vm)


async def test_an_empty_pool_says_so_at_once_and_counts_the_miss(services: Services) -> None:
    pool = services.pool(warm=0)
    assert pool.take_now() is None
    with pytest.raises(PoolExhausted) as caught:
        await pool.take(0)
    assert caught.value.retry_after_s
    assert pool.status.misses == 1


async def test_a_wait_that_ends_is_told_and_leaves_no_waiter(services: Services) -> None:
    held = services.steps.hold("start")
    pool = services.pool(warm=0)
    with pytest.raises(PoolExhausted, match=r"within 0\.01 s"):
        await pool.take(0.01)
    held.release()
    await settle()
    assert pool.counts()[0] == 1  # what was made for the one who left


async def test_creations_never_exceed_the_budget_over_all_pools(
    make_services: MakeServices,
) -> None:
    services = make_services(budget=3)
    held = services.steps.hold("start")
    pools = [services.pool(warm=5), services.pool(warm=5, template="other")]
    await held.arrived(3)
    await turns()
    assert held.waiting == 3
    held.release()
    for pool in pools:
        await pool.ready()
    assert held.most == 3
    assert services.steps.counts["launch"] == 10


async def test_a_vmm_ahead_is_made_within_the_budget_and_after_what_is_wanted(
    make_services: MakeServices,
) -> None:
    services = make_services(budget=1)
    held = services.steps.hold("launch")
    pool = services.pool(warm=1, waiting=3)
    await held.arrived()
    await turns()
    assert (held.waiting, pool.counts()) == (1, (0, 1, 0))
    held.release()
    await pool.ready()
    await settle()
    assert pool.counts() == (1, 0, 3)
    assert services.steps.counts["start"] == 1
    assert held.most == 1


async def test_a_clone_starts_from_a_vmm_that_waits(services: Services) -> None:
    pool = services.pool(warm=0, waiting=1)
    await settle()
    (waiting,) = services.host.processes.values()
    vm = await pool.take(60)
    assert vm.name == waiting.spec.name
    await services.factory.destroy(vm)


async def test_a_vmm_that_died_waiting_is_not_used(services: Services) -> None:
    pool = services.pool(warm=0, waiting=1)
    await settle()
    (waiting,) = services.host.processes.values()
    waiting.die()
    vm = await pool.take(60)
    assert vm.name != waiting.spec.name
    await services.factory.destroy(vm)


async def test_waiters_are_served_in_the_order_in_which_they_came(
    make_services: MakeServices,
) -> None:
    services = make_services(budget=1)
    pool = services.pool(warm=0)
    served: list[int] = []

    async def take(number: int) -> Vm:
        vm = await pool.take(60)
        served.append(number)
        return vm

    takers = [spawn(take(number), name=f"take {number}") for number in range(6)]
    for vm in await asyncio.gather(*takers):
        await services.factory.destroy(vm)
    assert served == list(range(6))


async def test_a_waiter_that_leaves_is_passed_over(make_services: MakeServices) -> None:
    services = make_services(budget=1)
    held = services.steps.hold("start")
    pool = services.pool(warm=0)
    first, second = taker(pool, "first"), taker(pool, "second")
    await held.arrived()
    await cancel(first)
    held.release()
    vm = await second
    await services.factory.destroy(vm)
    await settle()
    assert first.cancelled()


async def test_a_waiter_cancelled_at_the_moment_of_delivery_passes_its_vm_on(
    make_services: MakeServices,
) -> None:
    """The VM is in its future, and its task has not run since."""
    services = make_services(budget=1)
    held = services.steps.hold("start")
    pool = services.pool(warm=0)
    first, second = taker(pool, "first"), taker(pool, "second")
    await held.arrived()
    (process,) = services.host.processes.values()
    pool._waiters[0].add_done_callback(lambda _: first.cancel())
    held.release()
    vm = await second
    assert vm.name == process.spec.name
    with pytest.raises(asyncio.CancelledError):
        await first
    await services.factory.destroy(vm)


async def test_with_nobody_behind_it_goes_to_the_shelf(services: Services) -> None:
    held = services.steps.hold("start")
    pool = services.pool(warm=0)
    only = taker(pool)
    await held.arrived()
    pool._waiters[0].add_done_callback(lambda _: only.cancel())
    held.release()
    with pytest.raises(asyncio.CancelledError):
        await only
    assert pool.counts()[0] == 1
    vm = pool.take_now()
    assert vm is not None
    await services.factory.destroy(vm)


async def test_a_vm_delivered_to_the_shelf_meanwhile_serves_who_comes_to_wait(
    services: Services,
) -> None:
    """Between its look at the shelf and its wait a caller asks for the template."""
    pool = services.pool(warm=0)
    vm = await pool.take(60)
    assert pool.take_now() is None
    pool.give_back(vm)
    assert await pool.take(60) is vm
    assert services.steps.counts["launch"] == 1
    pool.give_back(vm)
    assert await pool.take(0) is vm
    await services.factory.destroy(vm)


@pytest.mark.parametrize("how", ["died", "hung up", "template replaced", "template removed"])
async def test_what_must_not_be_handed_out_is_not(services: Services, how: str) -> None:
    pool = services.pool(warm=1)
    await pool.ready()
    (old,) = services.host.processes.values()
    match how:
        case "died":
            old.die()
        case "hung up":
            old.guest.hang_up()
            await turns()
        case "template replaced":
            services.vault.publish(TEMPLATE)
        case "template removed":
            services.vault.remove(TEMPLATE)
    assert pool.take_now() is None
    await turns()
    assert old.exited.is_set()


async def test_a_vm_that_dies_warm_is_replaced_before_anyone_asks(services: Services) -> None:
    pool = services.pool(warm=1)
    await pool.ready()
    (old,) = services.host.processes.values()
    old.die()
    assert pool.counts()[0] == 0
    await pool.ready()
    vm = pool.take_now()
    assert vm is not None
    assert vm.name != old.spec.name
    await services.factory.destroy(vm)


async def test_a_vm_that_dies_between_its_delivery_and_its_taker_is_not_handed_out(
    services: Services,
) -> None:
    held = services.steps.hold("start")
    pool = services.pool(warm=0)
    task = taker(pool)
    await held.arrived()
    (process,) = services.host.processes.values()
    pool._waiters[0].add_done_callback(lambda _: process.die())
    held.release()
    vm = await task
    assert vm.name != process.spec.name
    await services.factory.destroy(vm)


async def test_after_a_rebuild_the_pool_is_filled_from_the_new_template(
    services: Services,
) -> None:
    pool = services.pool(warm=2, waiting=1)
    await pool.ready()
    await settle()
    old = {process.spec.name for process in services.host.processes.values()}
    fresh = services.vault.publish(TEMPLATE)
    await services.pools.replaced(TEMPLATE)
    await pool.ready()
    await settle()
    assert not old & {process.spec.name for process in services.host.processes.values()}
    vm = pool.take_now()
    assert vm is not None
    assert vm.template is fresh
    await services.factory.destroy(vm)


async def test_who_waits_is_told_why_nothing_comes(services: Services) -> None:
    services.steps.fail("start", lambda: VmmError("no such device"), times=1)
    pool = services.pool(warm=0)
    with pytest.raises(VmmError, match="no such device"):
        await pool.take(60)
    assert pool.status.failures == 1


async def test_each_failure_is_told_to_one_waiter_and_the_next_gets_a_try_of_its_own(
    make_services: MakeServices,
) -> None:
    services = make_services(budget=1)
    services.steps.fail("start", lambda: VmmError("once"), times=1)
    pool = services.pool(warm=0)
    first, second = taker(pool, "first"), taker(pool, "second")
    with pytest.raises(VmmError):
        await first
    await services.factory.destroy(await second)


async def test_a_broken_template_does_not_spin(services: Services) -> None:
    services.steps.fail("start", lambda: VmmError("broken"))
    pool = services.pool(warm=1)
    await services_idle(services)
    tried = services.steps.counts["start"]
    await turns(500)
    assert services.steps.counts["start"] == tried == 1
    assert pool.counts()[1] == 1  # it pauses, and counts as under way
    services.steps.mend("start")
    await pool.ready()  # and then tries again by itself
    assert pool.counts()[0] == 1


async def test_a_fault_in_the_engine_does_not_spin_and_is_told(services: Services) -> None:
    services.steps.fail("start", lambda: RuntimeError("a fault"))
    pool = services.pool(warm=0)
    with pytest.raises(VmmError, match="a fault"):
        await pool.take(60)
    await turns(200)
    assert services.steps.counts["start"] == 1


async def services_idle(services: Services) -> None:
    """Until the creation that fails has failed."""
    while not services.steps.counts["start"] or services.host.processes:
        await asyncio.sleep(0)


@pytest.mark.parametrize("step", ["open", "launch", "start", "greet"])
async def test_closing_leaves_nothing_wherever_a_creation_stands(
    make_services: MakeServices, step: str
) -> None:
    services = make_services(budget=1)
    steps = services.vault.steps if step == "open" else services.steps
    if step == "greet":
        pool = await holding_greetings(services)
    else:
        held = steps.hold(step)
        pool = services.pool(warm=1)
        await held.arrived()
    waiter = taker(pool)
    await turns()
    await services.pools.close()
    steps.release_all()
    with pytest.raises(PoolExhausted, match="closing"):
        await waiter
    await settle()
    assert services.left() == {}


async def holding_greetings(services: Services) -> Pool:
    """A pool whose one guest is silent."""
    held = services.steps.hold("start")
    pool = services.pool(warm=1)
    await held.arrived()
    (process,) = services.host.processes.values()
    greeting = process.guest.steps.hold("greet")
    held.release()
    await greeting.arrived()
    return pool


async def test_closing_during_the_last_words_of_a_failed_vm_leaves_nothing(
    services: Services,
) -> None:
    services.steps.fail("start", lambda: VmmError("no"))
    console = services.steps.hold("console_tail")
    services.pool(warm=1)
    await console.arrived()
    await services.pools.close()
    await settle()
    assert services.left() == {}


async def test_a_vm_that_comes_back_to_a_closed_pool_is_destroyed(services: Services) -> None:
    pool = services.pool(warm=1)
    await pool.ready()
    vm = pool.take_now()
    assert vm is not None
    await services.pools.close()
    pool.give_back(vm)
    await settle()
    assert services.left() == {}


async def test_a_closed_pool_tells_who_comes_late(services: Services) -> None:
    pool = services.pool(warm=1)
    await services.pools.close()
    with pytest.raises(PoolExhausted):
        await pool.take(60)


async def test_a_drained_node_keeps_nothing_ready_and_serves_who_waits(
    services: Services,
) -> None:
    pool = services.pool(warm=2, waiting=1)
    await pool.ready()
    await settle()
    services.pools.suspend(suspended=True)
    await settle()
    assert services.host.processes == {}
    await services.factory.destroy(await pool.take(60))
    services.pools.suspend(suspended=False)
    await pool.ready()
    assert pool.counts()[0] == 2
