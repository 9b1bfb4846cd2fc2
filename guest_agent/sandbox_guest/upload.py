"""The bulk that follows a request, given away in the turn of the loop it arrives in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sandbox_guest.framing import FrameKind, FramingError, parse_control
from sandbox_guest.stream import Stream

INPUT_OPS = frozenset(("stdin", "stdin_close", "data", "data_end"))
"""Belong to the operation in flight; outside one they are dropped."""


class InputCut(Exception):
    """The input ended before the message that ends it: the stream did, or a new request came."""


async def upload(stream: Stream, take: Callable[[bytes], None]) -> None:
    """Call `take` with every piece of DATA up to `data_end`; it copies what it keeps.

    Raises `InputCut` and what `take` raised.  What comes after that is dropped.
    """
    await _Upload(stream, take).finished


def op_of(body: bytes) -> object:
    """The op of a control message; None for what is no message."""
    try:
        return parse_control(body).get("op")
    except FramingError:
        return None


class _Upload:
    def __init__(self, stream: Stream, take: Callable[[bytes], None]) -> None:
        self._stream, self._take = stream, take
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        stream.listen(self._message)

    def _message(self, kind: int, body: bytes) -> None:
        if kind == FrameKind.CONTROL:
            self._control(body)
        elif kind == 0:
            self._fail(InputCut("the data ended without data_end"))
        else:
            if kind == FrameKind.DATA:
                self._data(body)
            self._stream.grant(len(body))

    def _control(self, body: bytes) -> None:
        op = op_of(body)
        if op == "data_end":
            self._stream.listen(None)
            if not self.finished.done():
                self.finished.set_result(None)
        elif op not in INPUT_OPS:
            self._stream.listen(None)
            self._stream.unread((FrameKind.CONTROL, body))
            self._fail(InputCut("a new request came before data_end"))

    def _data(self, body: bytes) -> None:
        if not self.finished.done():
            try:
                self._take(body)
            except Exception as error:  # noqa: BLE001 - raised where it is awaited
                self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self.finished.done():
            self.finished.set_exception(error)
