"""What a guest is given to reach the network by (seeds "What a guest is given", `net_route`)."""

from __future__ import annotations

from typing import Any

from sandbox_engine.ids import TokenMint
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.services.egress import Egress
from sandbox_engine.services.vms import Vm

DOOR = "127.0.0.1:3128"
"""The HTTP proxy in a guest without an interface (`sandbox_guest.doors`)."""


class DoorNetwork:
    """By the channel: the guest has no interface, no address and no route at all."""

    def __init__(self, egress: Egress, mint: TokenMint) -> None:
        self._egress, self._mint = egress, mint

    def settle(self, sandbox: Sandbox) -> None:
        """See `services.lanes.Network`."""
        self._egress.settle(sandbox)

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
        if doors and sandbox.claim is None:
            message["env"] = self._given(sandbox) | sandbox.spec.env
        vm.channel.notify(message)

    def _given(self, sandbox: Sandbox) -> dict[str, str]:
        return {
            "SANDBOX_BROKER": DOOR,
            "SANDBOX_SESSION_TOKEN": self._mint.session_token(sandbox.id),
        }
