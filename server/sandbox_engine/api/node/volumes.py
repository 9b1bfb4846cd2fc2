"""The calls about the catalog, and about the volumes of a live claim."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from msgspec import Struct

from sandbox_engine.api.node.replies import Reply, body_of, failed_with, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.api.node.views import volume_list
from sandbox_engine.errors import InvalidArgument, NotOffered, StateConflict
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.volume import VolumeWish
from sandbox_engine.services.access import Access
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.live import Live
from sandbox_engine.services.live_volumes import LiveVolumes, states
from sandbox_engine.services.volumes import Volumes


class _Put(Struct, forbid_unknown_fields=True):
    volumes: list[VolumeWish]


class _Patch(Struct, forbid_unknown_fields=True):
    add: list[VolumeWish] = []
    remove: list[str] = []


_put = msgspec.json.Decoder(_Put)
_patch = msgspec.json.Decoder(_Patch)
_NOTHING = Claim(net="", size="")


class VolumeCalls:
    """Request in, one service call, answer out."""

    def __init__(
        self, *, volumes: Volumes, changes: LiveVolumes, claims: Claims, access: Access
    ) -> None:
        self._volumes, self._changes = volumes, changes
        self._claims, self._access = claims, access

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("GET", "/v1/volumes", Right.NODE, self.index),
            Route("GET", "/v1/sandboxes/*/volumes", Right.NODE, self.show),
            Route("PUT", "/v1/sandboxes/*/volumes", Right.NODE, self.put),
            Route("PATCH", "/v1/sandboxes/*/volumes", Right.NODE, self.patch),
        ]

    async def index(self, call: Call) -> Reply:
        """What the caller may use; never where it lies or who else may."""
        rows = []
        for entry, size in self._volumes.permitted(call.party.tenant):
            row: dict[str, Any] = {
                "name": entry.name,
                "default_mount": entry.default_mount,
                "size_bytes": size or 0,
                "available": size is not None,
                "nodes": 1,
            }
            if entry.writable:
                row["writable"] = True
            rows.append(row)
        return reply({"volumes": rows})

    async def show(self, call: Call) -> Reply:
        """What a claim has and is to have."""
        return reply(self._view(self._seen(call)))

    async def put(self, call: Call) -> Reply:
        """Exactly these, of those that can come and go."""
        live, body = self._seen(call), body_of(call.request, _put)
        return await self._changed(live, lambda: self._changes.put(live, body.volumes))

    async def patch(self, call: Call) -> Reply:
        """Some more, some less."""
        live, body = self._seen(call), body_of(call.request, _patch)
        return await self._changed(live, lambda: self._changes.patch(live, body.add, body.remove))

    async def _changed(self, live: Live, change: Callable[[], Awaitable[None]]) -> Reply:
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        try:
            await change()
        except (InvalidArgument, NotOffered, StateConflict) as error:
            return failed_with(error, self._view(live))
        return reply(self._view(live))

    def _view(self, live: Live) -> dict[str, Any]:
        claim = live.sandbox.claim or _NOTHING
        return {
            "volumes_want": volume_list(claim.wanted_volumes),
            "volumes": volume_list(claim.volumes),
            "states": states(claim, self._changes.errors(live.sandbox)),
            "converging": claim.volumes_want is not None,
        }

    def _seen(self, call: Call) -> Live:
        sandbox = self._access.sees(call.party, self._claims.get(call.item))
        return self._claims.live(sandbox)
