"""The egress policy: which destination, method and credential.  Pure.

Every door's request is judged here and nowhere else (design 06).  A question that no rule
answers is a denial.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

ALLOWED_CREDENTIALED = "allowed_credentialed"
ALLOWED_ANONYMOUS = "allowed_anonymous"
DENIED_POLICY = "denied_policy"
DENIED_UNCONFIGURED = "denied_unconfigured"
DENIED_ADDRESS = "denied_address"
DECISIONS = (
    ALLOWED_CREDENTIALED,
    ALLOWED_ANONYMOUS,
    DENIED_POLICY,
    DENIED_UNCONFIGURED,
    DENIED_ADDRESS,
)
DEFAULT_PORT = 443
"""What a request without a port counts as (seed "Egress policy")."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that may be reached; empty `ports` and `methods` are any."""

    host: str
    ports: frozenset[int] = frozenset()
    methods: frozenset[str] = frozenset()
    credential: str = ""
    intercept: bool = False
    named: bool = False


@dataclass(frozen=True, slots=True)
class Secret:
    """A host-only value and the places it is put into."""

    name: str
    value: str
    hosts: tuple[str, ...] = ()
    header: str = ""
    query: str = ""
    body: bool = False
    placeholder: str = ""

    def __repr__(self) -> str:
        return f"Secret({self.name!r})"


@dataclass(frozen=True, slots=True)
class Grant:
    """Who a guest is and what it may reach, as the engine says."""

    sandbox_id: str
    deny_all: bool = False
    rules: tuple[Rule, ...] = ()
    secrets: tuple[Secret, ...] = ()
    tenant: str = ""
    address: str = ""
    """Of its network interface, from which alone its token counts; empty counts from anywhere."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is done with a request: `credential` names what is put in; empty for nothing."""

    decision: str
    credential: str = ""

    @property
    def allowed(self) -> bool:
        """Whether it goes out."""
        return self.decision in {ALLOWED_CREDENTIALED, ALLOWED_ANONYMOUS}


def host_matches(pattern: str, host: str) -> bool:
    """Whether `host` is covered by `pattern`: exact, `*.suffix` (subdomains only), or `*`."""
    pattern, host = _folded(pattern), _folded(host)
    if pattern == "*":
        return True
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and len(host) > len(pattern) - 1
    return bool(pattern) and pattern == host


def matching(grant: Grant, host: str, port: int) -> tuple[Rule, ...]:
    """The rules that cover a destination, in their order; none for a grant that denies all."""
    if grant.deny_all:
        return ()
    return tuple(
        rule
        for rule in grant.rules
        if host_matches(rule.host, host) and (not rule.ports or port in rule.ports)
    )


def secrets_for(grant: Grant, host: str) -> tuple[Secret, ...]:
    """The grant's own values that requests to `host` get, in their order."""
    return tuple(
        secret
        for secret in grant.secrets
        if (secret.header or secret.query or secret.body)
        and any(host_matches(pattern, host) for pattern in secret.hosts)
    )


def judge_request(
    grant: Grant, host: str, port: int, method: str, *, holds: Callable[[str, str, int], bool]
) -> Verdict:
    """Judge a request that the broker itself sends; `holds(name, host, port)` knows credentials.

    The first rule with a credential wins over the host's own entry (a pool's rule stands
    before a tenant's).  A rule whose credential nobody holds is `denied_unconfigured`: sending
    the request without what its rule demands would not be what the operator wrote.
    """
    rules = [r for r in matching(grant, host, port) if not r.methods or method in r.methods]
    if not rules:
        return Verdict(DENIED_POLICY)
    wanted = next((rule.credential for rule in rules if rule.credential), "")
    if wanted or holds("", host, port):
        if not holds(wanted, host, port):
            return Verdict(DENIED_UNCONFIGURED)
        return Verdict(ALLOWED_CREDENTIALED, wanted)
    if secrets_for(grant, host):
        return Verdict(ALLOWED_CREDENTIALED)
    if any(rule.named for rule in rules):
        return Verdict(ALLOWED_ANONYMOUS)
    return Verdict(DENIED_UNCONFIGURED)


def intercepts(grant: Grant, host: str, port: int) -> bool:
    """Whether a tunnel to this destination is looked into."""
    return any(rule.intercept for rule in matching(grant, host, port))


def judge_tunnel(grant: Grant, host: str, port: int) -> Verdict:
    """Judge an opaque tunnel: only a named destination, and only where CONNECT is a method."""
    rules = [r for r in matching(grant, host, port) if not r.methods or "CONNECT" in r.methods]
    if not rules:
        return Verdict(DENIED_POLICY)
    if any(rule.named for rule in rules):
        return Verdict(ALLOWED_ANONYMOUS)
    return Verdict(DENIED_UNCONFIGURED)


def _folded(host: str) -> str:
    return host.lower().removesuffix(".")
