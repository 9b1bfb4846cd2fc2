"""The claim's side of egress: `egress`, `net_route`, `inject`, and what is recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
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


# -- layers --------------------------------------------------------------------------

NARROW = {"rules": [{"host": "index.example"}]}
POOL = {"template": "base", "size": "tiny", "warm": 0, "waiting": 0}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Any]:
    """Makes a node of settings of its own, with one tenant of the class `narrow`."""
    with ExitStack() as stack:

        def made(**settings: Any) -> World:
            given = {"broker_socket": str(tmp_path / "broker.sock"), **settings}
            node = stack.enter_context(world(tmp_path, **given))
            tenant = {"name": "t", "token": "tenant-token", "egress_class": "narrow"}
            assert node.request("PUT", "/v1/tenants", {"tenants": [tenant]}).status == 200
            return node

        yield made


def route(node: World, **fields: Any) -> str:
    body = {"template": "base", "size": "tiny", **fields}
    answer = node.request("POST", "/v1/claim", body, token="tenant-token")
    assert answer.status == 200, answer
    return str(answer.json["net_route"])


def test_a_key_without_a_pool_leaves_a_tenant_its_class_alone(make: Any) -> None:
    node = make(egress_classes={"narrow": NARROW})
    for _ in range(2):  # a pool that only a claim made is none
        assert route(node) == "relay"
    claim = node.request("POST", "/v1/claim", {"template": "base", "size": "tiny"}).json
    assert claim["net_route"] == "none"  # the operator's own has no class


def test_a_pool_without_a_policy_leaves_a_tenant_nothing(make: Any) -> None:
    node = make(egress_classes={"narrow": NARROW}, pools=[POOL])
    assert route(node) == "none"


def test_which_layers_a_claim_has_is_settled_when_it_is_made(make: Any) -> None:
    node = make(egress_classes={"narrow": NARROW})
    assert route(node) == "relay"
    pool = {"template": "base", "size": "tiny", "warm": 0}
    assert node.request("PUT", "/v1/pools", {"pools": [pool]}).status == 200
    (first,) = node.claims()
    assert node.egress.rules(first)
    assert route(node) == "none"


def test_a_pool_configured_without_a_size_has_every_size_of_its_template(make: Any) -> None:
    pool = {"template": "base", "warm": 0, "waiting": 0, "egress": NARROW}
    node = make(egress_classes={"narrow": NARROW}, pools=[pool])
    assert route(node) == "relay"


# -- reload --------------------------------------------------------------------------


def test_a_reload_changes_policies_of_live_claims_too(make: Any) -> None:
    wide = {"rules": [{"host": "*.example"}]}
    pools = [POOL | {"egress": wide}]
    node = make(egress_classes={"narrow": NARROW}, pools=pools)
    assert route(node) == "relay"
    (claim,) = node.claims()
    assert [each.rule.host for each in node.egress.rules(claim)] == ["index.example"]
    node.write_config(
        egress_classes={"narrow": {"rules": [{"host": "a.example"}]}},
        pools=[POOL | {"egress": {"rules": [{"host": "a.example", "ports": [443]}]}}],
        allowed_services=["a.example"],
        egress_usage_bytes=True,
    )
    assert node.request("POST", "/v1/config/reload").json == {
        "changed": [
            "allowed_services",
            "egress_classes",
            "egress_usage_bytes",
            "pools[base none tiny].egress",
        ],
        "ignored": [],
    }
    (rule,) = [each.rule for each in node.egress.rules(claim)]
    assert (rule.host, rule.ports) == ("a.example", (443,))


def test_bytes_are_in_the_usage_journal_where_they_are_asked_for(make: Any) -> None:
    node = make(egress_classes={"narrow": NARROW}, egress_usage_bytes=True)
    assert route(node) == "relay"
    (claim,) = node.claims()
    facts: dict[str, Any] = {"sandbox_id": claim.id, "host": "index.example", "port": 443}
    facts |= {"received_bytes": 9}

    async def report() -> None:
        node.egress.report(
            [
                EgressEvent(decision="allowed_anonymous", upstream="p:1", **facts),
                EgressEvent(decision="denied_address", **facts),
            ]
        )

    node.call(report())
    (line,) = [line for line in lines(node, "usage.jsonl") if line["ev"] == "egress_bytes"]
    assert (line["ref"], line["tx"], line["rx"]) == ("index.example", 0, 9)
    assert (line["upstream"], line["tenant"]) == ("p:1", "t")
