"""Every status the seed has for these calls: call, cause, status, body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.engine.node.world import TINY, World
from tests.support.node import ROOT, Answer
from tests.support.wait import until

TOO_BIG = b'{"template":"' + b"x" * (1 << 20) + b'"}'
MISSING, UNKNOWN, ROOTS, OWN = "missing", "unknown", "root", "own"
"""Kinds of token; None is the right one for the call."""


class Row(NamedTuple):
    """One cause."""

    call: str
    body: Any
    status: int
    words: str
    """Part of the error's message."""
    token: str = ROOTS


def claim(status: int, words: str, /, **fields: Any) -> Row:
    return Row("POST /v1/claim", TINY | fields, status, words)


def execs(status: int, words: str, /, *, token: str = OWN, **fields: Any) -> Row:
    return Row("POST /v1/sandboxes/{id}/exec", {"argv": ["echo"]} | fields, status, words, token)


def pools(status: int, words: str, /, **fields: Any) -> Row:
    return Row("PUT /v1/pools", {"pools": [TINY | fields]}, status, words)


VOLUME = {"name": "data"}

ROWS = {
    # claim: 400
    "claim without a body": Row("POST /v1/claim", b"", 400, "invalid request body"),
    "claim that is no JSON": Row("POST /v1/claim", b"{", 400, "invalid request body"),
    "claim that is no object": Row("POST /v1/claim", [], 400, "invalid request body"),
    "claim over 1 MiB": Row("POST /v1/claim", TOO_BIG, 400, "invalid request body"),
    "claim without a template": Row("POST /v1/claim", {}, 400, "template"),
    "claim of a wrong type": claim(400, "$.ttl_seconds", ttl_seconds="300"),
    "claim with an unknown field": claim(400, "colour", colour="red"),
    "claim of a bad template": claim(400, "template", template="-x"),
    "claim of an unknown template": claim(400, "no template 'none'", template="none"),
    "claim of an unknown net": claim(400, "unknown net 'wan'", net="wan"),
    "claim of an unknown size": claim(400, "unknown size 'vast'", size="vast"),
    "claim of negative time": claim(400, "ttl_seconds", ttl_seconds=-1),
    "claim of too much metadata": claim(400, "17 pairs", metadata={str(n): "" for n in range(17)}),
    "claim of big metadata": claim(400, "bytes as JSON", metadata={"k": "v" * 4096}),
    "claim of a metadata key with =": claim(400, "metadata", metadata={"a=b": "v"}),
    "claim of an unknown on_expire": claim(400, "unknown action 'sell'", on_expire="sell"),
    "claim of a long claim_ref": claim(400, "claim_ref", claim_ref="r" * 513),
    "claim of a volume unknown here": claim(400, "unknown volume 'data'", volumes=[VOLUME]),
    "claim of a volume twice": claim(400, "named twice", volumes=[VOLUME, VOLUME]),
    "claim of nine volumes": claim(400, "9 entries", volumes=[{"name": f"v{n}"} for n in range(9)]),
    "claim of a volume in /etc": claim(400, "system", volumes=[VOLUME | {"mount": "/etc/x"}]),
    "claim of a relative mount": claim(400, "clean path", volumes=[VOLUME | {"mount": "x"}]),
    "claim of nested mounts": claim(
        400,
        "holds another",
        volumes=[{"name": "a", "mount": "/m"}, {"name": "b", "mount": "/m/n"}],
    ),
    "claim of an odd mode": claim(400, "mode", volumes=[VOLUME | {"mode": "w"}]),
    "claim attach-only without volumes": claim(400, "needs volumes", volumes_attach_only=True),
    "claim attach-only with a mount": claim(
        400, "excludes a mount", volumes=[VOLUME | {"mount": "/m"}], volumes_attach_only=True
    ),
    "claim of bad env": claim(400, "env", env={"1A": {"value": ""}}),
    "claim of 65 variables": claim(400, "65", env={f"E{n}": {"value": ""} for n in range(65)}),
    "claim of big env": claim(400, "limit is 65536", env={"E": {"value": "x" * 65536}}),
    "claim of an inject": claim(
        400, "intercepted", env={"E": {"value": "x", "inject": {"hosts": ["a.example"]}}}
    ),
    "claim of a promoted template": claim(400, "no promoted template", require_promoted=True),
    # claim: 401, 409
    "claim with no token": Row("POST /v1/claim", TINY, 401, "missing bearer", MISSING),
    "claim with a wrong token": Row("POST /v1/claim", TINY, 401, "bad api token", UNKNOWN),
    "claim with a sandbox's token": Row("POST /v1/claim", TINY, 401, "bad api token", OWN),
    "claim with egress": claim(409, "egress attachment", egress=True),
    "claim on the egress lane": claim(409, "egress attachment", net="egress"),
    # release
    "release of an unknown id": Row("POST /v1/sandboxes/sb_0/release", None, 404, "sb_0"),
    "release with a wrong token": Row(
        "POST /v1/sandboxes/{id}/release", None, 404, "no sandbox", UNKNOWN
    ),
    "release with no token": Row(
        "POST /v1/sandboxes/{id}/release", None, 401, "missing bearer", MISSING
    ),
    # renew
    "renew of an unknown id": Row("POST /v1/sandboxes/sb_0/renew", None, 404, "sb_0"),
    "renew with a wrong token": Row("POST /v1/sandboxes/{id}/renew", None, 404, "", UNKNOWN),
    "renew with no token": Row("POST /v1/sandboxes/{id}/renew", None, 401, "missing", MISSING),
    "renew of a bad body": Row("POST /v1/sandboxes/{id}/renew", b"[]", 400, "invalid request body"),
    "renew with an unknown field": Row("POST /v1/sandboxes/{id}/renew", {"x": 1}, 400, "x"),
    "renew of negative time": Row("POST /v1/sandboxes/{id}/renew", {"ttl_seconds": -1}, 400, "ttl"),
    "renew to an unknown on_expire": Row(
        "POST /v1/sandboxes/{id}/renew", {"on_expire": "x"}, 400, "unknown action"
    ),
    # exec
    "exec of nothing": execs(400, "argv", argv=[]),
    "exec of an empty word": execs(400, "argv", argv=[""]),
    "exec without argv": Row("POST /v1/sandboxes/{id}/exec", {}, 400, "argv", OWN),
    "exec of too long an argv": execs(400, "argv", argv=["x" * (129 << 10)]),
    "exec of negative time": execs(400, "timeout_seconds", timeout_seconds=-1),
    "exec with an unknown field": execs(400, "stdin", stdin="x"),
    "exec with bad env": execs(400, "1A", env={"1A": ""}),
    "exec of a missing command": execs(400, "missing: not found", argv=["missing"]),
    "exec that the agent fails": execs(502, "the agent has a fault", argv=["broken"]),
    "exec with too much output": execs(413, "8388608 bytes", argv=["flood", str((8 << 20) + 1)]),
    "exec over its time": execs(504, "0.05 s", argv=["forever"], timeout_seconds=0.05),
    "exec with no token": execs(401, "missing bearer", token=MISSING),
    "exec with a wrong token": execs(404, "no sandbox", token=UNKNOWN),
    "exec with the root token": execs(404, "no sandbox", token=ROOTS),
    "exec in an unknown sandbox": Row("POST /v1/sandboxes/sb_0/exec", {"argv": ["a"]}, 404, "sb_0"),
    # agent, ports
    "agent without upgrade": Row("GET /v1/sandboxes/{id}/agent", None, 426, "Upgrade: silkd", OWN),
    "agent with no token": Row("GET /v1/sandboxes/{id}/agent", None, 401, "missing", MISSING),
    "agent with a wrong token": Row("GET /v1/sandboxes/{id}/agent", None, 404, "", UNKNOWN),
    "agent with the root token": Row("GET /v1/sandboxes/{id}/agent", None, 404, "", ROOTS),
    "port without upgrade": Row("GET /v1/sandboxes/{id}/ports/80", None, 426, "Upgrade: tcp", OWN),
    "port with no token": Row("GET /v1/sandboxes/{id}/ports/80", None, 401, "missing", MISSING),
    "port with a wrong token": Row("GET /v1/sandboxes/{id}/ports/80", None, 404, "", UNKNOWN),
    "port that is a word": Row("GET /v1/sandboxes/{id}/ports/http", None, 400, "1 to 65535", OWN),
    "port of an unknown sandbox": Row("GET /v1/sandboxes/sb_0/ports/80", None, 404, "", UNKNOWN),
    # owner
    "owner of an unknown id": Row("GET /v1/sandboxes/sb_0/owner", None, 404, "sb_0", UNKNOWN),
    "owner with a wrong token": Row("GET /v1/sandboxes/{id}/owner", None, 404, "", UNKNOWN),
    "owner with no token": Row("GET /v1/sandboxes/{id}/owner", None, 401, "missing", MISSING),
    # index, one, stats
    "index with a wrong token": Row("GET /v1/sandboxes", None, 401, "bad api token", UNKNOWN),
    "index with no token": Row("GET /v1/sandboxes", None, 401, "missing", MISSING),
    "index by metadata without =": Row("GET /v1/sandboxes?metadata=a", None, 400, "key=value"),
    "index by an empty key": Row("GET /v1/sandboxes?metadata==v", None, 400, "key=value"),
    "index by a key twice": Row(
        "GET /v1/sandboxes?metadata=a=1&metadata=a=2", None, 400, "repeats a key"
    ),
    "one of an unknown id": Row("GET /v1/sandboxes/sb_0", None, 404, "sb_0"),
    "one with its own token": Row("GET /v1/sandboxes/{id}", None, 401, "bad api token", OWN),
    "stats of an unknown id": Row("GET /v1/sandboxes/sb_0/stats", None, 404, "sb_0"),
    "stats with its own token": Row("GET /v1/sandboxes/{id}/stats", None, 401, "", OWN),
    # the node
    "info with a wrong token": Row("GET /v1/info", None, 401, "bad api token", UNKNOWN),
    "metrics with a wrong token": Row("GET /metrics", None, 401, "bad api token", UNKNOWN),
    "peers with a wrong token": Row("GET /v1/peers", None, 401, "bad api token", UNKNOWN),
    "drain with a wrong token": Row("POST /v1/drain", None, 401, "bad api token", UNKNOWN),
    "undrain with a wrong token": Row("DELETE /v1/drain", None, 401, "bad api token", UNKNOWN),
    "reload with a wrong token": Row("POST /v1/config/reload", None, 401, "", UNKNOWN),
    # pools
    "pools with a wrong token": Row("PUT /v1/pools", {"pools": []}, 401, "bad", UNKNOWN),
    "pools without pools": Row("PUT /v1/pools", {}, 400, "pools"),
    "pools with an unknown field": pools(400, "colour", colour="red"),
    "pools of an unknown template": pools(400, "bad key", template="none"),
    "pools of an unknown size": pools(400, "unknown size", size="vast"),
    "pools of an unknown net": pools(400, "unknown net", net="wan"),
    "pools of negative warm": pools(400, "warm", warm=-1),
    "pools of negative idle": pools(400, "negative", idle_hibernate_seconds=-1),
    "pools with warm_max below warm": pools(400, "warm_max", warm=2, warm_max=1),
    "pools with a negative archive": pools(400, "negative", archive_after_seconds=-1),
    "pools with archive not above idle": pools(
        400, "archive_after_seconds", idle_hibernate_seconds=9, archive_after_seconds=9
    ),
    "pools named twice": Row("PUT /v1/pools", {"pools": [TINY, TINY]}, 400, "named twice"),
    "pools of the egress lane": pools(409, "egress attachment", net="egress"),
    **{
        f"pools with {field}": pools(400, "configuration file", **{field: {}})
        for field in ("egress", "warmup", "capture_trim", "storage", "egress_upstream_env")
    },
    # paths
    "a path nobody serves": Row("GET /v1/nothing", None, 404, "no such path"),
    "a method nobody serves": Row("DELETE /v1/claim", None, 405, "takes POST"),
    "a verb of a sandbox nobody serves": Row("POST /v1/sandboxes/{id}/fly", None, 404, "no such"),
}


@pytest.fixture(scope="module")
def held(node: World) -> Iterator[Any]:
    """A claim for rows that name one."""
    yield (made := node.claim())
    node.release(made)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_status(node: World, held: Any, row: Row) -> None:
    tokens = {MISSING: None, UNKNOWN: "0" * 64, ROOTS: ROOT, OWN: held["token"]}
    method, _, path = row.call.partition(" ")
    path = path.format(id=held["id"])
    answer = node.request(method, path, row.body, token=tokens[row.token])
    assert (answer.status, answer.headers["content-type"]) == (row.status, "application/json")
    assert row.words in answer.error
    retry = answer.headers.get("retry-after")
    assert retry is None or row.status in (429, 502, 503)


UNSERVED = [
    ("GET", "/v1/checkpoints/{id}/blob"),
]


@pytest.mark.parametrize(("method", "path"), UNSERVED)
def test_what_later_parts_serve_is_501_for_who_may_and_a_denial_for_others(
    node: World, held: Any, method: str, path: str
) -> None:
    path = path.format(id=held["id"])
    assert node.request(method, path).status == 501
    assert node.request(method, path, token=None).status == 401
    assert node.request(method, path, token="0" * 64).status in (401, 404)


def _fill(node: World) -> Answer:
    node.claim()
    return node.request("POST", "/v1/claim", TINY)


def _drain(node: World) -> Answer:
    assert node.request("POST", "/v1/drain").status == 200
    return node.request("POST", "/v1/claim", TINY)


def _empty(node: World) -> Answer:
    node.hold_boots()
    return node.request("POST", "/v1/claim", TINY)


def _break(node: World) -> Answer:
    node.driver.broken = "no room in the inn"
    return node.request("POST", "/v1/claim", {"template": "base"})


@pytest.mark.parametrize(
    ("cause", "status", "words"),
    [
        pytest.param(_fill, 429, "1 claims, its limit", id="at max_claims"),
        pytest.param(_drain, 429, "draining", id="draining"),
        pytest.param(_empty, 429, "became ready", id="no VM in time"),
        pytest.param(_break, 500, "provisioning failed: no room", id="provisioning fails"),
    ],
)
def test_claims_that_a_node_cannot_serve(
    make_node: Callable[..., World], cause: Callable[[World], Answer], status: int, words: str
) -> None:
    node = make_node(max_claims=1, claim_wait_seconds=0.2)
    answer = cause(node)
    assert answer.status == status
    assert words in answer.error
    assert (status != 429) or int(answer.headers["retry-after"]) >= 1
    node.driver.broken = ""
    node.let_boots_go()


@pytest.mark.parametrize(
    ("method", "call", "body", "status"),
    [
        ("POST", "exec", {"argv": ["echo"]}, 409),
        ("GET", "agent", None, 409),
        ("GET", "ports/80", None, 409),
        ("POST", "renew", None, 200),
        ("POST", "release", None, 204),
    ],
)
def test_a_failed_sandbox(node: World, method: str, call: str, body: Any, status: int) -> None:
    claim = node.claim()
    node.kill_machine(claim)
    path = f"/v1/sandboxes/{claim['id']}"
    row = node.request("GET", path).json
    assert row["failed"].startswith("its virtual machine died")
    headers = {"Upgrade": {"agent": "silkd", "ports/80": "tcp"}.get(call, "none")}
    answer = node.request(method, f"{path}/{call}", body, token=claim["token"], headers=headers)
    assert answer.status == status
    if call != "release":
        assert node.request("GET", "/v1/info").json["failed"] == 1
        node.release(claim)


def test_a_port_nobody_listens_on_is_502(node: World, claim: Any) -> None:
    relay = node.upgrade(claim, "ports/9")
    assert relay.status == 502
    assert b"cannot reach its port 9" in relay.body
    relay.close()


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_cannot_be_is_400(node: World, claim: Any, port: str) -> None:
    relay = node.upgrade(claim, f"ports/{port}")
    assert relay.status == 400
    relay.close()


def test_the_memory_of_buffered_commands_is_bounded(make_node: Callable[..., World]) -> None:
    node = make_node()
    claim = node.claim()
    path = f"/v1/sandboxes/{claim['id']}/exec"
    body = b'{"argv":["hold","%d"]}' % (8 << 20)
    head = f"POST {path} HTTP/1.1\r\nAuthorization: Bearer {claim['token']}\r\n"
    holders = [node.connect() for _ in range(8)]  # together all of the 64 MiB
    for holder in holders:
        holder.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def echo() -> Answer:
        return node.request("POST", path, {"argv": ["echo", "x"]}, token=claim["token"])

    until(lambda: echo().status == 503)
    refused = echo()
    assert "output of buffered commands" in refused.error
    assert refused.headers["retry-after"] == "1"
    holders.pop().close()
    until(lambda: echo().status == 200)
    for holder in holders:
        holder.close()
    until(lambda: len(node.machine(claim).guest.killed) == 8)
