"""How long a sandbox has been left alone: what a sweep for idle ones goes by.

A relay, a buffered exec or another open use holds the clock; it starts again when the
last one ends.  A passive use (an operator's read) holds it too, so that nothing is put
to sleep under it, but is not taken for activity: the clock goes on where it was.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from sandbox_engine.ports.clock import Clock


class IdleClock:
    """One sandbox's."""

    __slots__ = ("_clock", "_since", "holds")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.now()
        self.holds = 0

    def touch(self) -> None:
        """Somebody did something just now."""
        self._since = self._clock.now()

    def idle_s(self) -> float:
        """How long nobody did anything; 0 while anybody holds it."""
        return 0.0 if self.holds else max(0.0, self._clock.now() - self._since)

    def hold(self, *, passive: bool = False) -> Hold:
        """Keep it from counting until the hold is closed."""
        return Hold(self, passive=passive)


class Hold:
    """One use of a sandbox; a context manager, or `close()` it."""

    __slots__ = ("_idle", "_passive")

    def __init__(self, idle: IdleClock, *, passive: bool) -> None:
        self._idle: IdleClock | None = idle
        self._passive = passive
        idle.holds += 1
        if not passive:
            idle.touch()

    def close(self) -> None:
        """The use ended.  Idempotent."""
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.holds -= 1
            if not self._passive:
                idle.touch()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
