"""Tenants: who shares a node, by name and token (seed "Tenants").  Pure.

A name is the identity: what a tenant leaves belongs to whoever has that name later.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.template import check_name

MAX_TENANTS = 4096
MAX_TOKEN = 1024
MAX_CLAIMS = 1_000_000
_TOKEN = re.compile(r"[\x21-\x7e]+\Z")


class TenantWish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tenant is to be; `name` is in the path where one alone is put."""

    token: str = ""
    """Empty keeps the token it has."""
    max_claims: int = 0
    """0 is no cap of its own."""
    egress_class: str = ""


class NamedWish(TenantWish, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of a whole set."""

    name: str


class Tenant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One tenant as it is kept."""

    name: str
    token_sha256: str
    """Hex; the token itself is kept nowhere."""
    max_claims: int = 0
    egress_class: str = ""


Set = Mapping[str, Tenant]


class Change(Struct, frozen=True):
    """Names that a change added, changed and removed, for the audit log."""

    added: list[str]
    changed: list[str]
    removed: list[str]


def token_hash(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).hexdigest()


def wished(
    wishes: Sequence[tuple[str, TenantWish]],
    had: Set,
    *,
    root_sha256: str,
    classes: Collection[str],
) -> dict[str, Tenant]:
    """The set that these entries describe, in their order.

    Raises `InvalidArgument` for a bad entry, a name or a token that is there twice, one
    equal to the root token's, and a class that the node has not.
    """
    if len(wishes) > MAX_TENANTS:
        raise InvalidArgument("tenants", f"{len(wishes)} entries; the limit is {MAX_TENANTS}")
    found: dict[str, Tenant] = {}
    for name, wish in wishes:
        check_name(name, "name")
        if name in found:
            raise InvalidArgument("tenants", f"{name!r} is named twice")
        found[name] = _tenant(name, wish, had.get(name), classes)
    check_tokens(found, root_sha256)
    return found


def _tenant(name: str, wish: TenantWish, had: Tenant | None, classes: Collection[str]) -> Tenant:
    if wish.token and (len(wish.token) > MAX_TOKEN or not _TOKEN.match(wish.token)):
        raise InvalidArgument(
            "token", f"of {name!r}: at most {MAX_TOKEN} printable ASCII characters, no space"
        )
    if not wish.token and had is None:
        raise InvalidArgument("token", f"{name!r} is new and needs one")
    if not 0 <= wish.max_claims <= MAX_CLAIMS:
        raise InvalidArgument("max_claims", f"of {name!r}: must be 0 to {MAX_CLAIMS}")
    if wish.egress_class and wish.egress_class not in classes:
        raise InvalidArgument("egress_class", f"of {name!r}: no class {wish.egress_class!r} here")
    kept = had.token_sha256 if had is not None else ""
    return Tenant(
        name=name,
        token_sha256=token_hash(wish.token) if wish.token else kept,
        max_claims=wish.max_claims,
        egress_class=wish.egress_class,
    )


def check_tokens(tenants: Set, root_sha256: str) -> None:
    """No two alike, none the root's.  Raises `InvalidArgument`."""
    owners: dict[str, str] = {}
    for tenant in tenants.values():
        if tenant.token_sha256 == root_sha256:
            raise InvalidArgument("token", f"of {tenant.name!r}: equals api_token")
        other = owners.setdefault(tenant.token_sha256, tenant.name)
        if other != tenant.name:
            raise InvalidArgument("token", f"of {tenant.name!r}: {other!r} has the same")


def change(before: Set, after: Set) -> Change:
    """What differs, sorted."""
    return Change(
        added=sorted(after.keys() - before.keys()),
        changed=sorted(n for n in after.keys() & before.keys() if after[n] != before[n]),
        removed=sorted(before.keys() - after.keys()),
    )


def digest(tenants: Set) -> str:
    """The same for the same set on any node, whatever its order: `sha256:` and hex."""
    ordered = [tenants[name] for name in sorted(tenants)]
    return "sha256:" + hashlib.sha256(msgspec.json.encode(ordered)).hexdigest()
