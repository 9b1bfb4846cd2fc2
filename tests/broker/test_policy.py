"""The egress policy's rules, row by row (seed 000 "Egress policy", design 06)."""

from __future__ import annotations

import pytest
from sandbox_broker.policy import (
    Grant,
    Rule,
    Secret,
    host_matches,
    intercepts,
    judge_request,
    judge_tunnel,
    secrets_for,
)


@pytest.mark.parametrize(
    ("pattern", "host", "covered"),
    [
        ("index.example", "index.example", True),
        ("index.example", "INDEX.Example", True),
        ("Index.EXAMPLE", "index.example", True),
        ("index.example", "index.example.", True),
        ("index.example", "a.index.example", False),
        ("index.example", "index.example.evil", False),
        ("*.example.org", "a.example.org", True),
        ("*.example.org", "a.b.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", ".example.org", False),
        ("*.example.org", "badexample.org", False),
        ("*.example.org", "a.example.org.evil", False),
        ("*", "anything.example", True),
        ("*", "203.0.113.9", True),
        ("", "", False),
    ],
)
def test_a_pattern_covers(pattern: str, host: str, covered: bool) -> None:
    assert host_matches(pattern, host) is covered


def judged(*rules: Rule, port: int = 443, method: str = "GET", held: tuple[str, ...] = (), **more):  # type: ignore[no-untyped-def]  # a short hand for tables
    grant = Grant("sb", rules=rules, **more)
    verdict = judge_request(
        grant, "h.example", port, method, holds=lambda name, *_: (name or "(host)") in held
    )
    return verdict.decision, verdict.credential


NAMED = Rule("h.example", named=True)


@pytest.mark.parametrize(
    ("rules", "more", "expected"),
    [
        ((), {}, ("denied_policy", "")),
        ((Rule("other.example", named=True),), {}, ("denied_policy", "")),
        ((NAMED,), {}, ("allowed_anonymous", "")),
        ((NAMED,), {"deny_all": True}, ("denied_policy", "")),
        ((Rule("*"),), {}, ("denied_unconfigured", "")),
        ((Rule("*"),), {"held": ("(host)",)}, ("allowed_credentialed", "")),
        ((NAMED,), {"held": ("(host)",)}, ("allowed_credentialed", "")),
        ((Rule("h.example", frozenset({443}), named=True),), {}, ("allowed_anonymous", "")),
        ((Rule("h.example", frozenset({8443}), named=True),), {}, ("denied_policy", "")),
        (
            (Rule("h.example", frozenset({8443}), named=True),),
            {"port": 8443},
            ("allowed_anonymous", ""),
        ),
        ((Rule("h.example", methods=frozenset({"POST"}), named=True),), {}, ("denied_policy", "")),
        (
            (Rule("h.example", methods=frozenset({"POST"}), named=True),),
            {"method": "POST"},
            ("allowed_anonymous", ""),
        ),
        (
            (Rule("h.example", credential="k"),),
            {"held": ("k",)},
            ("allowed_credentialed", "k"),
        ),
        ((Rule("h.example", credential="k", named=True),), {}, ("denied_unconfigured", "")),
        (
            (Rule("h.example", credential="pool"), Rule("*.example", credential="tenant")),
            {"held": ("pool", "tenant", "(host)")},
            ("allowed_credentialed", "pool"),
        ),
    ],
)
def test_a_request_is_judged(rules: tuple[Rule, ...], more: dict, expected: tuple) -> None:  # type: ignore[type-arg]  # rows of a table
    assert judged(*rules, **more) == expected


def test_a_sandboxes_own_value_counts_as_a_credential_where_it_is_put_in() -> None:
    secret = Secret("K", "v", hosts=("h.example",), header="X-Key")
    assert judged(Rule("*"), secrets=(secret,)) == ("allowed_credentialed", "")
    elsewhere = Secret("K", "v", hosts=("o.example",), header="X-Key")
    assert judged(Rule("*"), secrets=(elsewhere,)) == ("denied_unconfigured", "")


def test_a_value_without_a_place_is_put_nowhere() -> None:
    grant = Grant("sb", secrets=(Secret("K", "v", hosts=("h.example",)),))
    assert not secrets_for(grant, "h.example")


@pytest.mark.parametrize(
    ("rules", "decision"),
    [
        ((NAMED,), "allowed_anonymous"),
        ((Rule("*"),), "denied_unconfigured"),
        ((Rule("*", credential="k"),), "denied_unconfigured"),
        ((Rule("h.example", methods=frozenset({"GET"}), named=True),), "denied_policy"),
        ((Rule("h.example", methods=frozenset({"CONNECT"}), named=True),), "allowed_anonymous"),
        ((Rule("h.example", frozenset({443}), named=True),), "allowed_anonymous"),
        ((Rule("h.example", frozenset({80}), named=True),), "denied_policy"),
        ((), "denied_policy"),
    ],
)
def test_a_tunnel_is_judged(rules: tuple[Rule, ...], decision: str) -> None:
    assert judge_tunnel(Grant("sb", rules=rules), "h.example", 443).decision == decision


def test_interception_is_of_the_rule_that_covers() -> None:
    grant = Grant("sb", rules=(Rule("h.example", frozenset({443}), intercept=True),))
    assert intercepts(grant, "h.example", 443)
    assert not intercepts(grant, "h.example", 8443)
    assert not intercepts(grant, "o.example", 443)
    assert not intercepts(Grant("sb", True, grant.rules), "h.example", 443)


def test_a_secret_never_shows_in_its_representation() -> None:
    assert "hidden" not in repr(Grant("sb", secrets=(Secret("K", "hidden"),)))
