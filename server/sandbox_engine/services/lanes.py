"""What the registry asks of whatever connects guests to a network."""

from __future__ import annotations

from typing import Protocol

from sandbox_engine.errors import NotOffered
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.sandbox import Sandbox, SandboxSpec
from sandbox_engine.model.size import DEFAULT_NET, EGRESS_NET
from sandbox_engine.services.vms import Vm


class Network(Protocol):
    """Tells guests their way out."""

    def check(self, spec: SandboxSpec) -> None:
        """Raise `NotOffered` for a lane that the node has not."""

    async def connect(
        self, vm: Vm, spec: SandboxSpec, claim: Claim | None, before: Sandbox | None = None
    ) -> None:
        """Give the guest of a VM that runs an interface, where its lane and policy ask for one.

        `before` is the sandbox that it was and goes on being.  Raises `VmmError`,
        `GuestUnavailable`; the VM is then of no more use.
        """

    def pool(self, spec: SandboxSpec, claim: Claim | None) -> str:
        """The lane of the pool that a new sandbox's VM comes from."""

    def settle(self, sandbox: Sandbox, vm: Vm) -> None:
        """Copy its policy into the record of a sandbox that is being made."""

    def configure(self, sandbox: Sandbox, vm: Vm, *, saved: bool) -> None:
        """Give its guest what its policy means, ahead of anything that is run in it.

        A guest that goes on from a `saved` state may have had something else before.
        """

    def given(self, sandbox: Sandbox) -> dict[str, str]:
        """Variables that it has besides its own, which win."""


class NoNetwork:
    """A node without a broker."""

    def check(self, spec: SandboxSpec) -> None:
        """See `Network`."""
        if spec.net == EGRESS_NET:
            raise NotOffered("egress requested on a node without an egress attachment")

    async def connect(
        self, vm: Vm, spec: SandboxSpec, claim: Claim | None, before: Sandbox | None = None
    ) -> None:
        """See `Network`."""

    def pool(self, spec: SandboxSpec, claim: Claim | None) -> str:  # noqa: ARG002 - of the protocol
        """See `Network`."""
        return DEFAULT_NET

    def settle(self, sandbox: Sandbox, vm: Vm) -> None:
        """See `Network`."""

    def configure(self, sandbox: Sandbox, vm: Vm, *, saved: bool) -> None:
        """See `Network`."""

    def given(self, _: Sandbox) -> dict[str, str]:
        """See `Network`."""
        return {}
