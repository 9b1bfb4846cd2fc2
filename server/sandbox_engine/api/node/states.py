"""The calls about saved states: hibernate and wake, fork, checkpoint and branch."""

from __future__ import annotations

import asyncio

import msgspec

from sandbox_engine.api.node import views
from sandbox_engine.api.node.replies import Reply, body_of, nothing, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.model.environment import guest_part, host_part
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.state_request import BranchRequest, CheckpointRequest, ForkRequest
from sandbox_engine.services.access import Access
from sandbox_engine.services.checkpoints import Branch
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.states import States
from sandbox_engine.services.tenants import Tenants

_fork = msgspec.json.Decoder(ForkRequest)
_checkpoint = msgspec.json.Decoder(CheckpointRequest)
_branch = msgspec.json.Decoder(BranchRequest)


class StateCalls:
    """Request in, one service call, answer out."""

    def __init__(
        self, *, claims: Claims, states: States, access: Access, tenants: Tenants, advertise: str
    ) -> None:
        self._claims, self._states, self._access = claims, states, access
        self._tenants = tenants
        self._advertise = advertise

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("POST", "/v1/sandboxes/*/hibernate", Right.OWNER_OR_ROOT, self.hibernate),
            Route("POST", "/v1/sandboxes/*/wake", Right.OWNER_OR_ROOT, self.wake),
            Route("POST", "/v1/sandboxes/*/fork", Right.NODE, self.fork),
            Route("POST", "/v1/sandboxes/*/checkpoint", Right.NODE, self.checkpoint),
            Route("GET", "/v1/checkpoints", Right.NODE, self.index),
            Route("POST", "/v1/checkpoints/*/claim", Right.NODE, self.branch),
            Route("DELETE", "/v1/checkpoints/*", Right.NODE, self.delete),
        ]

    async def hibernate(self, call: Call) -> Reply:
        """Put it to sleep."""
        await asyncio.sleep(0)  # from here on in a task of its own
        self._claims.get(call.item)
        await self._states.hibernation.hibernate(call.party.caller, call.item)
        return nothing()

    async def wake(self, call: Call) -> Reply:
        """Bring it back."""
        await asyncio.sleep(0)
        self._claims.get(call.item)
        await self._states.hibernation.wake(call.party.caller, call.item)
        return nothing()

    async def fork(self, call: Call) -> Reply:
        """Several that share its past."""
        await asyncio.sleep(0)
        wish = body_of(call.request, _fork)
        wish.check()
        parent = self._owned(call, wish.token)
        if wish.token:
            self._tenants.check_extends(parent.claim)
        children = await self._states.forks.fork(
            call.party.caller,
            parent.id,
            wish.count,
            ttl_s=wish.ttl_seconds,
            ref_prefix=wish.claim_ref_prefix,
            on_expire=wish.on_expire,
        )
        told = [views.granted(child, self._advertise) for child in children]
        return reply({"children": told})

    async def checkpoint(self, call: Call) -> Reply:
        """Keep this moment."""
        await asyncio.sleep(0)
        wish = body_of(call.request, _checkpoint)
        sandbox = self._owned(call, wish.token)
        record = await self._states.checkpoints.create(
            call.party.caller, sandbox.id, wish.name, tenant=call.party.tenant
        )
        return reply({"checkpoint": views.checkpoint(self._claims, record)})

    async def index(self, call: Call) -> Reply:
        """The moments that are kept."""
        found = self._states.checkpoints.all(tenant=call.party.tenant)
        return reply({"checkpoints": [views.checkpoint(self._claims, one) for one in found]})

    async def branch(self, call: Call) -> Reply:
        """A sandbox that goes on from one."""
        await asyncio.sleep(0)
        wish = body_of(call.request, _branch) if call.request.body.strip() else BranchRequest()
        wish.check()
        branch = Branch(
            ttl_s=wish.ttl_seconds,
            env=guest_part(wish.env),
            host_env=host_part(wish.env),
            metadata=wish.metadata,
            claim_ref=wish.claim_ref,
            on_expire=wish.on_expire or "destroy",
            claim=True,
            tenant=call.party.tenant,
            egress_class=self._tenants.egress_class(call.party.tenant),
        )
        created = await self._states.checkpoints.branch(call.party.caller, call.item, branch)
        return reply(views.granted(created, self._advertise))

    async def delete(self, call: Call) -> Reply:
        """Forget one."""
        self._states.checkpoints.delete(call.item, tenant=call.party.tenant)
        return nothing()

    def _owned(self, call: Call, token: str) -> Sandbox:
        self._access.owned(call.party, call.item, token)
        return self._claims.get(call.item)
