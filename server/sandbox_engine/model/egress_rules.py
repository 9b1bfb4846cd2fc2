"""Every layer of egress policy, reduced to one rule list that the broker evaluates.  Pure.

A session's own list has hosts and ports (seed "Egress policy"); a pool's and a tenant's
say methods, credentials and interception too.  Layers intersect, and a missing layer is
deny.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, TypeVar

from msgspec import Meta, Struct

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.egress import MAX_ENTRIES, covers, split_entry
from sandbox_engine.model.environment import EnvEntry

Port = Annotated[int, Meta(ge=1, le=65535)]
_T = TypeVar("_T")
Method = Annotated[str, Meta(pattern=r"^[A-Z]{1,32}$")]


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that may be reached."""

    host: str
    """`host`, `*.suffix` or `*`."""
    ports: tuple[Port, ...] = ()
    """Empty is any."""
    methods: tuple[Method, ...] = ()
    """Empty is any."""
    credential: str = ""
    """Name of a credential that the broker holds."""
    intercept: bool = False
    """Look inside TLS."""

    def check(self, field: str) -> None:
        """Raise `InvalidArgument` for a host that is none."""
        if self.host != "*" and (":" in self.host or split_entry(self.host)[0] != self.host):
            raise InvalidArgument(field, f"{self.host!r} is not `host`, `*.suffix` or `*`")


class Policy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One layer: a pool's, or that of a class of tenants."""

    rules: tuple[Rule, ...] = ()
    socks: bool = False
    """Serve the SOCKS5 door too (a pool's to say)."""

    def check(self, field: str) -> None:
        """Raise `InvalidArgument`, naming the field."""
        if len(self.rules) > MAX_ENTRIES:
            raise InvalidArgument(field, f"{len(self.rules)} rules; the limit is {MAX_ENTRIES}")
        for rule in self.rules:
            rule.check(field)


class Named(Struct, frozen=True, kw_only=True):
    """A rule as the broker is told it."""

    rule: Rule
    named: bool
    """The sandbox's own policy names it: no credential is needed to relay it."""


class Secret(Struct, frozen=True, kw_only=True):
    """A host-only variable, with where it is put."""

    name: str
    entry: EnvEntry


class Authorization(Struct, frozen=True, kw_only=True):
    """Who a guest is, and what it may reach."""

    sandbox_id: str
    number: int
    tenant: str
    rules: tuple[Named, ...]
    address: str = ""
    """Of its network interface: a token shown from elsewhere is not its own."""
    secrets: tuple[Secret, ...] = ()


def session_rules(entries: Iterable[str], allowed: Sequence[str]) -> tuple[Named, ...]:
    """A session's copied entries, less those that the daemon's list covers no more.

    The daemon-wide `*` names nothing, so it never earns a relay without a credential.
    """
    rules = []
    for entry in entries:
        if entry == "*":
            if "*" in allowed:
                rules.append(Named(rule=Rule(host="*"), named=False))
            continue
        if any(covers(ceiling, entry) for ceiling in allowed):
            host, port = split_entry(entry)
            ports = () if port is None else (port,)
            rules.append(Named(rule=Rule(host=host, ports=ports), named=True))
    return tuple(rules)


def claim_rules(
    pool: Policy | None, tenant: Policy | None, *, pooled: bool = True
) -> tuple[Named, ...]:
    """What both layers allow; a missing one is deny.

    A key that is not `pooled` has no pool's layer: there the tenant's stands alone (seed
    "PUT /v1/pools").
    """
    if tenant is not None and not pooled:
        return tuple(Named(rule=rule, named=rule.host != "*") for rule in tenant.rules)
    if pool is None or tenant is None:
        return ()
    both = (_both(ours, theirs) for ours in pool.rules for theirs in tenant.rules)
    return tuple(Named(rule=rule, named=rule.host != "*") for rule in both if rule is not None)


def _both(pool: Rule, tenant: Rule) -> Rule | None:
    host = _narrower(pool.host, tenant.host)
    ports, methods = _common(pool.ports, tenant.ports), _common(pool.methods, tenant.methods)
    if host is None or ports is None or methods is None:
        return None
    return Rule(
        host=host,
        ports=ports,
        methods=methods,
        credential=pool.credential or tenant.credential,
        intercept=pool.intercept or tenant.intercept,
    )


def _narrower(one: str, other: str) -> str | None:
    """The host pattern that both match, None where none does."""
    for wide, narrow in ((one, other), (other, one)):
        if wide == "*" or (narrow != "*" and covers(wide, narrow)):
            return narrow
    return None


def _common(one: tuple[_T, ...], other: tuple[_T, ...]) -> tuple[_T, ...] | None:
    """What is in both, where empty is everything; None for nothing."""
    if not one or not other:
        return one or other
    return tuple(each for each in one if each in other) or None


def intercepted(rules: Iterable[Named]) -> frozenset[str]:
    """Hosts into whose requests values can be put."""
    return frozenset(each.rule.host for each in rules if each.rule.intercept)
