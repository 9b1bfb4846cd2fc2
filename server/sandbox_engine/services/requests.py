"""Creating calls with a request id run once (AIP-155): joined in flight, replayed after.

The same id with the same request answers the first result, also after a restart; the
same id with another request is `RequestConflict`.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from sandbox_engine.errors import InvalidArgument, RequestConflict
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.journal import Journal, RequestRow

RETENTION_S = 24 * 3600
MAX_ID = 128


class Requests:
    """Remembers creating calls by caller and request id."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock
        self._running: dict[tuple[str, str], tuple[str, asyncio.Future[RequestRow]]] = {}

    async def once(
        self,
        scope: str,
        key: str,
        request: object,
        work: Callable[[], Awaitable[str]],
    ) -> str:
        """Run `work` unless it ran before; what it answered either way.

        Raises `InvalidArgument` for what is no id, `RequestConflict`, and what `work` does.
        """
        if len(key) > MAX_ID or not key.isprintable():
            raise InvalidArgument("request_id", f"must be at most {MAX_ID} printable characters")
        fingerprint = hashlib.sha256(msgspec.json.encode(request, order="sorted")).hexdigest()
        row = self._journal.request_find(scope, key, self._clock.now())
        if row is None and (running := self._running.get((scope, key))) is not None:
            _check(running[0], fingerprint)
            row = await asyncio.shield(running[1])
        if row is not None:
            _check(row.fingerprint, fingerprint)
            return row.answer
        return await self._run(scope, key, fingerprint, work)

    async def _run(
        self,
        scope: str,
        key: str,
        fingerprint: str,
        work: Callable[[], Awaitable[str]],
    ) -> str:
        future: asyncio.Future[RequestRow] = asyncio.get_running_loop().create_future()
        self._running[scope, key] = fingerprint, future
        try:
            answer = await work()
        except BaseException as error:
            future.set_exception(
                error
                if isinstance(error, Exception)
                else RequestConflict("the call this one joined was cancelled; try again")
            )
            future.exception()  # retrieved: nobody may have joined
            raise
        finally:
            del self._running[scope, key]
        row = RequestRow(fingerprint=fingerprint, answer=answer)
        self._journal.request_put(scope, key, row, self._clock.now() + RETENTION_S)
        future.set_result(row)
        return answer


def _check(had: str, given: str) -> None:
    if had != given:
        raise RequestConflict("this request id was used for another request")
