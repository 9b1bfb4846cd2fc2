"""Saved states on the node API: every refusal, and every race of two."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.engine.node.world import World
from tests.support.node import ROOT, Answer

NOBODY = "sb_" + "0" * 20


@pytest.fixture
def box(node: World) -> Iterator[Any]:
    made = node.claim(metadata={"team": "a"})
    yield made
    node.request("POST", f"/v1/sandboxes/{made['id']}/release")


def post(node: World, box: Any, verb: str, body: Any = None, *, token: str | None = None) -> Answer:
    return node.request("POST", f"/v1/sandboxes/{box['id']}/{verb}", body, token=token or ROOT)


def fork(node: World, box: Any, **fields: Any) -> Answer:
    return post(node, box, "fork", {"token": box["token"], **fields})


def test_hibernate_and_wake_are_idempotent_for_owner_and_operator(node: World, box: Any) -> None:
    for token in (box["token"], ROOT):
        assert post(node, box, "hibernate", token=token).status == 204
    assert node.request("GET", "/v1/info").json["hibernated"] == 1
    assert node.journal_state(box["id"]) == "hibernated"
    stats = node.request("GET", f"/v1/sandboxes/{box['id']}/stats").json
    assert (stats["hibernated"], stats["mem_used_measured"]) == (True, False)
    for token in (ROOT, box["token"]):
        assert post(node, box, "wake", token=token).status == 204
    assert node.request("GET", "/v1/info").json["hibernated"] == 0
    assert node.journal_state(box["id"]) == "running"


def test_an_exec_and_a_relay_wake_and_a_passive_relay_does_not(node: World, box: Any) -> None:
    def execs() -> int:
        return post(node, box, "exec", {"argv": ["echo"]}, token=box["token"]).status

    def relays(call: str, token: str | None = None) -> int:
        relay = node.upgrade(box, call, token=token or box["token"])
        relay.close()
        return relay.status

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = f"ports/{server.getsockname()[1]}"
        for use in (execs, partial(relays, "agent"), partial(relays, port)):
            assert post(node, box, "hibernate").status == 204
            assert relays(port, ROOT) == 409
            assert node.journal_state(box["id"]) == "hibernated"
            assert use() in (101, 200)
            assert node.journal_state(box["id"]) == "running"


def test_children_inherit_and_name_themselves(node: World, box: Any) -> None:
    answer = fork(node, box, count=2, claim_ref_prefix="team/", on_expire="archive")
    assert answer.status == 200
    for child in answer.json["children"]:
        row = node.request("GET", f"/v1/sandboxes/{child['id']}").json
        assert (row["claim_ref"], row["metadata"]) == (f"team/{child['id']}", {"team": "a"})
        assert row["on_expire"] == "archive"
        node.release(child)


def test_checkpoints_are_listed_branched_and_removed(node: World, box: Any) -> None:
    made = post(node, box, "checkpoint", {"token": box["token"], "name": "one"}).json["checkpoint"]
    assert made["key"] == {"template": "base", "net": "none", "size": "tiny"}
    assert node.request("GET", "/v1/checkpoints").json["checkpoints"][0] == made
    branch = node.request("POST", f"/v1/checkpoints/{made['id']}/claim", {"metadata": {"b": "1"}})
    assert branch.json["from_checkpoint"] == made["id"]
    row = node.request("GET", f"/v1/sandboxes/{branch.json['id']}").json
    assert (row["metadata"], row["from_checkpoint"]) == ({"b": "1"}, made["id"])
    inner = post(node, branch.json, "checkpoint", {}).json["checkpoint"]
    node.release(branch.json)
    for one in (made, inner):
        assert node.request("DELETE", f"/v1/checkpoints/{one['id']}").status == 204
        assert node.request("DELETE", f"/v1/checkpoints/{one['id']}").status == 404


REFUSALS: dict[str, tuple[str, Any, int]] = {
    "fork of none": ("fork", {"count": 0}, 400),
    "fork of too many": ("fork", {"count": 17}, 400),
    "fork of no number": ("fork", {"count": "2"}, 400),
    "fork with an unknown field": ("fork", {"colour": 1}, 400),
    "fork of negative time": ("fork", {"ttl_seconds": -1}, 400),
    "fork with a bad prefix": ("fork", {"claim_ref_prefix": "\n"}, 400),
    "fork with an unknown end": ("fork", {"on_expire": "sell"}, 400),
    "fork with a wrong token": ("fork", {"token": "0" * 64}, 404),
    "checkpoint with a bad name": ("checkpoint", {"name": "\n"}, 400),
    "checkpoint with a long name": ("checkpoint", {"name": "x" * 129}, 400),
    "checkpoint with a wrong token": ("checkpoint", {"token": "0" * 64}, 404),
}


@pytest.mark.parametrize(("verb", "body", "status"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_refused_call_says_why(node: World, box: Any, verb: str, body: Any, status: int) -> None:
    answer = post(node, box, verb, {"token": box["token"], **body})
    assert answer.status == status, answer
    assert answer.error


@pytest.mark.parametrize("verb", ["hibernate", "wake", "fork", "checkpoint"])
def test_an_unknown_sandbox_and_a_missing_token(node: World, verb: str) -> None:
    body: Any = {} if verb in ("fork", "checkpoint") else None
    path = f"/v1/sandboxes/{NOBODY}/{verb}"
    assert node.request("POST", path, body).status == 404
    assert node.request("POST", path, body, token=None).status == 401


def test_an_unknown_checkpoint_and_a_bad_branch(node: World) -> None:
    assert node.request("POST", "/v1/checkpoints/ck_0/claim", {}).status == 404
    for body in ({"on_expire": "sell"}, {"ttl_seconds": -1}, {"colour": 1}, {"env": {"1": 1}}):
        assert node.request("POST", "/v1/checkpoints/ck_0/claim", body).status == 400


def test_no_room_and_a_draining_node_are_429_and_leave_nothing(
    make_node: Callable[..., World],
) -> None:
    node = make_node(max_claims=3)
    box = node.claim()
    assert fork(node, box, count=3).status == 429
    moment = post(node, box, "checkpoint", {}).json["checkpoint"]["id"]
    assert len(node.claims()) == 1
    node.request("POST", "/v1/drain")
    assert fork(node, box).status == 429
    assert node.request("POST", f"/v1/checkpoints/{moment}/claim", {}).status == 429
    node.request("DELETE", "/v1/drain")
    assert fork(node, box, count=2).status == 200


def test_a_fork_that_cannot_be_made_leaves_no_child(make_node: Callable[..., World]) -> None:
    node = make_node()
    box = node.claim()
    node.driver.broken = "no machine starts"
    assert fork(node, box, count=2).status == 500
    assert len(node.claims()) == 1
    assert node.journal_state(box["id"]) == "running"
    post(node, box, "hibernate")
    assert post(node, box, "wake").status == 500
    assert node.journal_state(box["id"]) == "hibernated"
    node.driver.broken = ""
    assert post(node, box, "wake").status == 204


def test_a_failed_sandbox_is_409_and_boots_when_it_is_woken(
    make_node: Callable[..., World],
) -> None:
    node = make_node()
    box = node.claim()
    node.kill_machine(box)
    for verb in ("hibernate", "checkpoint", "fork"):
        body: Any = None if verb == "hibernate" else {}
        assert post(node, box, verb, body).status == 409, verb
    assert post(node, box, "wake").status == 204
    row = node.request("GET", f"/v1/sandboxes/{box['id']}").json
    assert (row["restarts"], "failed" in row) == (1, False)


def promoted(node: World, name: str = "proj:v1") -> Any:
    listed = node.request("GET", "/v1/info").json["templates"]
    (found,) = [one for one in listed if one["key"]["template"] == name]
    return found


def promote(node: World, box: Any, name: str = "proj:v1", **fields: Any) -> Answer:
    return post(node, box, "promote", {"token": box["token"], "template": name, **fields})


def test_a_promoted_state_is_claimed_by_its_key(node: World, box: Any) -> None:
    told = promote(node, box)
    key = {"template": "proj:v1", "net": "none", "size": "tiny"}
    assert (told.status, told.json["key"]) == (200, key)
    digest = told.json["content_digest"]
    assert digest.startswith("sha256:")
    child = node.claim("proj:v1", require_promoted=True, claim_ref="mine")
    assert child["template_digest"] == digest
    row = node.request("GET", f"/v1/sandboxes/{child['id']}").json
    assert (row["key"], row["claim_ref"]) == (key, "mine")
    (grandchild,) = fork(node, child).json["children"]
    assert "template_digest" not in grandchild
    assert node.request("GET", f"/v1/sandboxes/{grandchild['id']}").json["key"] == key
    listed = promoted(node)
    assert (listed["key"], listed["content_digest"]) == (key, digest)
    assert node.request("DELETE", "/v1/templates?template=proj:v1&size=tiny").status == 204
    assert node.request("GET", f"/v1/sandboxes/{child['id']}/stats").status == 200
    for one in (child, grandchild):
        node.release(one)


def test_the_same_bytes_have_the_same_digest_and_others_another(node: World, box: Any) -> None:
    post(node, box, "hibernate")
    first = promote(node, box).json["content_digest"]
    assert node.request("GET", "/v1/info").json["hibernated"] == 1
    assert promote(node, box).json["content_digest"] == first
    assert promote(node, box, "other").json["content_digest"] == first
    post(node, box, "wake")
    post(node, box, "hibernate")
    assert promote(node, box).json["content_digest"] != first  # one more layer of disk


def test_labels_are_replaced_and_a_promote_starts_without(node: World, box: Any) -> None:
    digest = promote(node, box).json["content_digest"]
    path = "/v1/templates/labels?template=proj:v1&size=tiny"

    def label(labels: Any, query: str = "") -> int:
        return node.request("PUT", path + query, {"labels": labels}).status

    def labels() -> Any:
        return promoted(node).get("labels")

    assert label({"v1": digest, "team": "a"}, f"&digest={digest}") == 204
    assert labels() == {"v1": digest, "team": "a"}
    assert label({"x": "y"}, "&digest=sha256:0") == 412
    assert label({str(number): "" for number in range(16)}) == 204
    assert label({str(number): "" for number in range(17)}) == 400
    assert label({"": "x"}) == label({"a=b": "x"}) == label("x") == 400
    assert label({}) == 204
    assert labels() is None
    assert label({"a": "b"}) == 204
    promote(node, box)
    assert labels() is None


@pytest.mark.parametrize(
    ("name", "status"),
    [("a" * 63, 200), ("a" * 64, 400), ("", 400), ("-a", 400), ("a b", 400), ("base", 409)],
)
def test_names_of_promoted_templates(node: World, box: Any, name: str, status: int) -> None:
    assert promote(node, box, name).status == status


def test_who_may_promote_and_what_is_refused(node: World, box: Any) -> None:
    def refused(body: Any, **given: Any) -> int:
        return post(node, box, "promote", body, **given).status

    assert refused({"token": "x", "template": "proj:v1"}) == 404
    assert refused({"token": box["token"]}) == refused({"template": "a", "more": 1}) == 400
    assert refused({"token": box["token"], "template": "proj:v1"}, token="nobody") == 401
    assert refused({"template": "proj:v1"}) == 200  # the operator, by id
    missing = node.request("POST", f"/v1/sandboxes/{NOBODY}/promote", {"template": "a"})
    assert missing.status == 404


def test_a_template_is_removed_only_as_it_was_seen(node: World, box: Any) -> None:
    digest = promote(node, box).json["content_digest"]

    def delete(query: str) -> int:
        return node.request("DELETE", f"/v1/templates?{query}").status

    assert delete("") == 400
    assert delete("template=none&size=tiny") == delete("template=proj:v1") == 404
    assert delete("template=base&size=tiny") == 409
    assert delete("template=proj:v1&size=tiny&digest=sha256:1") == 412
    assert delete(f"template=proj:v1&size=tiny&digest={digest}") == 204
    assert delete("template=proj:v1&size=tiny") == 404
    body = {"template": "proj:v1", "size": "tiny", "require_promoted": True}
    assert node.request("POST", "/v1/claim", body).status == 400


def test_tenants_own_what_they_promote(node: World) -> None:
    for name in ("acme", "other"):
        node.request("PUT", f"/v1/tenants/{name}", {"token": f"{name}-token"})
    made = node.request(
        "POST", "/v1/claim", {"template": "base", "size": "tiny"}, token="acme-token"
    ).json
    body = {"token": made["token"], "template": "acme:v1"}
    path = f"/v1/sandboxes/{made['id']}/promote"
    assert node.request("POST", path, body, token="acme-token").status == 200
    assert promoted(node, "acme:v1")["tenant"] == "acme"
    theirs = node.request(
        "POST", "/v1/claim", {"template": "base", "size": "tiny"}, token="other-token"
    ).json
    body = {"token": theirs["token"], "template": "acme:v1"}
    path = f"/v1/sandboxes/{theirs['id']}/promote"
    assert node.request("POST", path, body, token="other-token").status == 409
    query = "/v1/templates?template=acme:v1&size=tiny"
    assert node.request("DELETE", query, token="other-token").status == 404
    labels = "/v1/templates/labels?template=acme:v1&size=tiny"
    assert node.request("PUT", labels, {"labels": {}}, token="other-token").status == 404
    assert node.request("PUT", labels, {"labels": {}}, token="acme-token").status == 204
    assert node.request("DELETE", query, token="acme-token").status == 204
    for one in (made, theirs):
        node.release(one)


def test_a_promoted_template_and_its_labels_outlive_the_engine(
    make_node: Callable[..., World],
) -> None:
    node = make_node()
    box = node.claim()
    digest = promote(node, box).json["content_digest"]
    labels = "/v1/templates/labels?template=proj:v1&size=tiny"
    node.request("PUT", labels, {"labels": {"a": "b"}})
    node.release(box)
    node.stop()
    node = make_node()
    listed = promoted(node)
    assert (listed["content_digest"], listed["labels"]) == (digest, {"a": "b"})
    node.release(node.claim("proj:v1"))


def test_what_happened_is_in_the_usage_journal(make_node: Callable[..., World]) -> None:
    node = make_node()
    box = node.claim()
    post(node, box, "hibernate")
    post(node, box, "wake")
    moment = post(node, box, "checkpoint", {}).json["checkpoint"]["id"]
    (child,) = fork(node, box).json["children"]
    lines = [json.loads(line) for line in (node.folder / "usage.jsonl").read_bytes().splitlines()]
    told = [(line["ev"], line["id"], line.get("ref") or line.get("children")) for line in lines]
    assert told == [
        ("claim", box["id"], None),
        ("hibernate", box["id"], None),
        ("wake", box["id"], None),
        ("checkpoint", box["id"], moment),
        ("claim", child["id"], None),
        ("fork", box["id"], 1),
    ]
    page = node.request("GET", "/metrics").raw.decode()
    for name in ("hibernates", "wakes", "forks", "checkpoints"):
        assert f"sandboxd_{name}_total 1.0" in page


VERBS: dict[str, tuple[str, Any]] = {
    "exec": ("exec", {"argv": ["echo"]}),
    "hibernate": ("hibernate", None),
    "wake": ("wake", None),
    "fork": ("fork", {}),
    "checkpoint": ("checkpoint", {}),
    "renew": ("renew", {"ttl_seconds": 60}),
    "release": ("release", None),
}


@pytest.mark.parametrize("asleep", [False, True], ids=["running", "hibernated"])
@pytest.mark.parametrize("pair", list(itertools.combinations_with_replacement(VERBS, 2)))
def test_two_at_once_end_as_one_after_the_other(
    node: World, pair: tuple[str, str], *, asleep: bool
) -> None:
    box = node.claim()
    if asleep:
        assert post(node, box, "hibernate").status == 204

    def go(name: str) -> Answer:
        verb, body = VERBS[name]
        token = box["token"] if verb == "exec" else ROOT
        return post(node, box, verb, body, token=token)

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(go, pair))
    for name, answer in zip(pair, answers, strict=True):
        told = (200, 204) if "release" not in pair else (200, 204, 404, 409, 502)
        assert answer.status in (*told, 409), (name, answer)
        for child in answer.json.get("children", []) if answer.status == 200 else []:
            node.release(child)
    assert any(answer.status in (200, 204) for answer in answers), answers
    if "release" in pair:
        assert node.journal_state(box["id"]) == "gone"
        return
    assert node.journal_state(box["id"]) in ("running", "hibernated")
    assert post(node, box, "exec", {"argv": ["echo"]}, token=box["token"]).status == 200
    node.release(box)


def test_released_states_leave_nothing(make_node: Callable[..., World]) -> None:
    node = make_node()
    boxes = [node.claim() for _ in range(3)]
    post(node, boxes[0], "hibernate")
    moment = post(node, boxes[0], "checkpoint", {}).json["checkpoint"]["id"]
    boxes += fork(node, boxes[1], count=2).json["children"]
    post(node, boxes[1], "hibernate")
    post(node, boxes[1], "wake")
    for box in boxes:
        node.release(box)
    node.request("DELETE", f"/v1/checkpoints/{moment}")
    root = node.folder / "snapshots"
    assert sorted(str(path.relative_to(root)) for path in root.rglob("*")) == [
        "layers", "records", "work",
    ]  # fmt: skip
    assert list((node.folder / "pins").iterdir()) in ([], [node.folder / "pins" / ""])
