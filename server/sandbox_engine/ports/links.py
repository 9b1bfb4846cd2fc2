"""What connects a guest's interface to the host: one link a VM, locked to the broker.

Every implementation passes `tests/conformance/links`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from sandbox_engine.model.link import Link


class Links(Protocol):
    """Makes and removes links.  A link is locked before anybody can send on it."""

    async def make(
        self, vm: str, address: str = "", avoid: Collection[str] = ()
    ) -> tuple[Link, int]:
        """A link for `vm` and the descriptor of its tap, which is the caller's to close.

        With the guest's `address` where that is free, else with none of `avoid`, which are
        kept for guests that sleep.  The tap lives as long as somebody
        holds the descriptor, so that it cannot outlive its VM.  Raises `VmmError`; nothing
        is left then.
        """

    async def remove(self, link: Link) -> None:
        """Its VM is gone: so are tap, lock and address after this.  Idempotent; never raises."""

    def find(self, vm: str) -> Link | None:
        """The link of a VM that an earlier engine made."""

    async def sweep(self, keep: set[str]) -> list[str]:
        """Remove the links of VMs that are not in `keep`; the names of the VMs."""
