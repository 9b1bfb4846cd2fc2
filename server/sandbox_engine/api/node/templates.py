"""The calls about promoted templates: promote, label, delete."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct

from sandbox_engine.api.node import views
from sandbox_engine.api.node.replies import Reply, body_of, nothing, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.size import DEFAULT_NET, DEFAULT_SIZE, Key
from sandbox_engine.model.state_request import PromoteRequest
from sandbox_engine.services.access import Access
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.promotions import Promotions
from sandbox_engine.services.tenants import Tenants

_promote = msgspec.json.Decoder(PromoteRequest)


class LabelsRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a change of labels."""

    labels: dict[str, str]


_labels = msgspec.json.Decoder(LabelsRequest)


class TemplateCalls:
    """Request in, one service call, answer out."""

    def __init__(
        self, *, claims: Claims, promotions: Promotions, access: Access, tenants: Tenants
    ) -> None:
        self._claims, self._promotions = claims, promotions
        self._access, self._tenants = access, tenants

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("POST", "/v1/sandboxes/*/promote", Right.NODE, self.promote),
            Route("DELETE", "/v1/templates", Right.NODE, self.delete),
            Route("PUT", "/v1/templates/labels", Right.NODE, self.label),
        ]

    async def promote(self, call: Call) -> Reply:
        """Publish the state of one."""
        await asyncio.sleep(0)  # from here on in a task of its own
        wish = body_of(call.request, _promote)
        self._access.owned(call.party, call.item, wish.token)
        sandbox = self._claims.get(call.item)
        if wish.token:
            self._tenants.check_extends(sandbox.claim)
        record = await self._promotions.promote(
            call.party.caller,
            sandbox.id,
            wish.template,
            size=self._claims.key(sandbox).size,
            tenant=call.party.tenant,
        )
        return reply({"key": views.key_view(record.key), "content_digest": record.content_digest})

    async def delete(self, call: Call) -> Reply:
        """Forget one."""
        key, digest = _asked(call)
        self._promotions.delete(key, digest=digest, tenant=call.party.tenant)
        return nothing()

    async def label(self, call: Call) -> Reply:
        """Replace what it is labelled with."""
        key, digest = _asked(call)
        wish = body_of(call.request, _labels)
        self._promotions.label(key, wish.labels, digest=digest, tenant=call.party.tenant)
        return nothing()


def _asked(call: Call) -> tuple[Key, str]:
    """The key in a query, and the digest that it is bound to.  Raises `InvalidArgument`."""
    given = dict(call.request.parameters())
    if not given.get("template"):
        raise InvalidArgument("template", "names the template, in the query")
    key = Key(given["template"], given.get("net") or DEFAULT_NET, given.get("size") or DEFAULT_SIZE)
    return key, given.get("digest", "")
