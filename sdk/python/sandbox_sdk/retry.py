"""When a call is made again.

Pure: the clock is a parameter.  The engine's own word counts: where an error carries a time
after which trying again helps, that time is waited, however long a back-off would be; where
it carries none, only a lost connection is tried again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sandbox_sdk.errors import ConnectionLost, SandboxError, Timeout


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often and how long; only calls that are safe to repeat are repeated."""

    attempts: int = 4
    """Calls in all; 1 never repeats."""
    first_delay_s: float = 0.1
    """Wait after the first lost connection; doubled each time, and up to a half is random."""
    longest_delay_s: float = 5.0
    """Longest back-off.  An engine that asks for a longer wait is not asked again."""


@dataclass
class Attempts:
    """The attempts of one call, all of them within its `timeout_s`."""

    policy: RetryPolicy
    timeout_s: float | None
    clock: Callable[[], float] = time.monotonic
    draw: Callable[[], float] = random.random
    _made: int = 0
    _ends: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.timeout_s is not None:
            self._ends = self.clock() + self.timeout_s

    def remaining(self) -> float | None:
        """Seconds the next attempt has; None for no end.  Raises `Timeout` at the end."""
        self._made += 1
        if self._ends is None:
            return None
        left = self._ends - self.clock()
        if left <= 0:
            raise Timeout("the call's time is over")
        return left

    def delay_after(self, error: SandboxError) -> float | None:
        """Seconds to wait before the next attempt; None where there is to be none."""
        delay = self._wanted(error)
        if delay is None or self._made >= self.policy.attempts:
            return None
        if self._ends is not None and self.clock() + delay >= self._ends:
            return None
        return delay

    def _wanted(self, error: SandboxError) -> float | None:
        longest = self.policy.longest_delay_s
        if error.retry_after_s is not None:
            return error.retry_after_s if error.retry_after_s <= longest else None
        if not isinstance(error, ConnectionLost):
            return None
        backoff = min(longest, self.policy.first_delay_s * 2.0 ** (self._made - 1))
        return backoff * (1 - self.draw() / 2)
