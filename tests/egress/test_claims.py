"""The claim's side of egress: `egress`, `net_route`, `inject`, and what is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.services.egress import EgressEvent

from tests.engine.node.world import World, world

POLICY = {
    "rules": [
        {"host": "api.example", "intercept": True},
        {"host": "index.example", "ports": [443]},
    ]
}


def inject(host: str) -> Any:
    entry = {"hosts": [host], "header": "X-Key", "placeholder": "<key>"}
    return {"KEY": {"value": "v", "inject": entry}}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("n")
    with world(
        folder,
        audit_log=True,
        broker_socket=str(folder / "broker.sock"),
        pools=[{"template": "base", "size": "small", "warm": 0, "waiting": 0, "egress": POLICY}],
    ) as made:
        yield made


@pytest.mark.parametrize(
    ("fields", "route"),
    [({}, "relay"), ({"egress": True}, "relay"), ({"egress": False}, "none")],
    ids=["unset", "true", "false"],
)
def test_the_route_of_a_claim(node: World, fields: dict[str, Any], route: str) -> None:
    answer = node.request("POST", "/v1/claim", {"template": "base", "size": "small", **fields})
    assert answer.status == 200, answer
    assert answer.json["net_route"] == route


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"env": inject("api.example")}, 200),
        ({"env": inject("index.example")}, 400),
        ({"env": inject("api.example"), "egress": False}, 400),
    ],
    ids=["intercepted", "not intercepted", "no egress"],
)
def test_inject_needs_a_host_that_is_intercepted(
    node: World, fields: dict[str, Any], status: int
) -> None:
    answer = node.request("POST", "/v1/claim", {"template": "base", "size": "small", **fields})
    assert answer.status == status, answer


def test_decisions_are_in_the_usage_journal_and_the_audit_log(node: World) -> None:
    claim = node.request("POST", "/v1/claim", {"template": "base", "size": "small"}).json
    fields = {"sandbox_id": claim["id"], "port": 443, "secrets": ("gh",)}

    async def report() -> None:
        node.egress.report(
            [
                EgressEvent(host="a.example", decision="allowed_credentialed", **fields),
                EgressEvent(host="b.example", decision="denied_policy", **fields),
            ]
        )

    node.call(report())
    usage, audit = lines(node, "usage.jsonl"), lines(node, "audit.jsonl")
    (used,) = [line for line in usage if line["ev"] == "egress"]
    assert (used["id"], used["ref"], used["secret"]) == (claim["id"], "a.example", "gh")
    decided = [(line["dest"], line["decision"]) for line in audit if line["op"] == "egress"]
    assert decided == [
        ("a.example:443", "allowed_credentialed"),
        ("b.example:443", "denied_policy"),
    ]


def lines(node: World, name: str) -> list[Any]:
    return [json.loads(line) for line in (node.folder / name).read_text().splitlines()]
