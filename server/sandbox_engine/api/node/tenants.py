"""The calls about tenants: who they are, and what each may hold."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sandbox_engine.api.node.replies import Reply, body_of, nothing, refusal, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.model.tenant import NamedWish, TenantWish
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.tenants import Tenants


class _Set(Struct, forbid_unknown_fields=True):
    tenants: list[NamedWish]


_set = msgspec.json.Decoder(_Set)
_one = msgspec.json.Decoder(TenantWish)


class TenantCalls:
    """Request in, one service call, answer out."""

    def __init__(self, *, tenants: Tenants, claims: Claims) -> None:
        self._tenants, self._claims = tenants, claims

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("GET", "/v1/tenants", Right.ROOT, self.index),
            Route("PUT", "/v1/tenants", Right.ROOT, self.replace),
            Route("PUT", "/v1/tenants/*", Right.ROOT, self.put),
            Route("DELETE", "/v1/tenants/*", Right.ROOT, self.delete),
        ]

    async def index(self, _: Call) -> Reply:
        """Everyone."""
        self._tenants.check_offered()
        claims = (one.claim for one in self._claims.all() if one.claim is not None)
        return reply({"tenants": self._tenants.listed(claims), "digest": self._tenants.digest})

    async def replace(self, call: Call) -> Reply:
        """Exactly these."""
        self._tenants.replace(body_of(call.request, _set).tenants)
        return await self.index(call)

    async def put(self, call: Call) -> Reply:
        """Add or change one."""
        self._tenants.put(call.item, body_of(call.request, _one))
        return nothing()

    async def delete(self, call: Call) -> Reply:
        """Remove one."""
        return nothing() if self._tenants.delete(call.item) else refusal(404, "unknown tenant")
