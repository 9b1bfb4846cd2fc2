"""`BrokerService` over its real socket: who a guest is, what it may reach, and when no more."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from sandbox.v1 import broker_pb2 as pb
from sandbox_engine.api.rpc.broker import MAX_EVENTS
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.egress_rules import Policy, Rule
from sandbox_engine.model.environment import EnvEntry, Inject
from sandbox_engine.services.egress import EgressEvent, Policies
from sandbox_engine.services.network import DOOR

from tests.egress.world import KEY, MINT, World, told
from tests.fakes.services import OPERATOR


@pytest.fixture
async def policies() -> Policies:
    return Policies(
        allowed_services=("index.example", "*.packages.example:443"),
        pools={
            KEY: Policy(
                rules=(
                    Rule(host="*.example", methods=("GET", "POST"), credential="pool"),
                    Rule(host="api.example", ports=(443,), intercept=True),
                ),
                socks=True,
            )
        },
        classes={"narrow": Policy(rules=(Rule(host="a.example", methods=("GET",)),))},
    )


@pytest.fixture
async def world(tmp_path: Path, policies: Policies) -> AsyncIterator[World]:
    made = World(tmp_path, policies)
    await made.start()
    yield made
    await made.stop()


def rules(answer: Any) -> list[tuple[str, list[int], bool]]:
    return [(rule.host, list(rule.ports), rule.named) for rule in answer.rules]


async def refused(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code()


async def test_the_socket_is_for_the_broker_s_user_alone(world: World) -> None:
    found = world.path.stat()
    assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o600, os.geteuid())


class TestSessionPolicy:
    """The seed's table, row by row."""

    async def test_unset_0_is_the_daemon_wide_list(self, world: World) -> None:
        created = await world.create()
        answer = await world.authorize(session_token=created.session_token)
        assert answer.sandbox_id == created.sandbox.id
        assert answer.sandbox_number == created.sandbox.number
        assert rules(answer) == [
            ("index.example", [], True),
            ("*.packages.example", [443], True),
        ]
        assert not answer.deny_all

    async def test_entries_0_is_exactly_those_entries(self, world: World) -> None:
        created = await world.create(egress_allow=("x.packages.example:443",))
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        assert rules(answer) == [("x.packages.example", [443], True)]

    async def test_unset_1_is_none(self, world: World) -> None:
        created = await world.create(egress_deny_all=True)
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        assert answer.deny_all
        assert rules(answer) == []

    async def test_the_ceiling_narrows_what_was_granted_before(self, world: World) -> None:
        created = await world.create()
        world.egress.policies = Policies(allowed_services=("index.example:443",))
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        assert rules(answer) == []

    async def test_a_wider_ceiling_widens_no_sandbox_that_is_there(self, world: World) -> None:
        created = await world.create(egress_allow=("index.example",))
        world.egress.policies = Policies(allowed_services=("*",))
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        assert rules(answer) == [("index.example", [], True)]


async def test_the_daemon_wide_star_names_nothing(tmp_path: Path) -> None:
    made = World(tmp_path, Policies(allowed_services=("*",)))
    await made.start()
    try:
        whole = await made.create()
        answer = await made.authorize(sandbox_id=whole.sandbox.id)
        assert rules(answer) == [("*", [], False)]
        one = await made.create(egress_allow=("index.example",))
        answer = await made.authorize(sandbox_id=one.sandbox.id)
        assert rules(answer) == [("index.example", [], True)]
    finally:
        await made.stop()


class TestClaimPolicy:
    """Pool and tenant intersect; a missing layer is deny."""

    async def test_a_pool_and_a_class_intersect(self, world: World) -> None:
        claim = Claim(net="none", size=KEY.size, tenant="t", egress_class="narrow")
        created = await world.create(claim=claim)
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        (rule,) = answer.rules
        assert (rule.host, list(rule.methods)) == ("a.example", ["GET"])
        assert (rule.credential, answer.tenant) == ("pool", "t")

    @pytest.mark.parametrize(
        "fields",
        [
            {"tenant": "t", "egress_class": ""},
            {"tenant": "t", "egress_class": "narrow", "egress": False},
            {"net": "other"},
        ],
        ids=["no class", "egress false", "no pool policy"],
    )
    async def test_a_missing_layer_is_deny(self, world: World, fields: dict[str, Any]) -> None:
        claim = Claim(**{"net": "none", "size": KEY.size, **fields})
        created = await world.create(claim=claim)
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        assert answer.deny_all
        assert created.sandbox.net_route == "none"
        assert world.egress.doors(created.sandbox) == []

    async def test_host_only_values_go_to_the_broker_and_not_to_the_guest(
        self, world: World
    ) -> None:
        inject = Inject(hosts=["api.example"], header="X-Key", body=True, placeholder="<key>")
        env = {"KEY": EnvEntry(value="the value", inject=inject)}
        claim = Claim(net="none", size=KEY.size, host_env=env)
        created = await world.create(claim=claim)
        answer = await world.authorize(sandbox_id=created.sandbox.id)
        (secret,) = answer.secrets
        assert (secret.name, secret.value, list(secret.hosts)) == (
            "KEY", "the value", ["api.example"],
        )  # fmt: skip
        assert (secret.header, secret.body, secret.placeholder) == ("X-Key", True, "<key>")
        assert "the value" not in str(world.services.guest(created.sandbox).__dict__)


class TestIdentity:
    async def test_a_token_is_64_hex_digits_and_not_that_of_the_http_doors(
        self, world: World
    ) -> None:
        created = await world.create()
        assert len(created.session_token) == 64
        int(created.session_token, 16)
        assert created.session_token != created.token
        assert not MINT.matches(created.sandbox.id, created.session_token)

    @pytest.mark.parametrize(
        "change",
        [
            lambda token: "",
            lambda token: token[:-1],
            lambda token: token + "0",
            lambda token: token[:-1] + ("0" if token[-1] != "0" else "1"),
            lambda token: "é" * 32,
            lambda token: token.upper(),
        ],
    )  # fmt: skip
    async def test_any_other_token_is_nobody_s(self, world: World, change: Any) -> None:
        token = change((await world.create()).session_token)
        status = await refused(world.authorize(session_token=token))
        assert status is grpc.StatusCode.UNAUTHENTICATED

    async def test_a_destroyed_sandbox_s_token_is_nobody_s(self, world: World) -> None:
        created = await world.create()
        await world.services.sandboxes.destroy(OPERATOR, created.sandbox.id)
        for identity in (
            {"session_token": created.session_token},
            {"sandbox_id": created.sandbox.id},
        ):
            status = await refused(world.authorize(**identity))
            assert status is grpc.StatusCode.UNAUTHENTICATED

    async def test_no_identity_is_nobody_s(self, world: World) -> None:
        status = await refused(world.stub.Authorize(pb.AuthorizeRequest()))
        assert status is grpc.StatusCode.UNAUTHENTICATED


async def test_a_watch_is_armed_first_and_tells_of_each_end(world: World) -> None:
    created = await world.create()
    watch = world.stub.WatchRevocations(pb.WatchRevocationsRequest())
    assert list((await watch.read()).sandbox_ids) == []
    await world.services.sandboxes.destroy(OPERATOR, created.sandbox.id)
    assert list((await watch.read()).sandbox_ids) == [created.sandbox.id]
    watch.cancel()
    while world.egress._watches:
        await asyncio.sleep(0)


class TestReports:
    async def test_events_of_known_sandboxes_are_recorded(self, world: World) -> None:
        found: list[EgressEvent] = []
        world.egress.records.append(lambda sandbox, event: found.append(event))
        created = await world.create()
        known = pb.EgressEvent(
            sandbox_id=created.sandbox.id,
            host="index.example",
            port=443,
            decision="allowed_credentialed",
            secrets=["gh"],
            sent_bytes=3,
        )
        unknown = pb.EgressEvent(sandbox_id="sb_0", host="x", decision="denied_policy")
        await world.stub.ReportEgress(pb.ReportEgressRequest(events=[unknown, known]))
        (event,) = found
        assert (event.host, event.port, event.decision) == (
            "index.example", 443, "allowed_credentialed",
        )  # fmt: skip
        assert (event.secrets, event.sent_bytes) == (("gh",), 3)

    async def test_as_many_as_the_limit(self, world: World) -> None:
        event = pb.EgressEvent(sandbox_id="sb_0")
        await world.stub.ReportEgress(pb.ReportEgressRequest(events=[event] * MAX_EVENTS))
        over = world.stub.ReportEgress(pb.ReportEgressRequest(events=[event] * (MAX_EVENTS + 1)))
        assert await refused(over) is grpc.StatusCode.INVALID_ARGUMENT


async def test_what_a_guest_is_given(world: World) -> None:
    created = await world.create(env={"SANDBOX_BROKER": "mine", "A": "1"})
    guest = world.services.guest(created.sandbox)
    message = await told(guest)
    assert message["lane"] == "relay"
    assert message["doors"] == ["http"]
    assert message["env"] == {
        "SANDBOX_BROKER": "mine",
        "SANDBOX_SESSION_TOKEN": created.session_token,
        "A": "1",
    }
    assert DOOR == "127.0.0.1:3128"
