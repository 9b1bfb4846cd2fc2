"""The network door over fakes: who gets an interface, what it is told, and when it goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sandbox.v1 import broker_pb2 as pb
from sandbox_engine.errors import (
    InvalidArgument,
    NotOffered,
    StateConflict,
    VmmError,
)
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.egress_rules import Policy, Rule
from sandbox_engine.model.link import MASK
from sandbox_engine.model.machine import Input, State
from sandbox_engine.model.size import Key
from sandbox_engine.services.egress import Policies

from tests.egress.world import World, told
from tests.fakes.services import OPERATOR, TEMPLATE

PORT = 8080
LANE = Key(TEMPLATE, "egress")
POLICIES = Policies(
    allowed_services=("index.example",),
    pools={LANE: Policy(rules=(Rule(host="index.example"),), socks=True)},
)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path, POLICIES, PORT)
    await made.start()
    yield made
    await made.stop()


def claim(**fields: Any) -> Claim:
    return Claim(**{"net": "egress", "size": LANE.size, **fields})


def interfaces(guest: Any) -> list[Any]:
    return [each["interface"] for each in guest.configured if "interface" in each]


class TestWhatAGuestIsGiven:
    """Seed "What a guest is given", row by row."""

    async def test_an_address_that_it_has_confirmed_and_every_variable(self, world: World) -> None:
        created = await world.create(env={"A": "1"})
        sandbox, guest = created.sandbox, world.services.guest(created.sandbox)
        (link,) = world.links.host.links.values()
        assert interfaces(guest) == [{"address": link.guest, "mask": MASK, "mac": link.mac}]
        assert (sandbox.address, sandbox.net, sandbox.net_route) == (link.guest, "egress", "relay")
        broker = f"{link.host}:{PORT}"
        proxy = f"http://sandbox:{created.session_token}@{broker}"
        assert (await told(guest))["env"] == {
            "A": "1",
            "http_proxy": proxy,
            "https_proxy": proxy,
            "HTTP_PROXY": proxy,
            "HTTPS_PROXY": proxy,
            "no_proxy": "127.0.0.1,localhost",
            "NO_PROXY": "127.0.0.1,localhost",
            "SANDBOX_BROKER": broker,
            "SANDBOX_SESSION_TOKEN": created.session_token,
            "SANDBOX_NET_ADDR": link.guest,
            "SANDBOX_NET_MASK": MASK,
        }

    async def test_a_variable_that_the_spec_sets_is_left_alone(self, world: World) -> None:
        mine = dict.fromkeys(("http_proxy", "NO_PROXY", "SANDBOX_NET_ADDR"), "mine")
        created = await world.create(env=mine)
        env = (await told(world.services.guest(created.sandbox)))["env"]
        assert {name: env[name] for name in mine} == mine
        assert env["HTTP_PROXY"].startswith("http://sandbox:")

    @pytest.mark.parametrize(
        "fields",
        [
            {"egress_deny_all": True},
            {"claim": claim(egress=False)},
            {"claim": claim(tenant="t")},
            {"claim": claim(size="other")},
        ],
        ids=["deny all", "egress false", "a tenant without a class", "no pool policy"],
    )
    async def test_an_empty_policy_gets_none_of_it(
        self, world: World, fields: dict[str, Any]
    ) -> None:
        created = await world.create(**fields)
        guest = world.services.guest(created.sandbox)
        assert world.links.host.links == {}
        assert created.sandbox.address == ""
        assert created.sandbox.net_route == "none"
        assert guest.configured == []

    async def test_an_empty_daemon_list_gets_none_of_it(self, tmp_path: Path) -> None:
        world = World(tmp_path, Policies(), PORT)
        await world.start()
        created = await world.create()
        assert (created.sandbox.address, world.links.host.links) == ("", {})
        assert world.services.guest(created.sandbox).configured == []
        await world.stop()

    async def test_a_claim_of_the_lane_has_doors_too(self, world: World) -> None:
        created = await world.create(claim=claim())
        message = await told(world.services.guest(created.sandbox))
        assert (message["lane"], message["doors"]) == ("relay", ["http", "socks"])
        assert message["env"]["SANDBOX_NET_ADDR"] == created.sandbox.address

    async def test_the_lane_without_an_interface_has_none(self, world: World) -> None:
        created = await world.create(net="none")
        assert (created.sandbox.net, world.links.host.links) == ("none", {})
        env = (await told(world.services.guest(created.sandbox)))["env"]
        assert env["SANDBOX_BROKER"] == "127.0.0.1:3128"
        assert "http_proxy" not in env  # the agent's, by its lane


class TestPools:
    async def test_a_warm_vm_of_the_lane_has_its_link_already(self, world: World) -> None:
        pool = world.services.pools.configure(TEMPLATE, warm=1, waiting=0, net="egress")
        await pool.ready()
        ((vm, link),) = world.links.host.links.items()
        guest = world.services.host.named(vm).guest
        assert len(interfaces(guest)) == 1
        created = await world.create(pool_wait_ms=0)
        assert (created.sandbox.vm, created.sandbox.address) == (vm, link.guest)
        assert len(interfaces(guest)) == 1, "nothing was left to be done"
        assert (await told(guest))["env"]["SANDBOX_NET_ADDR"] == link.guest
        pool.warm = 0

    @pytest.mark.parametrize("fields", [{"net": "none"}, {"egress_deny_all": True}])
    async def test_who_gets_no_interface_gets_none_of_them(
        self, world: World, fields: dict[str, Any]
    ) -> None:
        pool = world.services.pools.configure(TEMPLATE, warm=1, waiting=0, net="egress")
        await pool.ready()
        created = await world.create(**fields)
        assert created.sandbox.vm not in world.links.host.links
        assert pool.counts()[0] == 1

    async def test_a_link_goes_with_a_vm_that_nobody_took(self, world: World) -> None:
        pool = world.services.pools.configure(TEMPLATE, warm=1, waiting=0, net="egress")
        await pool.ready()
        await world.services.pools.retire(pool)
        assert world.links.host.links == {}


class TestLanes:
    async def test_a_node_without_interfaces_refuses_the_lane(self, tmp_path: Path) -> None:
        world = World(tmp_path, POLICIES)
        await world.start()
        with pytest.raises(NotOffered, match="egress attachment"):
            await world.create(net="egress")
        assert (await world.create()).sandbox.net == "none"
        await world.stop()

    async def test_an_unknown_lane_is_named(self, world: World) -> None:
        with pytest.raises(InvalidArgument, match="unknown net 'fast'"):
            await world.create(net="fast")


class TestTheToken:
    async def test_the_broker_is_told_where_it_counts(self, world: World) -> None:
        created = await world.create()
        answer = await world.authorize(session_token=created.session_token)
        assert answer.address == created.sandbox.address
        behind_doors = await world.create(net="none")
        assert (await world.authorize(sandbox_id=behind_doors.sandbox.id)).address == ""


class TestItsEnd:
    async def test_a_link_goes_with_its_sandbox(self, world: World) -> None:
        created = await world.create()
        assert world.links.host.links
        await world.services.sandboxes.destroy(OPERATOR, created.sandbox.id)
        assert world.links.host.links == {}

    async def test_a_link_that_cannot_be_made_fails_the_create(self, world: World) -> None:
        world.links.broken = "no taps here"
        with pytest.raises(VmmError, match="no taps here"):
            await world.create()
        while world.services.host.processes:
            await asyncio.sleep(0)
        world.links.broken = ""
        assert (await world.create()).sandbox.address

    async def test_one_that_fails_half_way_leaves_nothing(self, world: World) -> None:
        world.services.steps.fail("attach_link", lambda: VmmError("half way"), 1)
        with pytest.raises(VmmError, match="half way"):
            await world.create()
        while world.services.left() or world.links.host.links:
            await asyncio.sleep(0)

    async def test_a_guest_that_refuses_its_address_goes_to_no_pool(self, world: World) -> None:
        held = world.services.steps.hold("attach_link")
        pool = world.services.pools.configure(TEMPLATE, warm=1, waiting=0, net="egress")
        await held.arrived()
        (process,) = world.services.host.processes.values()
        process.guest.steps.fail("configure", lambda: ValueError("no card"), 1)
        pool.warm = 0
        held.release()
        await process.exited.wait()
        while world.links.host.links:
            await asyncio.sleep(0)
        assert pool.counts()[0] == 0


class TestSavedStates:
    @pytest.mark.parametrize("given", [Input.SAVE, Input.HIBERNATE])
    async def test_a_claim_of_the_lane_is_not_saved(self, world: World, given: Input) -> None:
        created = await world.create(claim=claim())
        live = world.services.sandboxes.find(OPERATOR, created.sandbox.id)
        with pytest.raises(StateConflict, match="egress lane"):
            world.services.sandboxes.advance(live, given)
        assert live.sandbox.state is State.RUNNING


async def test_a_successor_knows_the_links_of_what_it_adopts(tmp_path: Path) -> None:
    world = World(tmp_path, POLICIES, PORT)
    await world.start()
    kept = await world.create()
    lost = await world.create(egress_allow=("index.example",))
    services = world.services
    services.journal.sandbox_gone(lost.sandbox)
    services.cut_off()
    successor = await services.successor()
    successor.factory.links = world.links
    await successor.recovery.run()
    try:
        assert list(world.links.host.links) == [kept.sandbox.vm]
        live = successor.sandboxes.find(OPERATOR, kept.sandbox.id)
        assert live.vm.link == world.links.find(kept.sandbox.vm)
        await successor.sandboxes.destroy(OPERATOR, kept.sandbox.id)
        assert world.links.host.links == {}
    finally:
        await world.channel.close()
        await world.server.stop()
        await successor.close()


async def test_a_wake_is_told_to_the_broker(world: World) -> None:
    created = await world.create()
    watch = world.stub.WatchRevocations(pb.WatchRevocationsRequest())
    assert list((await watch.read()).sandbox_ids) == []
    world.egress.woke(created.sandbox, 0.0)
    assert list((await watch.read()).sandbox_ids) == [created.sandbox.id]
    watch.cancel()
    while world.egress._watches:
        await asyncio.sleep(0)
