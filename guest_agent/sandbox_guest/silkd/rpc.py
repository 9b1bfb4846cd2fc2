"""One RPC in flight: its request, its input, its replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from sandbox_guest.agent import Agent
from sandbox_guest.framing import Control, FrameKind, control_text
from sandbox_guest.stream import Stream
from sandbox_guest.upload import INPUT_OPS, InputCut, op_of


class Conversation(Protocol):
    """What an RPC needs of the stream's sequence of RPCs."""

    agent: Agent
    stream: Stream

    def finished(self) -> None:
        """The RPC sent its terminal frame: serve the next."""


class Rpc:
    """One request and what belongs to it."""

    def __init__(self, conversation: Conversation, request: Control) -> None:
        self._conversation = conversation
        self.request = request
        self.agent = conversation.agent
        self.stream = conversation.stream

    # -- replies -----------------------------------------------------------------

    def send(self, message: Control) -> None:
        """Send a frame that is not the last."""
        self.stream.send_encoded(control_text(message))

    async def send_data(self, data: bytes) -> None:
        """Send bulk, waiting for room.  Raises `StreamGone`."""
        await self.stream.drain()
        self.stream.send_bulk(FrameKind.DATA, data)

    def finish(self, message: Control) -> None:
        """Send the terminal frame; the next RPC may begin before this returns."""
        self.stream.listen(None)
        self.stream.on_gone = self.stream.on_room = None
        self.stream.send_encoded(control_text(message))
        self._conversation.finished()

    # -- input -------------------------------------------------------------------

    async def data(self) -> AsyncIterator[bytes]:
        """The bulk of this RPC up to `data_end`.  Raises `InputCut` and `StreamGone`."""
        while (message := await self.stream.receive()) is not None:
            kind, body = message
            if kind == FrameKind.DATA:
                yield body
            elif kind == FrameKind.CONTROL:
                op = op_of(body)
                if op == "data_end":
                    return
                if op not in INPUT_OPS:
                    self.stream.unread(message)
                    break
        raise InputCut("the data ended without data_end")

    def listen(
        self,
        bulk: Callable[[int, bytes], None],
        ended: Callable[[], None],
        *,
        end_op: str = "stdin_close",
    ) -> None:
        """Give the input to `bulk(kind, data)`, which credits it by `stream.grant()`.

        `ended` is called once: for `end_op`, a new request, or the end of the stream.
        """
        Listener(self.stream, bulk, ended, end_op)

    async def input_ended(self) -> None:
        """Wait for the end of the input of an RPC that takes none."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def drop(_: int, data: bytes) -> None:
            self.stream.grant(len(data))

        def ended() -> None:
            if not done.done():
                done.set_result(None)

        self.listen(drop, ended, end_op="data_end")
        await done


class Listener:
    """Sorts what arrives during an RPC."""

    def __init__(
        self,
        stream: Stream,
        bulk: Callable[[int, bytes], None],
        ended: Callable[[], None],
        end_op: str,
    ) -> None:
        self._stream, self._bulk, self._ended, self._end_op = stream, bulk, ended, end_op
        stream.listen(self._message)

    def _message(self, kind: int, body: bytes) -> None:
        if kind == 0:
            self._end()
        elif kind != FrameKind.CONTROL:
            self._bulk(kind, body)
        elif (op := op_of(body)) == self._end_op:
            self._end()
        elif op not in INPUT_OPS:
            self._stream.listen(None)
            self._stream.unread((kind, body))
            self._end()

    def _end(self) -> None:
        ended, self._ended = self._ended, lambda: None
        ended()
