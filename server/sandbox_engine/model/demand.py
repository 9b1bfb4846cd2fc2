"""How many VMs of a pool should wait, by how fast they are asked for lately.  Pure.

A pool with a ceiling above its floor keeps as many warm VMs as were taken within one
provision lead (the time a new one needs): that many are gone before the first is
replaced.  The want decays to the floor over a minute, and only then are VMs beyond the
floor given up, so that a pool does not destroy what the next burst takes.
"""

from __future__ import annotations

import math
from collections import deque

DECAY_S = 60.0
FIRST_LEAD_S = 1.0
"""Assumed until a VM has been brought up."""
_LEAD_WEIGHT = 0.2  # of the newest measurement


class Demand:
    """The takes of one pool.  Times are seconds on any clock that does not step back."""

    def __init__(self) -> None:
        self._takes: deque[float] = deque(maxlen=1024)
        self._lead_s = FIRST_LEAD_S
        self._measured = False
        self._peak = 0
        self._peak_at = -math.inf

    @property
    def lead_s(self) -> float:
        """How long a new VM needs, smoothed."""
        return self._lead_s

    def brought_up(self, took_s: float) -> None:
        """A VM was brought up in `took_s`."""
        weight = _LEAD_WEIGHT if self._measured else 1.0
        self._lead_s += (took_s - self._lead_s) * weight
        self._measured = True

    def taken(self, now: float) -> None:
        """A VM was asked for."""
        self._takes.append(now)
        while self._takes[0] < now - self._lead_s:
            self._takes.popleft()
        if len(self._takes) >= self._wanted(now):
            self._peak, self._peak_at = len(self._takes), now

    def target(self, now: float, floor: int, ceiling: int) -> int:
        """How many should wait now."""
        return max(floor, min(ceiling, math.ceil(self._wanted(now))))

    def spent(self, now: float) -> bool:
        """Whether the last peak has decayed whole."""
        return now - self._peak_at >= DECAY_S

    def _wanted(self, now: float) -> float:
        return self._peak * max(0.0, 1 - (now - self._peak_at) / DECAY_S)
