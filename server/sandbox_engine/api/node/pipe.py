"""Pumps a relay: the client's socket on one side, the guest on the other.

Back-pressure both ways: the socket is not read while the guest has no room, and nothing
is asked of the guest while the client does not read.  Whichever side ends first, the
other is told, and at the end both are gone and the relay's hold with them.
"""

from __future__ import annotations

import asyncio
from collections import deque

import structlog

from sandbox_engine.errors import EngineError
from sandbox_engine.observe.tasks import run_eagerly, spawn
from sandbox_engine.services.relay import Relay, RelayEnded

INBOX = 1 << 20
"""Bytes from the client that wait for the guest, beyond which the socket is not read."""
OUTBOX = 512 << 10
"""Bytes to the client that wait for the socket, beyond which the guest is not read."""
SILENCE_S = 0.25
"""A relay of calls whose client has ended is over once the guest has said nothing for this
long: a client that went away and one that only ended its half look the same, and what the
first one started must die with it."""
FLUSH_S = 30.0
"""How long a client may take to read the last bytes of a relay that is over."""
_log = structlog.get_logger(__name__)


class Pipe:
    """One relay.  Fed by the connection's protocol; ends by closing its transport."""

    __slots__ = (
        "_closed", "_congested", "_draining", "_finishing", "_inbox", "_paused", "_pull", "_push",
        "_pushing", "_relay", "_silence", "_transport", "_waiting",
    )  # fmt: skip

    def __init__(self, transport: asyncio.Transport, relay: Relay) -> None:
        self._transport, self._relay = transport, relay
        self._inbox: deque[bytes] = deque()
        self._waiting = 0  # bytes in the inbox
        self._pushing = self._finishing = self._closed = False
        self._congested = self._paused = False
        self._draining: asyncio.Future[None] | None = None
        self._silence: asyncio.TimerHandle | None = None
        self._push: asyncio.Task[None] | None = None
        transport.set_write_buffer_limits(OUTBOX)
        self._pull: asyncio.Task[None] | None = spawn(self._from_guest(), name="relay")

    # -- from the client ---------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """The client wrote this."""
        if self._closed or not data:
            return
        self._inbox.append(data)
        self._waiting += len(data)
        if self._pushing:
            if self._waiting > INBOX and not self._paused:
                self._paused = True
                self._transport.pause_reading()
            return
        self._begin_push()

    def finish(self) -> None:
        """The client will write no more."""
        self._finishing = True
        if not self._pushing and not self._closed:
            self._begin_push()

    def _begin_push(self) -> None:
        self._pushing = True
        self._push = run_eagerly(self._to_guest(), self._pushed, name="relay in")

    async def _to_guest(self) -> None:
        inbox = self._inbox
        while inbox:
            data = inbox.popleft()
            await self._relay.send(data)
            self._waiting -= len(data)
            if self._paused and self._waiting <= INBOX:
                self._paused = False
                self._transport.resume_reading()
        if self._finishing:
            await self._relay.finish()
            if not self._relay.halves:
                self._wait_for_last_words()

    def _wait_for_last_words(self) -> None:
        """The client ended: so does the relay, as soon as the guest has fallen silent."""
        if self._silence is not None:
            self._silence.cancel()
        self._silence = asyncio.get_running_loop().call_later(SILENCE_S, self.close)

    def _pushed(self, result: object) -> None:
        self._pushing = False
        self._push = None
        if isinstance(result, RelayEnded):
            self._say_last(result)
            self.close()
        elif isinstance(result, BaseException):
            self._broke(result)
            self.close()

    # -- from the guest ----------------------------------------------------------

    async def _from_guest(self) -> None:
        try:
            while (pieces := await self._relay.receive()) is not None:
                self._transport.writelines(pieces)
                if self._silence is not None:
                    self._wait_for_last_words()
                if self._congested:
                    await self._drained()
            if self._transport.can_write_eof():
                self._transport.write_eof()
            await self._relay.ended()
        except RelayEnded as end:
            self._say_last(end)
        except Exception as error:  # noqa: BLE001 - of whatever kind, it ends this relay alone
            self._broke(error)
        finally:
            self._pull = None
            self.close()

    async def _drained(self) -> None:
        self._draining = asyncio.get_running_loop().create_future()
        await self._draining

    # -- from the transport ------------------------------------------------------

    def pause(self) -> None:
        """The client does not read."""
        self._congested = True

    def resume(self) -> None:
        """It reads again."""
        self._congested = False
        if self._draining is not None and not self._draining.done():
            self._draining.set_result(None)

    # -- end ---------------------------------------------------------------------

    def close(self) -> None:
        """End both sides; what was written already still goes out.  Idempotent."""
        if self._closed:
            return
        self._closed = True
        if self._silence is not None:
            self._silence.cancel()
        self._relay.close()
        self._inbox.clear()
        for task in (self._push, self._pull):
            if task is not None:
                task.cancel()
        self._transport.close()
        asyncio.get_running_loop().call_later(FLUSH_S, self._transport.abort)

    def _say_last(self, end: RelayEnded) -> None:
        if not self._closed:
            self._transport.write(end.last_words)

    def _broke(self, error: BaseException) -> None:
        if isinstance(error, EngineError):
            _log.info("a relay broke", reason=str(error))
        elif not isinstance(error, asyncio.CancelledError):
            _log.error("a relay broke unexpectedly", exc_info=error)
