"""What becomes of claims that are left alone, and of those whose lease ends.

idle -> hibernated -> archived -> deleted: each step after its own time, none where that is
0.  A lease that ends deletes, or archives where the claim, or its pool, says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from sandbox_engine.errors import EngineError
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.idle_rule import IdleRule
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import ARCHIVE, Sandbox
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.services.hibernation import Hibernation
from sandbox_engine.services.live import Live
from sandbox_engine.services.registry import unsaved
from sandbox_engine.services.sandboxes import Sandboxes

SWEEP_S = 1.0
_log = structlog.get_logger(__name__)


class Idling:
    """Follows the rule of each claim."""

    def __init__(self, sandboxes: Sandboxes, hibernation: Hibernation, rule: IdleRule) -> None:
        self._sandboxes, self._hibernation = sandboxes, hibernation
        self.rule_of: Callable[[Sandbox], IdleRule] = lambda _: rule
        """A claim's rule: its pool's, or the node's."""
        self.runs_out: Callable[[Claim], bool] = lambda _: False
        """Whether a claim may only run to its end: its tenant was removed."""

    def sweep(self) -> None:
        """Begin what is due."""
        for live in self._sandboxes.all_live():
            if live.sandbox.deadline is None:
                continue  # its session decides
            if unsaved(live.sandbox):
                continue  # which cannot be saved
            rule, idle_s = self.rule_of(live.sandbox), live.idle.idle_s()
            state = live.sandbox.state
            if state is State.RUNNING and 0 < rule.hibernate_s <= idle_s:
                spawn(self._hibernate(live), name=f"idle {live.sandbox.id}")
            elif state is State.HIBERNATED and self.archives(live) and 0 < rule.archive_s <= idle_s:
                spawn(self.shelve(live), name=f"archive {live.sandbox.id}")

    async def run(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            self.sweep()
            await asyncio.sleep(SWEEP_S)

    def archives(self, live: Live) -> bool:
        """Whether the end of its lease is the archive and not the end."""
        sandbox = live.sandbox
        if sandbox.deadline is None or unsaved(sandbox):
            return False
        if sandbox.claim is not None and self.runs_out(sandbox.claim):
            return False
        if sandbox.state in (State.ARCHIVED, State.FAILED, State.BOOTING):
            return False
        return sandbox.on_expire == ARCHIVE or self.rule_of(sandbox).archive_s > 0

    async def shelve(self, live: Live) -> bool:
        """Archive one; whether that was done."""
        try:
            await self._hibernation.archive(live, self.rule_of(live.sandbox).delete_s)
        except EngineError as error:
            _log.warning("not archived", sandbox=live.sandbox.id, error=str(error))
            return False
        return True

    async def _hibernate(self, live: Live) -> None:
        try:
            await self._hibernation.hibernate_idle(live)
        except EngineError as error:
            _log.warning("not hibernated", sandbox=live.sandbox.id, error=str(error))
