"""A wall clock that a test sets."""

from __future__ import annotations


class FakeClock:
    """`ports.clock.Clock`."""

    def __init__(self, at: float = 1_790_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        return self.at

    def skip(self, seconds: float) -> None:
        """Let time pass."""
        self.at += seconds
