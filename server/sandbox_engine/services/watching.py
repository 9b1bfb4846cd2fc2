"""Who is told what happens to sandboxes: the usage journal, metrics."""

from __future__ import annotations

import enum
from typing import Protocol

from sandbox_engine.model.sandbox import Created, Sandbox


class End(enum.Enum):
    """Why a sandbox was destroyed."""

    RELEASE = "release"
    """Its owner, or an operator, said so."""
    REAP = "reap"
    """Its lease or its session ended."""


class Watcher(Protocol):
    """Is called in the very step that changed the record, after the journal has it.

    Must not wait and must not raise.
    """

    def created(self, created: Created, took_s: float) -> None:
        """A sandbox was handed out, `took_s` after it was asked for."""

    def ended(self, sandbox: Sandbox, end: End) -> None:
        """A sandbox began to be destroyed; nobody can use it any more."""

    def vm_exited(self, sandbox: Sandbox) -> None:
        """A sandbox's VM died by itself; `sandbox.failure` says how."""
