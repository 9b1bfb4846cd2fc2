"""The calls about claims: take one, see them, keep one, use one, give it back."""

from __future__ import annotations

import asyncio

import msgspec

from sandbox_engine.api.node import views
from sandbox_engine.api.node.replies import (
    Reply,
    Response,
    Switch,
    body_of,
    nothing,
    refusal,
    reply,
)
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.claim_request import (
    ClaimRequest,
    ExecRequest,
    RenewRequest,
    metadata_filter,
)
from sandbox_engine.ports.clock import Clock
from sandbox_engine.services.buffered import BufferedExecs
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.relay import Relays

_claim = msgspec.json.Decoder(ClaimRequest)
_renew = msgspec.json.Decoder(RenewRequest)
_exec = msgspec.json.Decoder(ExecRequest)


class ClaimCalls:
    """Request in, one service call, answer out."""

    def __init__(
        self,
        *,
        claims: Claims,
        execs: BufferedExecs,
        relays: Relays,
        mint: TokenMint,
        clock: Clock,
        advertise: str,
    ) -> None:
        self._claims, self._execs, self._relays = claims, execs, relays
        self._mint, self._clock = mint, clock
        self._advertise = advertise

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("POST", "/v1/claim", Right.NODE, self.claim),
            Route("GET", "/v1/sandboxes", Right.NODE, self.index),
            Route("GET", "/v1/sandboxes/*", Right.ROOT, self.one),
            Route("GET", "/v1/sandboxes/*/stats", Right.ROOT, self.stats),
            Route("GET", "/v1/sandboxes/*/owner", Right.OWNER, self.owner),
            Route("POST", "/v1/sandboxes/*/release", Right.OWNER_OR_ROOT, self.release),
            Route("POST", "/v1/sandboxes/*/renew", Right.OWNER_OR_ROOT, self.renew),
            Route("POST", "/v1/sandboxes/*/exec", Right.OWNER, self.exec),
            Route("GET", "/v1/sandboxes/*/agent", Right.OWNER, self.agent),
            Route("GET", "/v1/sandboxes/*/ports/*", Right.OWNER_OR_ROOT, self.port),
        ]

    async def claim(self, call: Call) -> Reply:
        """A fresh sandbox."""
        created = await self._claims.claim(call.party, body_of(call.request, _claim))
        return reply(views.granted(created, self._advertise))

    async def index(self, call: Call) -> Reply:
        """The claims that the caller may see."""
        parameters = call.request.parameters()
        wanted = metadata_filter([value for name, value in parameters if name == "metadata"])
        single = dict(parameters)
        tenant = call.party.tenant or single.get("tenant", "")
        rows = [
            views.row(self._claims, sandbox)
            for sandbox in self._claims.matching(
                claim_ref=single.get("claim_ref", ""), metadata=wanted
            )
            if not tenant or (sandbox.claim is not None and sandbox.claim.tenant == tenant)
        ]
        return reply({"sandboxes": rows})

    async def one(self, call: Call) -> Reply:
        """One claim, with its token for whoever proved to be the operator."""
        sandbox = self._claims.get(call.item)
        view = views.row(self._claims, sandbox)
        if call.party.by_token:
            view["token"] = self._mint.token(sandbox.id)
        return reply(view)

    async def stats(self, call: Call) -> Reply:
        """What one claim uses."""
        return reply(views.stats(self._claims.inspect(call.item), self._clock.now()))

    async def owner(self, call: Call) -> Reply:
        """Whether it lives here, and where that is."""
        self._claims.get(call.item)
        return reply({"owner_addr": self._advertise} if self._advertise else {})

    async def release(self, call: Call) -> Reply:
        """Give it back."""
        await self._claims.release(call.party, call.item)
        return nothing()

    async def renew(self, call: Call) -> Reply:
        """A new lease."""
        wish = body_of(call.request, _renew) if call.request.body.strip() else RenewRequest()
        sandbox = self._claims.renew(call.party, call.item, wish)
        assert sandbox.deadline is not None
        return reply({"deadline": views.moment(sandbox.deadline)})

    async def exec(self, call: Call) -> Reply:
        """Run a command to its end."""
        wish = body_of(call.request, _exec)
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        ended = await self._execs.run(call.party, call.item, wish)
        return reply(
            {
                "exit_code": ended.exit_code,
                "stdout": ended.stdout.decode(errors="replace"),
                "stderr": ended.stderr.decode(errors="replace"),
            }
        )

    async def agent(self, call: Call) -> Reply:
        """Become a relay of guest calls."""
        if call.request.upgrade != "silkd":
            return _upgrade_needed("silkd")
        return Switch("silkd", await self._relays.agent(call.party, call.item))

    async def port(self, call: Call) -> Reply:
        """Become a relay to a port in the guest."""
        if not call.detail.isascii() or not call.detail.isdigit() or len(call.detail) > 5:
            raise InvalidArgument("port", "must be 1 to 65535")
        if call.request.upgrade != "tcp":
            return _upgrade_needed("tcp")
        await asyncio.sleep(0)  # as in `exec`
        return Switch("tcp", await self._relays.port(call.party, call.item, int(call.detail)))


def _upgrade_needed(protocol: str) -> Response:
    return refusal(
        426, f"this call needs Upgrade: {protocol}", f"Upgrade: {protocol}", "Connection: Upgrade"
    )
