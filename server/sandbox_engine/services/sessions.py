"""Sessions: what holds sandboxes without a lease, a frame connection or an attach stream."""

from __future__ import annotations

import itertools
import os

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.services.sandboxes import Sandboxes


class Sessions:
    """Opens sessions and ends what they held."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes
        self._open: set[str] = set()
        self._numbers = itertools.count(1)

    def open(self) -> str:
        """A new session's name; unguessable, so that another caller cannot create under it."""
        session = f"se_{next(self._numbers)}_{os.urandom(8).hex()}"
        self._open.add(session)
        return session

    def check(self, session: str) -> None:
        """Raise `InvalidArgument` where no such session is open."""
        if session not in self._open:
            raise InvalidArgument("attach_session", "no such session; open one with Attach")

    async def close(self, session: str) -> None:
        """The connection or stream ended: destroy what it held.  Idempotent."""
        self._open.discard(session)
        await self._sandboxes.end_session(session)
