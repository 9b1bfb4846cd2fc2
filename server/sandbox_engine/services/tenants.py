"""The tenants of the node: kept durably, in force from the next request on.

The API is the only way in.  The applied set is written, with tokens only as their
SHA-256, before any request is served by it.  A tenant that was removed lives on as the
name of its claims: they run to their deadline and cannot extend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from sandbox_engine.errors import InvalidArgument, PermissionDenied
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.tenant import (
    NamedWish,
    Tenant,
    TenantWish,
    change,
    check_tokens,
    digest,
    token_hash,
    wished,
)
from sandbox_engine.ports.ledger import Document
from sandbox_engine.services.audit import Audit


class _Saved(Struct):
    format: Literal[1]
    tenants: list[Tenant]


class Listed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tenant as the API shows it; one that was removed is shown while it has claims."""

    name: str
    max_claims: int = 0
    egress_class: str = ""
    claims: int | None = None
    removed: bool = False


class Tenants:
    """The set in force."""

    def __init__(
        self,
        *,
        document: Document,
        api_token: str,
        classes: Callable[[], Collection[str]],
        audit: Audit,
    ) -> None:
        """`classes` tells the names of the node's egress classes."""
        self._document, self._audit, self._classes = document, audit, classes
        self._has_root = bool(api_token)
        self._root = token_hash(api_token)
        self._tenants: dict[str, Tenant] = {}
        self._by_token: dict[str, str] = {}
        self._load()

    # -- for access --------------------------------------------------------------

    def named_by(self, token: str) -> str | None:
        """Whose token this is.  Looked up by its hash, so that time tells nothing of it."""
        return self._by_token.get(token_hash(token))

    def max_claims(self, tenant: str) -> int:
        """How many claims it may hold at once; 0 is no cap."""
        found = self._tenants.get(tenant)
        return 0 if found is None else found.max_claims

    def egress_class(self, tenant: str | None) -> str:
        """The class its new claims get; empty for none."""
        found = self._tenants.get(tenant) if tenant is not None else None
        return "" if found is None else found.egress_class

    def is_removed(self, claim: Claim | None) -> bool:
        """Whether a claim's tenant is no more."""
        return claim is not None and claim.tenant is not None and claim.tenant not in self._tenants

    def check_extends(self, claim: Claim | None) -> None:
        """Raise `PermissionDenied` for a claim that may only run to its end."""
        if self.is_removed(claim):
            assert claim is not None
            raise PermissionDenied(f"tenant {claim.tenant!r} was removed; this claim only runs out")

    # -- for operators -----------------------------------------------------------

    def check_offered(self) -> None:
        """Tenants need a root to be told from.  Raises `InvalidArgument`."""
        if not self._has_root:
            raise InvalidArgument("tenants", "a node without api_token has no tenants")

    def replace(self, wishes: Sequence[NamedWish]) -> None:
        """Exactly these.  Raises `InvalidArgument`, `NoSpace`; nothing is changed then."""
        self._apply(self._wished([(wish.name, wish) for wish in wishes]))

    def put(self, name: str, wish: TenantWish) -> None:
        """Add or change one.  Raises as `replace()`."""
        rest = [(n, _as_it_is(t)) for n, t in self._tenants.items() if n != name]
        self._apply(self._wished([*rest, (name, wish)]))

    def delete(self, name: str) -> bool:
        """Remove one; False where there is none.  Raises `NoSpace`."""
        self.check_offered()
        if name not in self._tenants:
            return False
        self._apply({n: tenant for n, tenant in self._tenants.items() if n != name})
        return True

    def listed(self, claims: Iterable[Claim]) -> list[Listed]:
        """Every tenant by name with its number of live claims, and what is left of removed ones."""
        counts = Counter(claim.tenant for claim in claims if claim.tenant is not None)
        rows = [
            Listed(
                name=tenant.name,
                max_claims=tenant.max_claims,
                egress_class=tenant.egress_class,
                claims=counts.pop(tenant.name, 0),
            )
            for tenant in self._tenants.values()
        ]
        rows += (Listed(name=name, claims=n, removed=True) for name, n in counts.items())
        return sorted(rows, key=lambda row: row.name)

    @property
    def digest(self) -> str:
        """Of the set in force, to compare nodes by."""
        return digest(self._tenants)

    def _wished(self, wishes: Sequence[tuple[str, TenantWish]]) -> dict[str, Tenant]:
        self.check_offered()
        return wished(wishes, self._tenants, root_sha256=self._root, classes=self._classes())

    def _apply(self, after: dict[str, Tenant]) -> None:
        differs = change(self._tenants, after)
        if not (differs.added or differs.changed or differs.removed):
            return
        saved = _Saved(1, [after[name] for name in sorted(after)])
        self._document.save(msgspec.json.encode(saved))
        self._take(after)
        self._audit.node("tenants", msgspec.to_builtins(differs))

    def _take(self, tenants: Mapping[str, Tenant]) -> None:
        self._tenants = dict(tenants)
        self._by_token = {tenant.token_sha256: name for name, tenant in tenants.items()}

    def _load(self) -> None:
        saved = self._document.load()
        if saved is None:
            return
        try:
            read = msgspec.json.decode(saved, type=_Saved)
            tenants = {tenant.name: tenant for tenant in read.tenants}
            check_tokens(tenants, self._root)
        except (msgspec.MsgspecError, UnicodeDecodeError, InvalidArgument) as error:
            raise InvalidArgument("tenants.json", f"cannot be read: {error}") from error
        if self._has_root:  # without a root token calls are open, and so is there no tenant
            self._take(tenants)


def _as_it_is(tenant: Tenant) -> TenantWish:
    return TenantWish(max_claims=tenant.max_claims, egress_class=tenant.egress_class)
