"""Tiers of claims that are left alone: idle, hibernated, archived, deleted; and leases that end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.engine.node.world import World, world
from tests.support.node import ROOT, Answer
from tests.support.wait import until


def post(node: World, box: Any, verb: str, body: Any = None) -> Answer:
    return node.request("POST", f"/v1/sandboxes/{box['id']}/{verb}", body)


def row(node: World, box: Any) -> Any:
    return node.request("GET", f"/v1/sandboxes/{box['id']}").json


def end_lease(node: World, seconds: float = 301) -> None:
    node.clock.at += seconds
    node.call(node.look_at_leases())


def archived(node: World, **config: Any) -> Any:
    """A claim whose lease ended while it ran."""
    box = node.claim(on_expire="archive", ttl_seconds=300)
    end_lease(node)
    until(lambda: row(node, box).get("archived"))
    return box


def told(node: World) -> list[str]:
    lines = (node.folder / "usage.jsonl").read_bytes().splitlines()
    return [json.loads(line)["ev"] for line in lines]


def test_a_lease_that_ends_archives_a_claim_that_asked_for_it(
    make_node: Callable[..., World],
) -> None:
    node = make_node()
    box = archived(node)
    found = row(node, box)
    assert (found["hibernated"], found["deadline"]) == (False, "9999-12-31T23:59:59Z")
    info = node.request("GET", "/v1/info").json
    assert (info["claimed"], info["hibernated"], info["archived"]) == (1, 0, 1)
    assert "sandboxd_archived 1.0" in node.request("GET", "/metrics").raw.decode()
    for verb, body in (("fork", {}), ("checkpoint", {}), ("promote", {"template": "x"})):
        assert post(node, box, verb, body).status == 409, verb
    assert post(node, box, "renew").status == 409
    assert post(node, box, "hibernate").status == 204
    assert row(node, box)["archived"]
    before = node.clock.at
    assert post(node, box, "wake").status == 204
    found = row(node, box)
    assert "archived" not in found
    assert node.claims()[0].deadline == before + 300
    assert told(node) == ["claim", "hibernate", "archive", "unarchive", "wake"]
    node.release(box)


def test_a_use_wakes_from_the_archive_and_a_release_deletes(
    make_node: Callable[..., World],
) -> None:
    node = make_node()
    box = archived(node)
    path = f"/v1/sandboxes/{box['id']}/exec"
    assert node.request("POST", path, {"argv": ["echo"]}, token=box["token"]).status == 200
    end_lease(node)  # the lease that the wake granted
    until(lambda: row(node, box).get("archived"))
    assert post(node, box, "release").status == 204
    assert told(node)[-2:] == ["archive_delete", "release"]
    assert node.journal_state(box["id"]) == "gone"


def test_the_archive_s_retention_deletes(make_node: Callable[..., World]) -> None:
    node = make_node(archive_delete_after_seconds=1000)
    box = archived(node)
    assert node.claims()[0].deadline == node.clock.at + 1000
    end_lease(node, 999)
    node.settle()
    assert row(node, box)["archived"]
    end_lease(node, 1)
    until(lambda: node.journal_state(box["id"]) == "gone")
    assert told(node)[-2:] == ["archive_delete", "reap"]
    assert list((node.folder / "snapshots" / "records").iterdir()) == []


def test_renew_changes_what_an_end_does(make_node: Callable[..., World]) -> None:
    node = make_node()
    box, other = node.claim(), node.claim(on_expire="archive")
    assert post(node, box, "renew", {"on_expire": "archive"}).status == 200
    assert post(node, other, "renew", {"on_expire": "destroy"}).status == 200
    end_lease(node)
    until(lambda: node.journal_state(other["id"]) == "gone")
    until(lambda: row(node, box).get("archived"))
    node.release(box)


def test_a_wake_that_fails_leaves_it_archived(make_node: Callable[..., World]) -> None:
    node = make_node()
    box = archived(node)
    node.driver.broken = "no machine starts"
    assert post(node, box, "wake").status == 500
    assert row(node, box)["archived"]
    node.driver.broken = ""
    assert post(node, box, "wake").status == 204
    node.release(box)


def test_claims_of_a_removed_tenant_only_run_out(make_node: Callable[..., World]) -> None:
    node = make_node(archive_delete_after_seconds=1000)
    assert node.request("PUT", "/v1/tenants/acme", {"token": "acme-token"}).status == 204
    body = {"template": "base", "size": "tiny", "on_expire": "archive", "ttl_seconds": 300}
    box = node.request("POST", "/v1/claim", body, token="acme-token").json
    end_lease(node)
    until(lambda: row(node, box).get("archived"))
    other = node.request("POST", "/v1/claim", body, token="acme-token").json
    assert node.request("DELETE", "/v1/tenants/acme").status == 204
    assert post(node, box, "wake").status == 403
    assert row(node, box)["archived"]
    end_lease(node)
    until(lambda: node.journal_state(other["id"]) == "gone")
    end_lease(node, 1000)
    until(lambda: node.journal_state(box["id"]) == "gone")


def test_a_removed_tenant_s_claims_are_not_archived_for_being_idle_and_no_use_wakes_one(
    make_node: Callable[..., World],
) -> None:
    node = make_node(
        idle_hibernate_seconds=10, archive_after_seconds=50, archive_delete_after_seconds=0
    )
    assert node.request("PUT", "/v1/tenants/acme", {"token": "acme-token"}).status == 204
    body = {"template": "base", "size": "tiny", "ttl_seconds": 3600}

    def sleeping() -> Any:
        box = node.request("POST", "/v1/claim", body, token="acme-token").json
        node.clock.at += 10
        node.look_at_idlers()
        until(lambda: row(node, box)["hibernated"])
        return box

    kept = sleeping()
    node.clock.at += 40
    node.look_at_idlers()
    until(lambda: row(node, kept).get("archived"))
    asleep = sleeping()
    assert node.request("DELETE", "/v1/tenants/acme").status == 204
    for _ in range(3):
        node.clock.at += 50
        node.look_at_idlers()
        node.settle()
    assert row(node, asleep)["hibernated"], "it was archived"
    use = {"argv": ["echo", "on"]}
    for box, status in ((kept, 403), (asleep, 200)):  # what only sleeps is woken as ever
        path = f"/v1/sandboxes/{box['id']}"
        answer = node.request("POST", f"{path}/exec", use, token=box["token"])
        assert answer.status == status, answer
        assert node.request("POST", f"{path}/wake", token=box["token"]).status in (status, 204)
    assert row(node, kept)["archived"]
    assert "unarchive" not in told(node)
    node.release(kept)
    node.release(asleep)


def test_a_failed_claim_s_lease_ends_it(make_node: Callable[..., World]) -> None:
    node = make_node()
    box = node.claim(on_expire="archive")
    node.kill_machine(box)
    end_lease(node)
    until(lambda: node.journal_state(box["id"]) == "gone")


@pytest.mark.parametrize("by_pool", [False, True])
def test_idle_claims_go_down_tier_by_tier(
    make_node: Callable[..., World], *, by_pool: bool
) -> None:
    rule = {
        "idle_hibernate_seconds": 10,
        "archive_after_seconds": 50,
        "archive_delete_after_seconds": 100,
    }
    pool = {"template": "base", "size": "tiny", "warm": 0, **rule}
    node = make_node(**({"pools": [pool]} if by_pool else rule))
    box = node.claim()

    def wait(seconds: float) -> None:
        node.clock.at += seconds
        node.look_at_idlers()
        node.settle()

    wait(9)
    assert not row(node, box)["hibernated"]
    wait(1)
    until(lambda: row(node, box)["hibernated"])
    wait(39)
    assert "archived" not in row(node, box)
    wait(1)
    until(lambda: row(node, box).get("archived"))
    assert node.claims()[0].deadline == node.clock.at + 100
    end_lease(node, 100)
    until(lambda: node.journal_state(box["id"]) == "gone")
    assert told(node) == ["claim", "hibernate", "archive", "archive_delete", "reap"]


def test_an_open_relay_keeps_a_claim_awake(make_node: Callable[..., World]) -> None:
    node = make_node(idle_hibernate_seconds=10)
    box = node.claim()
    relay = node.upgrade(box, "agent", token=box["token"])
    node.clock.at += 100
    node.look_at_idlers()
    node.settle()
    assert not row(node, box)["hibernated"]
    relay.close()
    until(lambda: node.holds(box) == 0)
    node.clock.at += 10
    node.look_at_idlers()
    until(lambda: row(node, box)["hibernated"])
    node.release(box)


def test_pools_put_by_the_api_have_rules_too(make_node: Callable[..., World]) -> None:
    node = make_node()
    pool = {"template": "base", "size": "tiny", "warm": 0, "idle_hibernate_seconds": 5}
    assert node.request("PUT", "/v1/pools", {"pools": [pool]}).status == 200
    box = node.claim()
    node.clock.at += 5
    node.look_at_idlers()
    until(lambda: row(node, box)["hibernated"])
    node.release(box)


VERBS: dict[str, tuple[str, Any]] = {
    "exec": ("exec", {"argv": ["echo"]}),
    "hibernate": ("hibernate", None),
    "wake": ("wake", None),
    "fork": ("fork", {}),
    "checkpoint": ("checkpoint", {}),
    "promote": ("promote", {"template": "raced"}),
    "renew": ("renew", {"ttl_seconds": 3600}),
    "release": ("release", None),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("races")) as made:
        yield made


@pytest.mark.parametrize("ahead", [False, True], ids=["reap first", "verb first"])
@pytest.mark.parametrize("asleep", [False, True], ids=["running", "hibernated"])
@pytest.mark.parametrize("end", ["destroy", "archive"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_meets_the_end_of_the_lease(
    shared: World, verb: str, end: str, *, asleep: bool, ahead: bool
) -> None:
    box = shared.claim(on_expire=end, ttl_seconds=300)
    if asleep:
        assert post(shared, box, "hibernate").status == 204
    name, body = VERBS[verb]
    token = box["token"] if verb == "exec" else ROOT

    def go() -> Answer:
        path = f"/v1/sandboxes/{box['id']}/{name}"
        return shared.request("POST", path, body, token=token)

    with ThreadPoolExecutor(1) as pool:
        if ahead:
            answer = pool.submit(go)
            end_lease(shared)
        else:
            end_lease(shared)
            answer = pool.submit(go)
        told = answer.result()
    assert told.status in (200, 204, 404, 409, 502), told
    shared.settle()
    children = told.json.get("children", []) if told.status == 200 else []
    for child in children:  # one that was made before the leases ended has ended as well
        path = f"/v1/sandboxes/{child['id']}/release"
        assert shared.request("POST", path, token=child["token"]).status in (204, 404)

    def ended() -> bool:
        return shared.journal_state(box["id"]) == "gone"

    if verb == "release" and told.status == 204:
        until(ended)
    elif verb == "renew" and told.status == 200:  # the renewal won
        assert shared.journal_state(box["id"]) in ("running", "hibernated")
        shared.release(box)
    elif end == "destroy":
        until(ended)
    else:
        settled = ("archived", "running")  # a use that came after it woke it again
        until(lambda: shared.journal_state(box["id"]) in settled)
        shared.release(box)
