"""Sandboxes whose VM died, booted again from their own disks: files are kept, memory is lost.

Nobody has to ask for it, but only so often: a budget a sandbox, which an explicit wake gives
back.  Then it stays failed, and says that its budget is spent.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

import structlog

from sandbox_engine.errors import EngineError
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.services.hibernation import Hibernation
from sandbox_engine.services.live import Live
from sandbox_engine.services.pool import CreationBudget
from sandbox_engine.services.registry import unsaved
from sandbox_engine.services.sandboxes import Sandboxes

RETRY_S = 1.0
"""Before the second try where one failed; twice as long before each further one."""
_log = structlog.get_logger(__name__)


class Restarts:
    """What `Registry` tells of every VM that died."""

    def __init__(
        self, sandboxes: Sandboxes, hibernation: Hibernation, budget: CreationBudget, *, limit: int
    ) -> None:
        self._sandboxes, self._hibernation, self._budget = sandboxes, hibernation, budget
        self.limit = limit
        """Boots that nobody asked for, a sandbox; 0 is none."""
        self._stopping = asyncio.Event()
        sandboxes.on_failed = self.begin

    def start(self) -> None:
        """Begin with what failed before this engine, or while there was none."""
        for live in self._sandboxes.all_live():
            if live.sandbox.state is State.FAILED and self._refusal(live.sandbox) is None:
                self.begin(live)

    def stop(self) -> None:
        """Begin no more; a boot under way ends as it may."""
        self._stopping.set()

    def begin(self, live: Live) -> None:
        """Boot one that failed, or say why it is not."""
        if self._stopping.is_set():
            return  # the next engine does it
        if self._refusal(live.sandbox) is None:
            spawn(self._restart(live), name=f"restart {live.sandbox.id}")
        else:
            self._give_up(live)

    def _refusal(self, sandbox: Sandbox) -> str | None:
        """What its holder is told of why it is not booted unasked; None where it is."""
        if sandbox.deadline is None:
            return ""  # its session sees it, and memory is what sessions are about
        if what := unsaved(sandbox):
            return f"one with {what} is not booted again"
        if not self.limit:
            return "wake it to boot it from its disk"
        if sandbox.restarts_spent >= self.limit:
            return f"its budget of {self.limit} restarts is spent: wake it to boot it once more"
        return None

    async def _restart(self, live: Live) -> None:
        sandbox, delay_s = live.sandbox, RETRY_S
        await self._sandboxes.joined(live)  # the step that its VM died in
        while sandbox.state is State.FAILED:
            if self._refusal(sandbox) is not None:
                self._give_up(live)
                return
            sandbox.restarts_spent += 1
            try:
                await self._hibernation.boot(
                    live, restarts_spent=sandbox.restarts_spent, slot=self._budget
                )
            except EngineError as error:
                _log.warning("not restarted", sandbox=sandbox.id, error=str(error))
            else:
                _log.info("restarted", sandbox=sandbox.id, spent=sandbox.restarts_spent)
                return
            if self._refusal(sandbox) is None:
                await self._pause(delay_s)
                delay_s *= 2
            if self._stopping.is_set():
                return

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()

    def _give_up(self, live: Live) -> None:
        sandbox = live.sandbox
        if why := self._refusal(sandbox):
            sandbox.failure = f"{sandbox.failure}; {why}"
            with suppress(EngineError):  # on a full disk the next start says it anew
                self._sandboxes.keep(sandbox)
        self._sandboxes.gave_up(live)
