"""What a claim is, from its grant to its end, through the door."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.engine.node.world import TINY, World
from tests.support.node import ROOT
from tests.support.wait import until

Make = Callable[..., World]


def listed(node: World, query: str = "") -> list[Any]:
    found = node.request("GET", f"/v1/sandboxes{query}").json["sandboxes"]
    assert isinstance(found, list)
    return found


def usage(node: World) -> list[Any]:
    lines = (node.folder / "usage.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def test_a_grant_says_where_and_until_when(make_node: Make) -> None:
    node = make_node(advertise_addr="10.0.0.5:7777")
    grant = node.claim(ttl_seconds=60)
    assert set(grant) == {"id", "token", "deadline", "owner_addr", "net_route"}
    assert grant["id"].startswith("sb_")
    assert (grant["owner_addr"], grant["net_route"]) == ("10.0.0.5:7777", "none")
    assert grant["deadline"] == "2026-09-21T14:14:20Z"
    owner = node.request("GET", f"/v1/sandboxes/{grant['id']}/owner", token=grant["token"])
    assert owner.json == {"owner_addr": "10.0.0.5:7777"}
    assert node.request("GET", "/v1/info").json["advertise_addr"] == "10.0.0.5:7777"


def test_an_origin_for_clients_wins_over_the_address(make_node: Make) -> None:
    node = make_node(advertise_addr="10.0.0.5:7777", client_advertise="https://node.example/")
    assert node.claim()["owner_addr"] == "https://node.example"


def test_a_row_shows_the_claim_and_never_its_token(node: World) -> None:
    grant = node.claim(claim_ref="ns/name", metadata={"team": "a"}, on_expire="archive")
    (row,) = listed(node)
    assert row == {
        "id": grant["id"],
        "key": {"template": "base", "net": "none", "size": "tiny"},
        "deadline": grant["deadline"],
        "claimed_at": "2026-09-21T14:13:20Z",
        "hibernated": False,
        "cpu_count": 1,
        "mem_total_bytes": 256 << 20,
        "claim_ref": "ns/name",
        "metadata": {"team": "a"},
        "on_expire": "archive",
    }
    by_id = node.request("GET", f"/v1/sandboxes/{grant['id']}").json
    assert by_id == row | {"token": grant["token"]}
    node.release(grant)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "abc"),
        ("?claim_ref=", "abc"),
        ("?claim_ref=a", "a"),
        ("?claim_ref=none", ""),
        ("?metadata=team=x", "ab"),
        ("?metadata=team=x&metadata=tier=1", "a"),
        ("?metadata=team=", ""),
        ("?metadata=note=1%2B1=2", "c"),
        ("?tenant=nobody", ""),
    ],
)
def test_the_index_can_be_narrowed(make_node: Make, query: str, found: str) -> None:
    node = make_node()
    node.claim(claim_ref="a", metadata={"team": "x", "tier": "1"})
    node.claim(claim_ref="b", metadata={"team": "x"})
    node.claim(claim_ref="c", metadata={"note": "1+1=2"})
    assert "".join(row["claim_ref"] for row in listed(node, query)) == found


def test_without_an_api_token_node_calls_are_open_and_grant_no_sandbox(make_node: Make) -> None:
    node = make_node(api_token="")
    grant = node.request("POST", "/v1/claim", TINY, token=None).json
    path = f"/v1/sandboxes/{grant['id']}"
    assert node.request("GET", "/v1/info", token=None).status == 200
    assert "token" not in node.request("GET", path, token=None).json
    assert node.request("GET", path, token="anything").status == 200
    assert node.request("POST", f"{path}/release", token=None).status == 401
    empty = {"Authorization": "Bearer "}
    assert node.request("POST", f"{path}/release", token=None, headers=empty).status == 401
    assert node.request("POST", f"{path}/release", token=grant["token"]).status == 204


def test_release_takes_the_claim_the_token_and_the_vm(node: World) -> None:
    grant = node.claim()
    name = node.machine(grant).ref.name
    path = f"/v1/sandboxes/{grant['id']}"
    assert node.request("POST", f"{path}/release", token=grant["token"]).status == 204
    assert name not in node.driver.machines
    again = node.request("POST", f"{path}/release", token=grant["token"])
    assert again.status == 404
    assert node.request("GET", path).status == 404
    assert (
        node.request("POST", f"{path}/exec", {"argv": ["echo"]}, token=grant["token"]).status == 404
    )


def test_an_operator_releases_by_id(node: World) -> None:
    grant = node.claim()
    assert node.request("POST", f"/v1/sandboxes/{grant['id']}/release", token=ROOT).status == 204
    assert listed(node) == []


def test_two_releases_at_once_have_one_winner(node: World) -> None:
    grant = node.claim()
    path = f"/v1/sandboxes/{grant['id']}/release"
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(node.request, "POST", path, token=grant["token"]) for _ in range(4)]
        statuses = sorted(call.result().status for call in calls)
    assert statuses == [204, 404, 404, 404]


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        (None, 300),
        ({"ttl_seconds": 0}, 300),
        ({"ttl_seconds": 7}, 7),
        ({"ttl_seconds": 10**9}, 86400),
    ],
)
def test_renew_grants_from_now_and_clamps(node: World, asked: Any, granted: int) -> None:
    grant = node.claim(ttl_seconds=3600)
    renewed = node.request(
        "POST", f"/v1/sandboxes/{grant['id']}/renew", asked, token=grant["token"]
    )
    assert renewed.status == 200
    (row,) = listed(node)
    assert renewed.json == {"deadline": row["deadline"]}
    (sandbox,) = node.claims()
    assert sandbox.deadline == node.clock.at + granted
    assert sandbox.lease_s == granted
    node.release(grant)


def test_renew_changes_what_happens_at_the_deadline(node: World) -> None:
    grant = node.claim()
    path = f"/v1/sandboxes/{grant['id']}/renew"
    for wish, shown in (("archive", "archive"), ("", "archive"), ("destroy", None)):
        assert node.request("POST", path, {"on_expire": wish}, token=ROOT).status == 200
        assert listed(node)[0].get("on_expire") == shown
    node.release(grant)


def test_a_lease_ends_by_itself(make_node: Make) -> None:
    node = make_node()
    short, long = node.claim(ttl_seconds=10), node.claim(ttl_seconds=100)
    node.clock.at += 11
    node.call(node.look_at_leases())
    until(lambda: [row["id"] for row in listed(node)] == [long["id"]])
    events = [(event["ev"], event["id"]) for event in usage(node)]
    assert events == [("claim", short["id"]), ("claim", long["id"]), ("reap", short["id"])]


def test_claims_come_warm_by_clone_and_cold(make_node: Make) -> None:
    node = make_node(pools=[{"template": "base", "size": "tiny", "warm": 1}])
    until(lambda: node.request("GET", "/v1/info").json["pools"][0]["warm"] == 1)
    node.claim()
    node.claim(template="other")
    cold = node.claim(size="medium")
    spec = node.machine(cold).spec
    assert (spec.memory_mib, spec.vcpus, spec.snapshot) == (1024, 2, None)
    page = node.request("GET", "/metrics").raw.decode()
    for tier in ("warm", "clone", "cold"):
        assert f'sandboxd_claims_total{{tier="{tier}"}} 1.0' in page
    pools = {pool["key"]["size"]: pool for pool in node.request("GET", "/v1/info").json["pools"]}
    assert (pools["medium"]["golden"], pools["medium"]["target"]) == (False, 0)
    assert pools["tiny"]["golden"] is True


def test_variables_reach_the_guest_before_its_first_command(node: World) -> None:
    grant = node.claim(env={"MODE": {"value": "prod"}, "X": {"value": "1", "guest": True}})
    node.request(
        "POST", f"/v1/sandboxes/{grant['id']}/exec", {"argv": ["echo"]}, token=grant["token"]
    )
    assert node.machine(grant).guest.env == {"MODE": "prod", "X": "1"}
    node.release(grant)


def test_a_released_place_is_free_at_once(make_node: Make) -> None:
    node = make_node(max_claims=1)
    for _ in range(3):
        node.release(node.claim())


def test_a_release_can_leave_the_vm_standing_for_a_while(make_node: Make) -> None:
    node = make_node(release_delay_seconds=600, max_claims=1)
    grant = node.claim()
    machine = node.machine(grant)
    relay = node.upgrade(grant)
    node.release(grant)
    assert relay.read() == b""
    relay.close()
    assert listed(node) == []
    until(lambda: machine.paused)
    assert machine.ref.name in node.driver.machines
    assert node.journal_state(grant["id"]) == "destroying"
    node.claim()
    node.stop()
    assert node.driver.machines == {}


def test_stats_are_what_the_kernel_counts(node: World, claim: Any) -> None:
    answer = node.request("GET", f"/v1/sandboxes/{claim['id']}/stats")
    assert answer.json == {
        "id": claim["id"],
        "cpu_count": 1,
        "mem_total_bytes": 256 << 20,
        "mem_used_bytes": 100 << 20,
        "mem_used_measured": True,
        "hibernated": False,
        "measured_at": "2026-09-21T14:13:20Z",
    }
    node.kill_machine(claim)
    gone = node.request("GET", f"/v1/sandboxes/{claim['id']}/stats").json
    assert (gone["mem_used_bytes"], gone["mem_used_measured"]) == (0, False)


def test_usage_has_every_transition_and_its_facts(make_node: Make) -> None:
    node = make_node()
    released, died = node.claim(), node.claim()
    node.release(released)
    node.kill_machine(died)
    until(lambda: len(usage(node)) == 5)
    events = usage(node)
    assert [(event["ev"], event["id"]) for event in events] == [
        ("claim", released["id"]),
        ("claim", died["id"]),
        ("release", released["id"]),
        ("vmm_exit", died["id"]),
        ("vmm_failed", died["id"]),
    ]
    assert events[0]["t"] == "2026-09-21T14:13:20.000000Z"
    assert events[0]["vm"] == "vm-" + released["id"].removeprefix("sb_")
    assert events[0]["key"] == events[1]["key"]
    assert events[4]["ref"].startswith("its virtual machine died")


def test_a_burst_over_a_small_pool_is_served_and_the_pool_recovers(make_node: Make) -> None:
    node = make_node(pools=[{"template": "base", "size": "tiny", "warm": 4}])
    with ThreadPoolExecutor(32) as pool:
        calls = [pool.submit(node.request, "POST", "/v1/claim", TINY) for _ in range(32)]
        statuses = {call.result().status for call in calls}
    assert statuses == {200}
    until(lambda: node.request("GET", "/v1/info").json["pools"][0]["warm"] == 4)
    assert node.request("GET", "/v1/info").json["claimed"] == 32
