"""Share the one loop: long work on trees gives way every few milliseconds."""

from __future__ import annotations

import asyncio
import time

_SLICE_S = 0.004


class Pace:
    """`await pace()` between steps of long work; most times it returns at once."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = time.monotonic() + _SLICE_S

    async def __call__(self) -> None:
        """Give way if this slice is over."""
        if time.monotonic() >= self._until:
            await asyncio.sleep(0)
            self._until = time.monotonic() + _SLICE_S
