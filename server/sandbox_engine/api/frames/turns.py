"""Which request of a connection may start (seed "Request correlation").

Pure.  A request with an id starts at once.  One without starts when every earlier one
without has been answered and every create that was in flight when it arrived has ended,
so replies without ids come in request order and cannot overtake a create.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Turn(Generic[_T]):
    """One request's place."""

    __slots__ = ("create", "item", "number", "ordered")

    def __init__(self, item: _T, number: int, *, ordered: bool, create: bool) -> None:
        self.item, self.number = item, number
        self.ordered, self.create = ordered, create


class Turns(Generic[_T]):
    """The places of one connection."""

    __slots__ = ("_arrived", "_busy", "_creates", "_queue")

    def __init__(self) -> None:
        self._arrived = 0
        self._creates: set[int] = set()  # running, with an id
        self._queue: deque[Turn[_T]] = deque()
        self._busy = False  # one without an id runs

    def arrive(self, item: _T, *, ordered: bool, create: bool) -> Turn[_T] | None:
        """A request came: its turn if it may start now, else None and it waits here."""
        self._arrived += 1
        turn = Turn(item, self._arrived, ordered=ordered, create=create)
        if not ordered:
            if create:
                self._creates.add(turn.number)
            return turn
        self._queue.append(turn)
        return self._next()

    def leave(self, turn: Turn[_T]) -> Turn[_T] | None:
        """A request was answered: the turn that may start because of it, if any."""
        if turn.ordered:
            self._busy = False
        elif turn.create:
            self._creates.discard(turn.number)
        return self._next()

    @property
    def waiting(self) -> int:
        """Requests that may not start yet."""
        return len(self._queue)

    def _next(self) -> Turn[_T] | None:
        if self._busy or not self._queue:
            return None
        if self._creates and min(self._creates) < self._queue[0].number:
            return None
        self._busy = True
        return self._queue.popleft()
