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
