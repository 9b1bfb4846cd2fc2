"""The wall clock, as a port: leases are tested without waiting for them."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Unix time."""

    def now(self) -> float:
        """Seconds since the epoch."""


class SystemClock:
    """The host's clock."""

    def now(self) -> float:
        """See `Clock`."""
        return time.time()
