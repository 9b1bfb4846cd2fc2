"""The reaper: destroys a sandbox when its lease ends, whatever else goes on."""

from __future__ import annotations

import asyncio

import structlog

from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.services.idling import Idling
from sandbox_engine.services.live import Live
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.watching import End

RETRY_S = 1.0
"""Between two tries to archive one that cannot be now."""
LONGEST_SLEEP_S = 30.0
"""The wall clock may be stepped; a lease is looked at again at least this often."""
_log = structlog.get_logger(__name__)


class Reaper:
    """Sleeps until the nearest deadline, then ends what is due."""

    def __init__(self, sandboxes: Sandboxes, clock: Clock) -> None:
        self._sandboxes, self._clock = sandboxes, clock
        self._changed = asyncio.Event()
        sandboxes.on_lease = self._changed.set
        self.archiver: Idling | None = None
        """Archives claims whose lease ends, where they say so; none destroys them."""
        self._under_way: set[str] = set()

    async def run(self) -> None:
        """Reap until cancelled."""
        while True:
            self._changed.clear()
            now = self._clock.now()
            for live in self._sandboxes.expired(now):
                if live.sandbox.id in self._under_way:
                    continue
                spawn(self._reap(live), name=f"reap {live.sandbox.id}")
            nearest = min(self._sandboxes.deadlines(), default=now + LONGEST_SLEEP_S)
            if self._under_way:
                nearest = max(nearest, now + RETRY_S)
            try:
                async with asyncio.timeout(min(max(nearest - now, 0.05), LONGEST_SLEEP_S)):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def _reap(self, live: Live) -> None:
        deadline = live.sandbox.deadline
        if deadline is None or deadline > self._clock.now():
            return  # renewed in the same turn of the loop: the renewal won
        if self.archiver is not None and self.archiver.archives(live):
            await self._archive(self.archiver, live)
            return
        _log.info("lease ended", sandbox=live.sandbox.id)
        await self._sandboxes.end(live, End.REAP)

    async def _archive(self, archiver: Idling, live: Live) -> None:
        """What its owner wants kept is not destroyed because it cannot be saved just now."""
        self._under_way.add(live.sandbox.id)
        try:
            await self._sandboxes.joined(live)
            if live.sandbox.deadline is None or live.sandbox.deadline > self._clock.now():
                return  # renewed, or archived, meanwhile
            if await archiver.shelve(live):
                _log.info("lease ended: archived", sandbox=live.sandbox.id)
            else:
                await asyncio.sleep(RETRY_S)
        finally:
            self._under_way.discard(live.sandbox.id)
            self._changed.set()
