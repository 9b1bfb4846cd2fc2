"""Tenants: what they may, what a change of the set means, and what a removal leaves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.engine.node.world import TINY, World, world
from tests.support.node import ROOT, Answer

ACME, OTHER = "acme-token", "other-token"


def put(node: World, *entries: dict[str, Any]) -> Any:
    """Exactly these tenants; the answer."""
    answer = node.request("PUT", "/v1/tenants", {"tenants": list(entries)})
    assert answer.status == 200, answer
    return answer.json


@pytest.fixture
def shared(make_node: Callable[..., World]) -> World:
    """A node with two tenants."""
    node = make_node(audit_log=True)
    put(node, {"name": "acme", "token": ACME}, {"name": "other/two", "token": OTHER})
    return node


def claim_as(node: World, token: str, **fields: Any) -> Answer:
    return node.request("POST", "/v1/claim", TINY | fields, token=token)


def claimed_as(node: World, token: str, **fields: Any) -> Any:
    answer = claim_as(node, token, **fields)
    assert answer.status == 200, answer
    return answer.json


def audit(node: World) -> list[dict[str, Any]]:
    lines = (node.folder / "audit.jsonl").read_text().splitlines()
    return [record for line in lines if (record := json.loads(line))["op"] == "tenants"]


def test_the_set_is_listed_with_live_claims_and_a_digest(shared: World) -> None:
    claimed_as(shared, ACME)
    view = shared.request("GET", "/v1/tenants").json
    assert view["tenants"] == [{"name": "acme", "claims": 1}, {"name": "other/two", "claims": 0}]
    before = view["digest"]
    again = put(shared, {"name": "other/two"}, {"name": "acme"})
    assert again["digest"] == before, "the order of entries is part of the digest"
    assert put(shared, {"name": "acme", "max_claims": 3})["digest"] != before


def test_an_empty_token_keeps_the_one_there_is_and_a_new_one_ends_it_at_once(
    shared: World,
) -> None:
    path = "/v1/tenants/acme"
    assert shared.request("PUT", path, {"max_claims": 5}).status == 204
    assert shared.request("GET", "/v1/sandboxes", token=ACME).status == 200
    assert shared.request("PUT", path, {"token": "rotated"}).status == 204
    assert shared.request("GET", "/v1/sandboxes", token=ACME).status == 401
    assert shared.request("GET", "/v1/sandboxes", token="rotated").status == 200
    assert shared.request("DELETE", "/v1/tenants/other%2Ftwo").status == 204
    assert shared.request("GET", "/v1/sandboxes", token=OTHER).status == 401
    gone = shared.request("DELETE", "/v1/tenants/other%2Ftwo")
    assert (gone.status, gone.json) == (404, {"error": "unknown tenant"})


def test_the_set_outlives_the_node_and_no_token_is_written(tmp_path: Path) -> None:
    with world(tmp_path) as node:
        put(node, {"name": "acme", "token": ACME, "max_claims": 2})
        digest = node.request("GET", "/v1/tenants").json["digest"]
    saved = tmp_path / "tenants.json"
    assert saved.stat().st_mode & 0o777 == 0o600
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]
    assert saved in written
    assert not [path for path in written if ACME.encode() in path.read_bytes()]
    with world(tmp_path) as node:
        assert node.request("GET", "/v1/tenants").json["digest"] == digest
        assert claim_as(node, ACME).status == 200


def test_a_set_that_cannot_be_read_keeps_the_node_from_starting(tmp_path: Path) -> None:
    (tmp_path / "tenants.json").write_text('{"format": 2, "tenants": []}')
    with pytest.raises(Exception, match=r"tenants\.json"), world(tmp_path):
        pass


def test_a_change_is_an_audit_record_and_no_change_is_none(shared: World) -> None:
    put(shared, {"name": "acme", "max_claims": 1}, {"name": "new", "token": "n"})
    put(shared, {"name": "new"}, {"name": "acme", "max_claims": 1})
    first, second = audit(shared)
    assert (first["added"], first["changed"], first["removed"]) == (["acme", "other/two"], [], [])
    assert (second["added"], second["changed"], second["removed"]) == (
        ["new"],
        ["acme"],
        ["other/two"],
    )
    assert ACME not in json.dumps([first, second])


def test_a_refused_change_changes_nothing(shared: World) -> None:
    before = shared.request("GET", "/v1/tenants").json
    answer = shared.request(
        "PUT", "/v1/tenants", {"tenants": [{"name": "acme"}, {"name": "new", "token": OTHER * 400}]}
    )
    assert answer.status == 400
    assert shared.request("GET", "/v1/tenants").json == before
    assert claim_as(shared, OTHER).status == 200


def test_each_sees_its_own_and_root_sees_all_or_one(shared: World) -> None:
    mine, theirs, roots = claimed_as(shared, ACME), claimed_as(shared, OTHER), shared.claim()

    def ids(token: str, query: str = "") -> set[str]:
        rows = shared.request("GET", f"/v1/sandboxes{query}", token=token).json["sandboxes"]
        return {row["id"] for row in rows}

    assert ids(ACME) == {mine["id"]}
    assert ids(ACME, "?tenant=other/two") == {mine["id"]}, "a tenant chose whom it sees"
    assert ids(ROOT) == {mine["id"], theirs["id"], roots["id"]}
    assert ids(ROOT, "?tenant=other/two") == {theirs["id"]}
    row = shared.request("GET", f"/v1/sandboxes/{mine['id']}").json
    assert row["tenant"] == "acme"
    assert "tenant" not in shared.request("GET", f"/v1/sandboxes/{roots['id']}").json


def test_its_own_cap_counts_live_claims_and_evicts_none(shared: World) -> None:
    first, second = claimed_as(shared, ACME), claimed_as(shared, ACME)
    assert shared.request("PUT", "/v1/tenants/acme", {"max_claims": 1}).status == 204
    answer = claim_as(shared, ACME)
    assert answer.status == 429
    assert "tenant 'acme' holds 2 claims, its limit" in answer.error
    assert claim_as(shared, OTHER).status == 200
    shared.release(first)
    assert claim_as(shared, ACME).status == 429
    shared.release(second)
    assert claim_as(shared, ACME).status == 200


@pytest.mark.parametrize("caller", [ROOT, OTHER, ACME])
def test_children_are_the_parents_tenants_whoever_forks(shared: World, caller: str) -> None:
    parent = claimed_as(shared, ACME)
    path = f"/v1/sandboxes/{parent['id']}/fork"
    body = {"token": parent["token"], "count": 2}
    answer = shared.request("POST", path, body, token=caller)
    assert answer.status == 200, answer
    rows = shared.request("GET", "/v1/sandboxes?tenant=acme").json["sandboxes"]
    assert {row["id"] for row in rows} == {parent["id"]} | {
        child["id"] for child in answer.json["children"]
    }
    assert shared.request("PUT", "/v1/tenants/acme", {"max_claims": 4}).status == 204
    assert shared.request("POST", path, body, token=caller).status == 429
    assert len(shared.request("GET", "/v1/sandboxes?tenant=acme").json["sandboxes"]) == 3


def test_checkpoints_are_their_makers(shared: World) -> None:
    mine = claimed_as(shared, ACME)
    made = shared.request(
        "POST", f"/v1/sandboxes/{mine['id']}/checkpoint", {"token": mine["token"]}, token=ACME
    ).json["checkpoint"]
    assert made["tenant"] == "acme"
    assert shared.request("GET", "/v1/checkpoints", token=OTHER).json == {"checkpoints": []}
    path = f"/v1/checkpoints/{made['id']}"
    assert shared.request("DELETE", path, token=OTHER).status == 404
    branch = shared.request("POST", f"{path}/claim", {}, token=OTHER).json
    assert shared.request("GET", f"/v1/sandboxes/{branch['id']}").json["tenant"] == "other/two"
    assert shared.request("DELETE", path, token=ACME).status == 204


@pytest.fixture
def orphan(shared: World) -> Any:
    """A claim whose tenant was removed."""
    made = claimed_as(shared, ACME, ttl_seconds=60, on_expire="archive")
    assert shared.request("DELETE", "/v1/tenants/acme").status == 204
    return made


def test_a_removed_tenants_claim_runs_on_and_cannot_extend(shared: World, orphan: Any) -> None:
    path = f"/v1/sandboxes/{orphan['id']}"
    own, body = orphan["token"], {"token": orphan["token"], "count": 1}
    assert shared.request("POST", f"{path}/exec", {"argv": ["echo"]}, token=own).status == 200
    refused = shared.request("POST", f"{path}/renew", None, token=own)
    assert refused.status == 403
    assert "was removed" in refused.error
    assert shared.request("POST", f"{path}/fork", body).status == 403
    assert shared.request("POST", f"{path}/fork", body, token=OTHER).status == 403
    assert shared.request("POST", f"{path}/renew", {"ttl_seconds": 90}).status == 200
    assert shared.request("POST", f"{path}/fork", {"count": 1}).status == 200
    rows = shared.request("GET", "/v1/sandboxes?tenant=acme").json["sandboxes"]
    assert orphan["id"] in {row["id"] for row in rows}
    assert {"name": "acme", "claims": 2, "removed": True} in shared.request(
        "GET", "/v1/tenants"
    ).json["tenants"]


def test_at_its_deadline_it_is_destroyed_whatever_on_expire_says(
    shared: World, orphan: Any
) -> None:
    shared.clock.at += 61
    shared.call(shared.look_at_leases())
    path = f"/v1/sandboxes/{orphan['id']}"
    while shared.request("GET", path).status != 404:
        shared.settle()
    assert shared.request("GET", "/v1/tenants").json["tenants"] == [
        {"name": "other/two", "claims": 0}
    ]


def test_the_verbs_of_a_tenants_token_are_closed_to_a_removed_one(
    shared: World, orphan: Any
) -> None:
    path = f"/v1/sandboxes/{orphan['id']}"
    for verb in ("checkpoint", "promote", "preview"):
        body = {"token": orphan["token"], "port": 80, "template": "x"}
        assert shared.request("POST", f"{path}/{verb}", body, token=ACME).status == 401


def test_a_name_that_comes_back_has_what_it_left(shared: World, orphan: Any) -> None:
    assert shared.request("PUT", "/v1/tenants/acme", {"token": "anew"}).status == 204
    rows = shared.request("GET", "/v1/sandboxes", token="anew").json["sandboxes"]
    assert [row["id"] for row in rows] == [orphan["id"]]
    path = f"/v1/sandboxes/{orphan['id']}/renew"
    assert shared.request("POST", path, None, token=orphan["token"]).status == 200


def test_the_gauge_has_tenants_that_hold_claims_only(shared: World) -> None:
    def gauge() -> list[str]:
        text = shared.request("GET", "/metrics").raw.decode()
        return [line for line in text.splitlines() if line.startswith("sandboxd_tenant_claims{")]

    assert gauge() == []
    one = claimed_as(shared, OTHER)
    assert gauge() == ['sandboxd_tenant_claims{tenant="other/two"} 1.0']
    shared.release(one)
    assert gauge() == []


def test_the_usage_journal_names_the_tenant_of_a_claim(shared: World) -> None:
    mine = claimed_as(shared, ACME)
    lines = (shared.folder / "usage.jsonl").read_text().splitlines()
    events = [event for line in lines if (event := json.loads(line))["id"] == mine["id"]]
    assert [(event["ev"], event.get("tenant")) for event in events] == [("claim", "acme")]


def test_a_node_without_an_api_token_has_no_tenants(make_node: Callable[..., World]) -> None:
    node = make_node(api_token="")
    for method, path, body in (
        ("GET", "/v1/tenants", None),
        ("PUT", "/v1/tenants", {"tenants": []}),
        ("PUT", "/v1/tenants/a", {"token": "t"}),
        ("DELETE", "/v1/tenants/a", None),
    ):
        answer = node.request(method, path, body)
        assert answer.status == 400
        assert "without api_token" in answer.error


# -- each status ------------------------------------------------------------------


class Row(NamedTuple):
    """One cause of a refusal of a set."""

    words: str
    entries: list[Any]


def one(words: str, /, **fields: Any) -> Row:
    return Row(words, [{"name": "a", "token": "t"} | fields])


ROWS = {
    "a bad name": one("name: a letter or digit", name="-a"),
    "an empty name": one("name: a letter or digit", name=""),
    "a name of 64": one("at most 62", name="a" * 64),
    "a new one without a token": one("needs one", token=""),
    "a token with a space": one("no space", token="a b"),
    "a token of 1025": one("at most 1024", token="t" * 1025),
    "the root's token": one("equals api_token", token=ROOT),
    "negative max_claims": one("must be 0 to", max_claims=-1),
    "max_claims over a million": one("must be 0 to", max_claims=1_000_001),
    "an unknown class": one("no class 'gold'", egress_class="gold"),
    "a field of the configuration": one("unknown field `egress`", egress={}),
    "a wrong type": one("$.tenants[0].max_claims", max_claims="1"),
    "a name twice": Row("named twice", [{"name": "a", "token": "t"}, {"name": "a", "token": "u"}]),
    "a token twice": Row(
        "has the same", [{"name": "a", "token": "t"}, {"name": "b", "token": "t"}]
    ),
    "a kept token twice": Row("has the same", [{"name": "kept"}, {"name": "b", "token": "k"}]),
    "no object": Row("invalid request body", [1]),
}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A node whose one tenant stays."""
    with world(tmp_path_factory.mktemp("node")) as made:
        put(made, {"name": "kept", "token": "k"})
        yield made


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_a_bad_set_is_400(quiet: World, row: Row) -> None:
    answer = quiet.request("PUT", "/v1/tenants", {"tenants": row.entries})
    assert answer.status == 400
    assert row.words in answer.error


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "a" * 63},
        {"name": "user:1.x_y/z-2"},
        {"token": "t" * 1024},
        {"max_claims": 1_000_000},
    ],
)
def test_at_the_limits_it_is_taken(quiet: World, fields: dict[str, Any]) -> None:
    put(quiet, {"name": "kept"}, {"name": "a", "token": "t"} | fields)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/tenants"),
        ("PUT", "/v1/tenants"),
        ("PUT", "/v1/tenants/x"),
        ("DELETE", "/v1/tenants/kept"),
        ("GET", "/v1/info"),
        ("GET", "/metrics"),
        ("PUT", "/v1/pools"),
        ("POST", "/v1/drain"),
        ("DELETE", "/v1/drain"),
        ("POST", "/v1/config/reload"),
        ("GET", "/v1/sandboxes/sb_0"),
        ("GET", "/v1/sandboxes/sb_0/stats"),
    ],
)
def test_what_is_the_operators_is_403_for_a_tenant(quiet: World, method: str, path: str) -> None:
    assert quiet.request(method, path, token="k").status == 403
    assert quiet.request(method, path, token="nobody").status == 401
    assert quiet.request(method, path, token=None).status == 401


def test_a_tenant_may_read_peers(quiet: World) -> None:
    assert quiet.request("GET", "/v1/peers", token="k").json == {"peers": []}


@pytest.mark.parametrize("verb", ["release", "renew", "hibernate", "wake", "exec"])
def test_a_tenants_token_is_no_sandboxes(quiet: World, verb: str) -> None:
    claim = claimed_as(quiet, "k")
    answer = quiet.request("POST", f"/v1/sandboxes/{claim['id']}/{verb}", {}, token="k")
    assert answer.status == 404
    quiet.release(claim)
