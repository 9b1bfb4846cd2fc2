"""The calls about a claim's environment."""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Struct

from sandbox_engine.api.node.replies import Reply, body_of, nothing, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.model.environment import EnvEntry
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.services.access import Access
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.environment import Environments


class _Put(Struct, forbid_unknown_fields=True):
    env: dict[str, EnvEntry]


class _Patch(Struct, forbid_unknown_fields=True):
    env: dict[str, EnvEntry | None]


_put = msgspec.json.Decoder(_Put)
_patch = msgspec.json.Decoder(_Patch)


class EnvironmentCalls:
    """Request in, one service call, answer out."""

    def __init__(self, *, environments: Environments, claims: Claims, access: Access) -> None:
        self._environments, self._claims, self._access = environments, claims, access

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("GET", "/v1/sandboxes/*/env", Right.NODE, self.show),
            Route("PUT", "/v1/sandboxes/*/env", Right.NODE, self.put),
            Route("PATCH", "/v1/sandboxes/*/env", Right.NODE, self.patch),
        ]

    async def show(self, call: Call) -> Reply:
        """It, the values that the guest has not left blank."""
        return reply({"env": self._environments.shown(self._seen(call))})

    async def put(self, call: Call) -> Reply:
        """Exactly this."""
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        sandbox = self._seen(call)
        await self._environments.put(sandbox, body_of(call.request, _put).env)
        return nothing()

    async def patch(self, call: Call) -> Reply:
        """Some entries."""
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        sandbox = self._seen(call)
        await self._environments.patch(sandbox, body_of(call.request, _patch).env)
        return nothing()

    def _seen(self, call: Call) -> Sandbox:
        return self._access.sees(call.party, self._claims.get(call.item))
