"""Points in a fake at which a test holds it, fails it, or sees that it came by."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

Unless = Callable[[Callable[[], None]], None]
"""Registers what is to be called when holding makes no sense any more."""


class Hold:
    """Whoever reaches the step stands still until `release()`."""

    def __init__(self) -> None:
        self.waiting = 0
        self.most = 0
        """The most that ever stood here at once."""
        self._arrived = asyncio.Event()
        self._standing: set[asyncio.Future[None]] | None = set()

    async def arrived(self, count: int = 1) -> None:
        """Wait until `count` stand here."""
        while self.waiting < count:
            self._arrived.clear()
            await self._arrived.wait()

    def release(self) -> None:
        """Let everybody go on, now and later."""
        standing, self._standing = self._standing or set(), None
        for future in standing:
            _wake(future)

    async def stand(self, unless: Unless) -> None:
        """Called by the fake."""
        if self._standing is None:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        unless(lambda: _wake(future))
        self._standing.add(future)
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        self._arrived.set()
        try:
            await future
        finally:
            self.waiting -= 1


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class Steps:
    """The steps of one fake, by name."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """How often each was reached."""
        self._holds: dict[str, Hold] = {}
        self._errors: dict[str, Callable[[], Exception]] = {}
        self._left: dict[str, int] = {}

    def hold(self, step: str) -> Hold:
        """Hold `step` from now on."""
        self._holds[step] = Hold()
        return self._holds[step]

    def fail(self, step: str, error: Callable[[], Exception], times: int = 1 << 30) -> None:
        """Fail `step`, after its hold if it has one, for the next `times`."""
        self._errors[step], self._left[step] = error, times

    def mend(self, step: str) -> None:
        """Neither hold nor fail `step` any more."""
        self._errors.pop(step, None)
        if (hold := self._holds.pop(step, None)) is not None:
            hold.release()

    def release_all(self) -> None:
        """Let go whatever is held."""
        for step in list(self._holds):
            self.mend(step)

    async def reach(self, step: str, unless: Unless = lambda _: None) -> None:
        """Called by the fake."""
        self.counts[step] += 1
        if (hold := self._holds.get(step)) is not None:
            await hold.stand(unless)
        self.strike(step)

    def strike(self, step: str) -> None:
        """Called by the fake where it cannot wait: only fail."""
        error = self._errors.get(step)
        if error is not None and self._left[step] > 0:
            self._left[step] -= 1
            raise error()
