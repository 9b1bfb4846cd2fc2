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


class Shelf(enum.Enum):
    """What the archive did with a sandbox."""

    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    DELETE = "archive_delete"


class Copy(enum.Enum):
    """What became of a copied state."""

    FORK = "fork"
    CHECKPOINT = "checkpoint"
    PROMOTE = "promote"


class Watcher(Protocol):
    """Is called in the very step that changed the record, after the journal has it.

    Must not wait and must not raise.
    """

    def created(self, created: Created, took_s: float) -> None:
        """A sandbox was handed out, `took_s` after it was asked for."""

    def ended(self, sandbox: Sandbox, end: End) -> None:
        """A sandbox began to be destroyed; nobody can use it any more."""

    def hibernated(self, sandbox: Sandbox) -> None:
        """A sandbox was saved, and its VM is ending."""

    def woke(self, sandbox: Sandbox, took_s: float) -> None:
        """A hibernated sandbox runs again."""

    def shelved(self, sandbox: Sandbox, shelf: Shelf) -> None:
        """A sandbox went into the archive, or left it, or is deleted from it."""

    def restarted(self, sandbox: Sandbox) -> None:
        """A failed sandbox runs again, from its disk."""

    def copied(self, sandbox: Sandbox, copy: Copy, what: str, children: int = 0) -> None:
        """A sandbox's state became something else: `what` names it, `children` counts forks."""

    def vm_exited(self, sandbox: Sandbox) -> None:
        """A sandbox's VM died by itself; `sandbox.failure` says how."""

    def gave_up(self, sandbox: Sandbox) -> None:
        """A sandbox whose VM died is not started again by itself; `sandbox.failure` says why."""
