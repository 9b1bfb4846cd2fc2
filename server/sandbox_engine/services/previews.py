"""Previews: addresses of guest ports for browsers, and the way from an address to the guest."""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine.errors import SandboxNotFound, Unimplemented
from sandbox_engine.model.preview import Pass, PreviewRequest, ends_at, read, sign
from sandbox_engine.ports.clock import Clock
from sandbox_engine.services.access import Party
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.relay import PortRelay, Relays


class PreviewSettings(Struct, frozen=True, kw_only=True):
    """What the configuration says of previews."""

    listen: str = ""
    """`host:port`; empty serves none."""
    secret: bytes
    advertise: str = ""
    """`host:port` in addresses; empty is where it listens."""
    owner: str = ""
    """Where this node is reached, for passes that another one is shown."""


class Previews:
    """Makes addresses and follows them."""

    def __init__(
        self,
        *,
        settings: PreviewSettings,
        claims: Claims,
        relays: Relays,
        clock: Clock,
        audit: Audit,
    ) -> None:
        self.settings = settings
        self._claims, self._relays, self._clock, self._audit = claims, relays, clock, audit
        self.address = settings.advertise
        """`host:port` that addresses name, once the listener listens."""

    def check_offered(self) -> None:
        """Raise `Unimplemented` on a node without a preview listener."""
        if not self.settings.listen:
            raise Unimplemented("this node has no preview_listen")

    def mint(self, sandbox_id: str, request: PreviewRequest) -> str:
        """An address that shows the port, at the longest until the lease ends.

        Raises `SandboxNotFound`.
        """
        sandbox = self._claims.get(sandbox_id)
        expires = ends_at(request.ttl_seconds, self._clock.now(), sandbox.deadline)
        what = Pass(sandbox.id, request.port, self.settings.owner, expires)
        self._audit.call(sandbox.id, {"op": "preview", "port": request.port})
        return f"http://{self.address}/p/{sign(self.settings.secret, what)}/"

    def admit(self, word: str) -> Pass:
        """What an address gives access to.

        Raises `SandboxNotFound` for a word that is no pass, an expired one, and for a
        sandbox that is gone: they cannot be told apart.
        """
        what = read(self.settings.secret, word)
        if what is None or what.expires <= self._clock.now() or what.owner != self.settings.owner:
            raise SandboxNotFound("behind this address")
        self._claims.get(what.sandbox)
        return what

    def left_s(self, what: Pass) -> float:
        """How long a pass is good for still."""
        return max(0.0, what.expires - self._clock.now())

    async def open(self, what: Pass) -> PortRelay:
        """Bytes to and from the port; a hibernated sandbox is woken for it.

        Raises `SandboxNotFound`, `StateConflict`, `GuestUnavailable`.
        """
        return await self._relays.port(Party(sandbox=what.sandbox), what.sandbox, what.port)
