"""Who a bearer token is, and what it may do on the node API (seed "sandboxd HTTP API").

Three kinds: root (the configured token), tenant, and the token each sandbox has.  A
token nobody knows is 401 on a call about the node and, on a call about one sandbox, as
good as an unknown id: 404, so that ids cannot be probed for.
"""

from __future__ import annotations

import hashlib
import hmac

from msgspec import Struct

from sandbox_engine.errors import PermissionDenied, SandboxNotFound, Unauthenticated
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.services.tenants import Tenants


class Party(Struct, frozen=True, kw_only=True):
    """Who calls."""

    root: bool = False
    """May do everything on the node."""
    by_token: bool = False
    """Root by the configured token, not because the node has none."""
    sandbox: str | None = None
    """Holds this sandbox's own token."""
    tenant: str | None = None

    @property
    def caller(self) -> Caller:
        """As the services know callers."""
        if self.sandbox is not None:
            return Caller(name=f"sandbox:{self.sandbox}")
        return Caller(name="node" if self.tenant is None else f"tenant:{self.tenant}")


class Access:
    """Decides by tokens, compared in constant time."""

    def __init__(self, api_token: str, mint: TokenMint, tenants: Tenants) -> None:
        self._root = _digest(api_token) if api_token else None
        self._mint, self._tenants = mint, tenants

    def node(self, bearer: str | None) -> Party:
        """A call about the node, open to tenants.  Raises `Unauthenticated`."""
        if self._root is None:
            return Party(root=True)
        if bearer is None:
            raise Unauthenticated("missing bearer token")
        if self._is_root(bearer):
            return Party(root=True, by_token=True)
        tenant = self._tenants.named_by(bearer)
        if tenant is None:
            raise Unauthenticated("bad api token")
        return Party(tenant=tenant)

    def root(self, bearer: str | None) -> Party:
        """A call for operators.  Raises `Unauthenticated`, `PermissionDenied` for a tenant."""
        party = self.node(bearer)
        if party.tenant is not None:
            raise PermissionDenied("this call is the operator's")
        return party

    def sandbox(self, bearer: str | None, sandbox_id: str, *, operator: bool = False) -> Party:
        """A call about one sandbox: its own token, or with `operator` the root token.

        Raises `Unauthenticated` without a token, `SandboxNotFound` for one that does not fit.
        """
        if bearer is None:
            raise Unauthenticated("missing bearer token")
        if self._mint.matches(sandbox_id, bearer):
            return Party(sandbox=sandbox_id)
        if operator and self._is_root(bearer):
            return Party(root=True, by_token=True)
        raise SandboxNotFound(sandbox_id)

    def owned(self, party: Party, sandbox_id: str, token: str) -> None:
        """A node call about one sandbox, its token in the body; an operator may leave it out.

        Raises `SandboxNotFound` for a token that does not fit.
        """
        fits = self._mint.matches(sandbox_id, token) if token else party.root
        if not fits:
            raise SandboxNotFound(sandbox_id)

    def sees(self, party: Party, sandbox: Sandbox) -> Sandbox:
        """A node call about one sandbox by its id alone: a tenant reaches only its own.

        Raises `SandboxNotFound`, as for an unknown id.
        """
        owner = None if sandbox.claim is None else sandbox.claim.tenant
        if party.tenant is not None and party.tenant != owner:
            raise SandboxNotFound(sandbox.id)
        return sandbox

    def _is_root(self, bearer: str) -> bool:
        return self._root is not None and hmac.compare_digest(_digest(bearer), self._root)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
