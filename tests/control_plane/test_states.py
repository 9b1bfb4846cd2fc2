"""The seed's table "State", idle reclaim, eviction, and a VM or an engine that goes away."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandbox_api.engine import Strikes

from tests.control_plane.world import Plane, begin, code, gone
from tests.fakes.services import OPERATOR


async def test_ready_means_that_a_vm_is_attached(world: Plane) -> None:
    session = await world.open()
    assert await world.state(session) == "ready"
    assert len(world.services.sandboxes.visible(OPERATOR)) == 1


async def test_idle_means_that_it_was_reclaimed_and_the_next_call_gets_another(
    world: Plane,
) -> None:
    session = await world.open(key="k")
    volumes = world.services.volumes.names()
    world.clock.at += 599
    await world.sessions.reclaim_idle()
    assert await world.state(session) == "ready"
    world.clock.at += 1
    await world.sessions.reclaim_idle()
    assert await world.state(session) == "idle"
    assert world.services.sandboxes.visible(OPERATOR) == []
    assert (await world.exec(session, "true")).status == 200
    assert await world.state(session) == "ready"
    assert world.services.volumes.names() == volumes


async def test_closing_means_that_it_is_being_deleted(world: Plane) -> None:
    session = await world.open(key="k")
    held = world.services.steps.hold("kill")
    deleting = begin(world.call("DELETE", session))
    await held.arrived()
    assert await world.state(session) == "closing"
    assert (await world.call("DELETE", session)).status == 404
    again = begin(world.call("POST", "/v1/sessions", {"key": "k"}))
    held.release()
    assert (await deleting).status == 204
    assert (await again).status == 201


async def test_a_session_in_use_is_not_reclaimed(world: Plane) -> None:
    session = await world.open()
    held = world.guest(session).steps.hold("exec")
    running = begin(world.exec(session, "true"))
    await held.arrived()
    world.clock.at += 10_000
    await world.sessions.reclaim_idle()
    assert await world.state(session) == "ready"
    held.release()
    assert (await running).status == 200
    await world.sessions.reclaim_idle()  # its idle time began when the command ended
    assert await world.state(session) == "ready"


async def test_one_create_makes_one_vm(world: Plane) -> None:
    answers = await asyncio.gather(
        *(world.call("POST", "/v1/sessions", {"key": "k"}) for _ in range(8))
    )
    assert sorted(each.status for each in answers) == [200] * 7 + [201]
    assert len(world.services.sandboxes.visible(OPERATOR)) == 1


async def test_calls_after_idle_share_one_new_vm(world: Plane) -> None:
    session = await world.open()
    await world.sessions._reclaim(world.known(session))
    answers = await asyncio.gather(*(world.exec(session, "true") for _ in range(8)))
    assert {each.status for each in answers} == {200}
    assert len(world.services.sandboxes.visible(OPERATOR)) == 1


async def test_a_client_that_goes_while_a_vm_is_made_breaks_nothing(world: Plane) -> None:
    session = await world.open()
    await world.sessions._reclaim(world.known(session))
    held = world.services.steps.hold("launch")
    going = begin(world.exec(session, "true"))
    await held.arrived()
    going.cancel()
    await asyncio.gather(going, return_exceptions=True)
    held.release()
    assert (await world.exec(session, "true")).status == 200
    assert len(world.services.sandboxes.visible(OPERATOR)) == 1


async def test_a_vm_that_died_is_replaced(world: Plane) -> None:
    session = await world.open()
    machine = world.known(session).machine
    assert machine is not None
    world.services.process(world.services.sandboxes.get(OPERATOR, machine.id)).die()
    refused = await world.exec(session, "true")
    assert (refused.status, code(refused)) == (503, "guest_unavailable")
    await gone(world, session)
    assert (await world.exec(session, "true")).status == 200
    assert len(world.services.sandboxes.visible(OPERATOR)) == 1


async def test_a_vm_that_an_operator_took_away_is_replaced(world: Plane) -> None:
    session = await world.open()
    machine = world.known(session).machine
    assert machine is not None
    await world.services.sandboxes.destroy(OPERATOR, machine.id)
    refused = await world.exec(session, "true")
    assert (refused.status, code(refused)) == (503, "guest_unavailable")
    await gone(world, session)
    assert (await world.exec(session, "true")).status == 200


async def test_an_engine_that_starts_again_finds_the_sessions_idle(world: Plane) -> None:
    session = await world.open(key="k")
    await world.rpc.stop()
    for live in list(world.services.sandboxes._live.values()):
        await live.gone.wait()
    refused = await world.exec(session, "true")
    assert (refused.status, code(refused)) == (503, "engine_unreachable")
    assert await world.state(session) == "idle"
    await world.start_engine()
    await world.engine.wait_attached()
    assert (await world.exec(session, "true")).status == 200
    assert len(world.services.volumes.names()) == 1


class TestMaxRunning:
    async def test_the_least_recently_used_idle_one_makes_room(self, tmp_path: Path) -> None:
        async with Plane(tmp_path, max_running=2) as world:
            first, second = await world.open(key="a"), await world.open(key="b")
            world.clock.at += 1
            await world.exec(first, "true")
            third = await world.open(key="c")
            assert [await world.state(each) for each in (first, second, third)] == [
                "ready", "idle", "ready",
            ]  # fmt: skip
            assert len(world.services.sandboxes.visible(OPERATOR)) == 2
            assert (await world.exec(second, "true")).status == 200

    async def test_where_all_are_in_use_it_is_429(self, tmp_path: Path) -> None:
        async with Plane(tmp_path, max_running=1) as world:
            first = await world.open(key="a")
            held = world.guest(first).steps.hold("exec")
            running = begin(world.exec(first, "true"))
            await held.arrived()
            refused = await world.call("POST", "/v1/sessions", {"key": "b"})
            assert (refused.status, code(refused)) == (429, "too_many_running")
            held.release()
            await running
            await world.open(key="b")
            assert len(world.services.sandboxes.visible(OPERATOR)) == 1


async def test_three_failures_in_ten_seconds_are_the_end() -> None:
    strikes = Strikes()
    for at in (0.0, 5.0, 10.1):
        strikes.strike(at)
    assert not strikes.out.is_set()
    strikes.strike(14.9)
    assert strikes.out.is_set()


async def test_an_engine_that_was_reached_is_forgiven() -> None:
    strikes = Strikes()
    strikes.strike(0.0)
    strikes.strike(1.0)
    strikes.clear()
    strikes.strike(2.0)
    assert not strikes.out.is_set()
