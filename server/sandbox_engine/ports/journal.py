"""What the engine needs of its journal: every effect on the host is written down first.

All methods are synchronous and short (tens of microseconds): they run on the loop, and
what they wrote survives `kill -9` of the engine when they return.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct, field

from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.workspace import Workspace
from sandbox_engine.ports.vmm import MachineRef


class VmRow(Struct, frozen=True, kw_only=True):
    """A VM that may exist.  `ref` is None between the intent to launch and its success."""

    name: str
    template: str
    directory: str
    ref: MachineRef | None


class RequestRow(Struct, frozen=True, kw_only=True):
    """A creating call that was answered, for replaying the answer."""

    fingerprint: str
    answer: str = field(name="sandbox_id")
    """What the call names its answer by: of most a sandbox's id."""


class Journal(Protocol):
    """The durable record of what exists on this host."""

    def next_number(self) -> int:
        """A sandbox number never given out before (uint32)."""

    def vm_intended(self, row: VmRow) -> None:
        """About to launch: from now on recovery looks for this VM."""

    def vm_launched(self, name: str, ref: MachineRef) -> None:
        """Launched: its process can be found by `ref`."""

    def vm_gone(self, name: str) -> None:
        """Destroyed, with its directory: forget it."""

    def vms(self) -> list[VmRow]:
        """Every VM that may exist."""

    def sandbox_put(self, *sandboxes: Sandbox) -> None:
        """Insert or replace sandboxes, all of them or none."""

    def sandbox_gone(self, sandbox: Sandbox) -> None:
        """Forget a sandbox and its VM in one transaction."""

    def sandboxes(self) -> list[Sandbox]:
        """Every sandbox on record."""

    def request_put(self, scope: str, key: str, row: RequestRow, expires_at: float) -> None:
        """Remember an answered creating call."""

    def request_find(self, scope: str, key: str, now: float) -> RequestRow | None:
        """The answer given before under this key, unless it expired."""

    def workspace_put(self, workspace: Workspace) -> None:
        """Insert or replace a workspace."""

    def workspace_gone(self, workspace: Workspace) -> None:
        """Forget a workspace."""

    def workspaces(self) -> list[Workspace]:
        """Every workspace on record."""

    def close(self) -> None:
        """Write everything out."""
