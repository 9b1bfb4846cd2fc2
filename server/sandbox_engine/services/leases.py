"""The reaper: destroys a sandbox when its lease ends, whatever else goes on."""

from __future__ import annotations

import asyncio

import structlog

from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.services.live import Live
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.watching import End

LONGEST_SLEEP_S = 30.0
"""The wall clock may be stepped; a lease is looked at again at least this often."""
_log = structlog.get_logger(__name__)


class Reaper:
    """Sleeps until the nearest deadline, then ends what is due."""

    def __init__(self, sandboxes: Sandboxes, clock: Clock) -> None:
        self._sandboxes, self._clock = sandboxes, clock
        self._changed = asyncio.Event()
        sandboxes.on_lease = self._changed.set

    async def run(self) -> None:
        """Reap until cancelled."""
        while True:
            self._changed.clear()
            now = self._clock.now()
            for live in self._sandboxes.expired(now):
                spawn(self._reap(live), name=f"reap {live.sandbox.id}")
            nearest = min(self._sandboxes.deadlines(), default=now + LONGEST_SLEEP_S)
            try:
                async with asyncio.timeout(min(max(nearest - now, 0.05), LONGEST_SLEEP_S)):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _reap(self, live: Live) -> None:
        deadline = live.sandbox.deadline
        if deadline is None or deadline > self._clock.now():
            return  # renewed in the same turn of the loop: the renewal won
        _log.info("lease ended", sandbox=live.sandbox.id)
        await self._sandboxes.end(live, End.REAP)
