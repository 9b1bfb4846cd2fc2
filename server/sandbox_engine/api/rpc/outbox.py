"""What a live command said and was not sent yet: bounded, and merged into fewer messages.

A gRPC message costs more than its bytes.  Whatever arrives while one is being written goes
out as the next one, up to `MERGE_BYTES`, without ever waiting for more to come.
"""

from __future__ import annotations

import asyncio
from collections import deque

from sandbox_engine.model.exec import ExecEvent, Output

MERGE_BYTES = 64 << 10
HOLD_BYTES = 256 << 10
"""What may wait here; then the command's reader waits, and the guest's command with it."""


class Outbox:
    """One writer, one reader, and an end."""

    def __init__(self) -> None:
        self._events: deque[ExecEvent] = deque()
        self._bytes = 0
        self._ended = False
        self._error: Exception | None = None
        self._arrived = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    async def put(self, event: ExecEvent) -> None:
        """Hand in an event; waits while too much is held."""
        await self._room.wait()
        last = self._events[-1] if self._events else None
        if isinstance(event, Output):
            self._bytes += len(event.data)
            if self._bytes >= HOLD_BYTES:
                self._room.clear()
            if isinstance(last, Output) and _fit(last, event):
                self._events[-1] = Output(last.stderr, last.data + event.data)
                return
        self._events.append(event)
        self._arrived.set()

    def end(self, error: Exception | None = None) -> None:
        """Nothing more comes.  The first end holds; an error follows what was handed in."""
        if not self._ended:
            self._ended, self._error = True, error
            self._arrived.set()

    async def take(self) -> ExecEvent | None:
        """The next event, None at the end.  Raises the error that ended it."""
        while not self._events:
            if self._error is not None:
                raise self._error
            if self._ended:
                return None
            self._arrived.clear()
            await self._arrived.wait()
        event = self._events.popleft()
        if isinstance(event, Output):
            self._bytes -= len(event.data)
            if self._bytes < HOLD_BYTES:
                self._room.set()
        return event


def _fit(last: Output, event: Output) -> bool:
    together = len(last.data) + len(event.data)
    return last.stderr == event.stderr and together <= MERGE_BYTES
