"""What the registry asks of whatever connects guests to a network."""

from __future__ import annotations

from typing import Protocol

from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.services.vms import Vm


class Network(Protocol):
    """Tells guests their way out."""

    def settle(self, sandbox: Sandbox) -> None:
        """Copy its policy into the record of a sandbox that is being made."""

    def configure(self, sandbox: Sandbox, vm: Vm, *, saved: bool) -> None:
        """Give its guest what its policy means, ahead of anything that is run in it.

        A guest that goes on from a `saved` state may have had something else before.
        """


class NoNetwork:
    """A node without a broker."""

    def settle(self, sandbox: Sandbox) -> None:
        """See `Network`."""

    def configure(self, sandbox: Sandbox, vm: Vm, *, saved: bool) -> None:
        """See `Network`."""
