"""Promoted templates: what is published, who may change it, and every refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.engine.node.world import World
from tests.support.node import ROOT, Answer

NAME = "myproj:v1"
QUERY = "template=myproj:v1&size=tiny"
STALE = "sha256:" + "f" * 64


@pytest.fixture
def box(node: World) -> Iterator[Any]:
    made = node.claim()
    yield made
    node.request("POST", f"/v1/sandboxes/{made['id']}/release")
    node.request("DELETE", f"/v1/templates?{QUERY}")


def promote(
    node: World, box: Any, template: str = NAME, *, bearer: str = ROOT, **fields: Any
) -> Answer:
    body = {"token": box["token"], "template": template, **fields}
    return node.request("POST", f"/v1/sandboxes/{box['id']}/promote", body, token=bearer)


def listed(node: World) -> list[Any]:
    found: list[Any] = node.request("GET", "/v1/info").json["templates"]
    return found


def claim_of(node: World, **fields: Any) -> Answer:
    return node.request("POST", "/v1/claim", {"template": NAME, "size": "tiny", **fields})


def test_a_promoted_template_is_claimed_by_its_name(node: World, box: Any) -> None:
    assert claim_of(node).status == 400
    made = promote(node, box).json
    assert made["key"] == {"template": NAME, "net": "none", "size": "tiny"}
    assert made["content_digest"].startswith("sha256:")
    (shown,) = listed(node)
    assert (shown["key"], shown["content_digest"]) == (made["key"], made["content_digest"])
    assert (shown["cpu_count"], shown["mem_total_bytes"]) == (1, 256 << 20)
    assert {"tenant", "labels"}.isdisjoint(shown)
    for wish in ({}, {"require_promoted": True}):
        claimed = claim_of(node, **wish).json
        assert claimed["template_digest"] == made["content_digest"]
        row = node.request("GET", f"/v1/sandboxes/{claimed['id']}").json
        assert row["key"] == made["key"]
        node.release(claimed)
    assert "template_digest" not in box


def test_what_goes_on_from_such_a_claim_keeps_its_key(node: World, box: Any) -> None:
    made = promote(node, box).json
    claimed = claim_of(node).json
    path = f"/v1/sandboxes/{claimed['id']}"
    moment = node.request("POST", f"{path}/checkpoint", {}).json["checkpoint"]
    assert moment["key"] == made["key"]
    branch = node.request("POST", f"/v1/checkpoints/{moment['id']}/claim", {}).json
    (child,) = node.request("POST", f"{path}/fork", {}).json["children"]
    for one in (branch, child):
        assert "template_digest" not in one
        assert node.request("GET", f"/v1/sandboxes/{one['id']}").json["key"] == made["key"]
        node.release(one)
    again = promote(node, claimed)  # over the very template it came from
    assert again.status == 200
    node.release(claimed)
    node.request("DELETE", f"/v1/checkpoints/{moment['id']}")


def test_the_same_state_has_the_same_digest_and_another_another(node: World, box: Any) -> None:
    path = f"/v1/sandboxes/{box['id']}"
    assert node.request("POST", f"{path}/hibernate").status == 204
    first = promote(node, box).json["content_digest"]
    assert promote(node, box).json["content_digest"] == first
    assert node.request("GET", f"/v1/sandboxes/{box['id']}").json["hibernated"]
    assert node.request("POST", f"{path}/wake").status == 204
    machine_of(node, box).memory = b"changed"
    changed = promote(node, box).json["content_digest"]
    assert changed != first
    assert claim_and_release(node)["template_digest"] == changed


def claim_and_release(node: World) -> Any:
    claimed = claim_of(node).json
    node.release(claimed)
    return claimed


def test_labels_describe_one_export(node: World, box: Any) -> None:
    digest = promote(node, box).json["content_digest"]
    labels = {"v1": digest, "team": "a"}

    def put(query: str, body: Any) -> int:
        return node.request("PUT", f"/v1/templates/labels?{QUERY}{query}", body).status

    assert put("", {"labels": labels}) == 204
    assert listed(node)[0]["labels"] == labels
    assert put(f"&digest={STALE}", {"labels": {}}) == 412
    assert listed(node)[0]["labels"] == labels
    assert put(f"&digest={digest}", {"labels": {"x": "1"}}) == 204
    assert listed(node)[0]["labels"] == {"x": "1"}
    for bad in ({}, {"labels": {"a=b": ""}}, {"labels": {str(n): "" for n in range(17)}}):
        assert put("", bad) == 400
    assert put("", {"labels": {str(n): "" for n in range(16)}}) == 204
    assert put("", {"labels": {"k": "v" * 4087}}) == 204
    assert put("", {"labels": {"k": "v" * 4089}}) == 400
    assert promote(node, box).status == 200
    assert "labels" not in listed(node)[0]
    assert put("", {"labels": {"x": "1"}}) == 204
    assert put("", {"labels": {}}) == 204
    assert "labels" not in listed(node)[0]


def test_a_delete_takes_only_what_was_seen_and_claims_live_on(node: World, box: Any) -> None:
    digest = promote(node, box).json["content_digest"]
    claimed = claim_of(node).json
    path = f"/v1/templates?{QUERY}"
    assert node.request("DELETE", f"{path}&digest={STALE}").status == 412
    assert node.request("DELETE", f"{path}&digest={digest}&no_redirect=1").status == 204
    for gone in (path, f"{path}&digest={digest}"):
        assert node.request("DELETE", gone).status == 404
    assert node.request("PUT", f"/v1/templates/labels?{QUERY}", {"labels": {}}).status == 404
    assert claim_of(node).status == 400
    exec_path = f"/v1/sandboxes/{claimed['id']}/exec"
    ran = node.request("POST", exec_path, {"argv": ["echo"]}, token=claimed["token"])
    assert ran.status == 200
    node.release(claimed)


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"template": ""}, 400),
        ({"template": "-no"}, 400),
        ({"template": "x" * 64}, 400),
        ({"colour": 1}, 400),
        ({"token": "0" * 64}, 404),
        ({"template": "base"}, 409),
    ],
)
def test_a_refused_promote_says_why(node: World, box: Any, fields: Any, status: int) -> None:
    answer = promote(node, box, **fields)
    assert (answer.status, bool(answer.error)) == (status, True)
    assert listed(node) == []


def test_a_longest_name_and_no_name(node: World, box: Any) -> None:
    longest = "x" * 63
    assert promote(node, box, longest).status == 200
    assert node.request("DELETE", f"/v1/templates?template={longest}&size=tiny").status == 204
    assert node.request("DELETE", "/v1/templates").status == 400
    assert node.request("DELETE", f"/v1/templates?{QUERY}", token=None).status == 401


def test_a_tenant_has_its_own_and_sees_no_other(node: World, box: Any) -> None:
    for name in ("acme", "bolt"):
        token = {"token": f"{name}-token"}
        assert node.request("PUT", f"/v1/tenants/{name}", token).status == 204
    try:
        assert promote(node, box, bearer="acme-token").status == 200
        assert listed(node)[0]["tenant"] == "acme"
        path = f"/v1/templates?{QUERY}"
        assert promote(node, box, bearer="bolt-token").status == 409
        assert node.request("DELETE", path, token="bolt-token").status == 404
        labels = f"/v1/templates/labels?{QUERY}"
        assert node.request("PUT", labels, {"labels": {}}, token="bolt-token").status == 404
        assert node.request("PUT", labels, {"labels": {}}, token="acme-token").status == 204
        assert node.request("DELETE", path, token="acme-token").status == 204
    finally:
        for name in ("acme", "bolt"):
            assert node.request("DELETE", f"/v1/tenants/{name}").status == 204


def test_a_configured_pool_owns_its_key(make_node: Callable[..., World]) -> None:
    node = make_node(pools=[{"template": "other", "size": "tiny", "warm": 0}])
    box = node.claim()
    assert promote(node, box, "other").status == 409
    query = "template=other&size=tiny"
    assert node.request("DELETE", f"/v1/templates?{query}").status == 409
    assert node.request("PUT", f"/v1/templates/labels?{query}", {"labels": {}}).status == 409


def test_a_promoted_claim_counts_and_drains(make_node: Callable[..., World]) -> None:
    node = make_node(max_claims=1)
    box = node.claim()
    assert promote(node, box).status == 200
    assert claim_of(node).status == 429
    node.release(box)
    node.request("POST", "/v1/drain")
    assert claim_of(node).status == 429
    node.request("DELETE", "/v1/drain")
    assert claim_of(node).status == 200


def machine_of(node: World, box: Any) -> Any:
    """Its machine: a woken one has another name."""
    own = box["id"].removeprefix("sb_")
    (found,) = (one for name, one in node.driver.machines.items() if own in name)
    return found


def test_claims_of_a_key_that_a_pool_took_over_are_the_pool_s(
    make_node: Callable[..., World],
) -> None:
    node = make_node()
    box = node.claim()
    assert promote(node, box).status == 200
    node.vault.add(NAME)  # built meanwhile
    pools = [{"template": NAME, "size": "tiny", "warm": 0, "warm_max": 0}]
    assert node.request("PUT", "/v1/pools", {"pools": pools}).status == 200
    assert listed(node) == []
    assert "template_digest" not in claim_of(node).json
    assert claim_of(node, require_promoted=True).status == 400
