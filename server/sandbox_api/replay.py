"""Answers kept under an `Idempotency-Key`: the first is recorded, the others read along.

An answer is a status, headers and pieces of a body, read while it is still being made; so a
second request with the same key never runs anything, whenever it comes.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable

from sandbox_api.errors import ApiError

KEEP_S = 600.0
MAX_ENTRIES = 128
MAX_BYTES = 64 << 20
MAX_KEY = 255


class Answer:
    """An HTTP answer in the making."""

    def __init__(self) -> None:
        self.status = 0
        """0 until it is known."""
        self.headers: dict[str, str] = {}
        self.size = 0
        self.done = False
        self._pieces: list[bytes] = []
        self._changed = asyncio.Event()

    def begin(self, status: int, headers: dict[str, str]) -> None:
        """The head is known."""
        self.status, self.headers = status, headers
        self._tell()

    def write(self, piece: bytes) -> None:
        """More of the body."""
        self._pieces.append(piece)
        self.size += len(piece)
        self._tell()

    def end(self) -> None:
        """The body is whole."""
        self.done = True
        self._tell()

    async def begun(self) -> None:
        """Wait for the head."""
        while not self.status:
            await self._changed.wait()

    async def read(self, keepalive_s: float) -> AsyncIterator[bytes]:
        """The body from its beginning; an empty piece after so many seconds of silence."""
        at = 0
        while True:
            while at < len(self._pieces):
                yield self._pieces[at]
                at += 1
            if self.done:
                return
            try:
                async with asyncio.timeout(keepalive_s):
                    await self._changed.wait()
            except TimeoutError:
                yield b""

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class _Kept:
    __slots__ = ("answer", "asked", "ends", "owner")

    def __init__(self, owner: str, asked: bytes, answer: Answer) -> None:
        self.owner, self.asked, self.answer = owner, asked, answer
        self.ends = float("inf")


class Replays:
    """The answers of the last ten minutes, 128 of them at most.

    Where one must go it is the oldest of the principal who has most, so nobody can push
    another's out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str, str], _Kept] = OrderedDict()

    def find(self, owner: str, session: str, key: str, request: bytes) -> tuple[Answer, bool]:
        """The answer under this key, and whether the caller is the one who makes it.

        Raises 400 for a bad key, 409 where the key came with another request.
        """
        if not (1 <= len(key) <= MAX_KEY and key.isascii() and key.isprintable()):
            raise ApiError.invalid(f"Idempotency-Key: must be 1-{MAX_KEY} printable characters")
        self._expire()
        asked = hashlib.sha256(request).digest()
        name = owner, session, key
        kept = self._kept.get(name)
        if kept is None:
            kept = self._kept[name] = _Kept(owner, asked, Answer())
            self._trim()
            return kept.answer, True
        if kept.asked != asked:
            message = "Idempotency-Key: was given with another request"
            raise ApiError(409, "idempotency_conflict", message)
        return kept.answer, False

    def finished(self, owner: str, session: str, key: str, *, keep: bool) -> None:
        """The answer is whole; one that is not to be replayed is dropped."""
        name = owner, session, key
        if keep and name in self._kept:
            self._kept[name].ends = self._clock() + KEEP_S
            self._trim()
        else:
            self._kept.pop(name, None)

    def _expire(self) -> None:
        now = self._clock()
        for name in [name for name, kept in self._kept.items() if kept.ends <= now]:
            del self._kept[name]

    def _trim(self) -> None:
        while self._too_much():
            whole = [(name, kept) for name, kept in self._kept.items() if kept.answer.done]
            if not whole:
                return
            has = Counter(kept.owner for _, kept in whole)
            most = max(has.values())
            oldest = next(name for name, kept in whole if has[kept.owner] == most)
            del self._kept[oldest]

    def _too_much(self) -> bool:
        size = sum(kept.answer.size for kept in self._kept.values())
        return len(self._kept) > MAX_ENTRIES or size > MAX_BYTES
