"""What a guest is given to reach the network by (seeds "What a guest is given", `net_route`)."""

from __future__ import annotations

from typing import Any

from sandbox_engine.errors import NotOffered
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.link import MASK, block_of, host_of
from sandbox_engine.model.sandbox import Sandbox, SandboxSpec
from sandbox_engine.model.size import DEFAULT_NET, EGRESS_NET
from sandbox_engine.services.egress import Egress
from sandbox_engine.services.vms import Vm, VmFactory

DOOR = "127.0.0.1:3128"
"""The HTTP proxy in a guest (`sandbox_guest.doors`)."""
NO_PROXY = "127.0.0.1,localhost"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
TRUST = {
    **dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), BUNDLE),
    "GIT_SSL_CAINFO": BUNDLE,
    "NODE_EXTRA_CA_CERTS": "/run/sandbox/egress-ca.crt",
}
"""For tools that do not look into the system's bundle by themselves."""


class GuestNetwork:
    """By the channel in every lane, and in the egress lane by an interface too."""

    def __init__(
        self, egress: Egress, mint: TokenMint, factory: VmFactory, port: int, trust: str = ""
    ) -> None:
        """`port` is the broker's for guests with an interface; 0 where there are none.

        `trust` are the roots (PEM) that sign for destinations the broker looks into.
        """
        self._egress, self._mint, self._trust = egress, mint, trust
        self._factory, self._port = factory, port
        factory.kept_addresses = egress.addresses

    def check(self, spec: SandboxSpec) -> None:
        """See `services.lanes.Network`."""
        if spec.net == EGRESS_NET and not self._port:
            raise NotOffered("egress requested on a node without an egress attachment")

    async def connect(
        self, vm: Vm, spec: SandboxSpec, claim: Claim | None, before: Sandbox | None = None
    ) -> None:
        """See `services.lanes.Network`."""
        if vm.link is None and self._egress.has_link(spec, claim, before):
            await self._factory.connect(vm, "" if before is None else before.address)
            if before is not None:
                before.address = "" if vm.link is None else vm.link.guest

    def pool(self, spec: SandboxSpec, claim: Claim | None) -> str:
        """See `services.lanes.Network`."""
        return EGRESS_NET if self._egress.has_link(spec, claim, None) else DEFAULT_NET

    def settle(self, sandbox: Sandbox, vm: Vm) -> None:
        """See `services.lanes.Network`."""
        self._egress.settle(sandbox)
        sandbox.address = "" if vm.link is None else vm.link.guest

    def configure(self, sandbox: Sandbox, vm: Vm, *, saved: bool) -> None:
        """See `services.lanes.Network`."""
        doors = self._egress.doors(sandbox)
        if not doors and not saved:
            return  # as it was baked: nothing
        message: dict[str, Any] = {
            "op": "configure",
            "lane": self._egress.route(sandbox),
            "doors": doors,
        }
        if given := self.given(sandbox):
            message["env"] = given | sandbox.spec.env
        if saved or self._trusts(sandbox):
            message["trust"] = self._trust if self._trusts(sandbox) else ""
        vm.channel.notify(message)

    def _trusts(self, sandbox: Sandbox) -> bool:
        return bool(self._trust and self._egress.intercepted(sandbox))

    def given(self, sandbox: Sandbox) -> dict[str, str]:
        """See `services.lanes.Network`."""
        if not self._egress.doors(sandbox):
            return {}
        return self._way(sandbox) | (TRUST if self._trusts(sandbox) else {})

    def _way(self, sandbox: Sandbox) -> dict[str, str]:
        token = self._mint.session_token(sandbox.id)
        if not sandbox.address:
            own = {"SANDBOX_BROKER": DOOR, "SANDBOX_SESSION_TOKEN": token}
            return own if sandbox.claim is None else {}
        block = block_of(sandbox.address)
        assert block is not None  # it was made of one
        broker = f"{host_of(block)}:{self._port}"
        proxy = f"http://sandbox:{token}@{broker}"
        proxies = {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": NO_PROXY}
        return {
            **proxies,
            **{name.upper(): value for name, value in proxies.items()},
            "SANDBOX_BROKER": broker,
            "SANDBOX_SESSION_TOKEN": token,
            "SANDBOX_NET_ADDR": sandbox.address,
            "SANDBOX_NET_MASK": MASK,
        }
