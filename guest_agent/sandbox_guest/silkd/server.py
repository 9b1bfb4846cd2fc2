"""Serve port 1: RPCs back to back on each stream."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from sandbox_guest.agent import Agent
from sandbox_guest.framing import Control, FrameKind, FramingError, parse_control
from sandbox_guest.silkd import (
    execute,
    files,
    git,
    lsp,
    ports,
    processes,
    pty,
    search,
    sessions,
    trees,
    watch,
)
from sandbox_guest.silkd.errors import INTERNAL, RpcError, as_rpc_error, bad_request, reply
from sandbox_guest.silkd.rpc import Rpc
from sandbox_guest.stream import Stream, StreamGone
from sandbox_guest.tasks import log, spawn
from sandbox_guest.upload import INPUT_OPS, InputCut

VERSION = 1

Answer = Control | Coroutine[Any, Any, Control | None] | None
"""The terminal frame at once, later, or by `Rpc.finish()`."""

OPERATIONS: dict[str, Callable[[Rpc], Answer]] = {
    **processes.OPERATIONS,
    **execute.OPERATIONS,
    **sessions.OPERATIONS,
    **files.OPERATIONS,
    **trees.OPERATIONS,
    **search.OPERATIONS,
    **watch.OPERATIONS,
    **pty.OPERATIONS,
    **ports.OPERATIONS,
    **git.OPERATIONS,
    **lsp.OPERATIONS,
}


class ClientServer:
    """Accepts client streams."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def accept(self, stream: Stream) -> None:
        """Serve the RPCs of `stream`."""
        RpcSequence(self._agent, stream)


class RpcSequence:
    """The RPCs of one stream, each after the one before."""

    def __init__(self, agent: Agent, stream: Stream) -> None:
        self.agent, self.stream = agent, stream
        self._busy = self._looping = False
        stream.on_message = self._next

    def finished(self) -> None:
        """The RPC in flight sent its terminal frame."""
        self._busy = False
        self._next()

    def _next(self) -> None:
        """Begin RPCs while there are requests and none is in flight."""
        if self._looping:  # an RPC finished inside its own beginning
            return
        self._looping = True
        while not self._busy and self.stream.waiting:
            kind, body = self.stream.take()
            if kind == FrameKind.CONTROL:
                self._begin(body)
        self._looping = False
        if not self._busy and self.stream.ended and not self.stream.gone:
            self.stream.finish()

    def _begin(self, body: bytes) -> None:
        try:
            request = parse_control(body)
        except FramingError as error:
            self.stream.send(reply(bad_request(str(error))))
            return
        if request.get("op") in INPUT_OPS:
            return
        self._busy = True
        rpc = Rpc(self, request)
        try:
            answer = _operation(request)(rpc)
        except Exception as error:  # noqa: BLE001 - one RPC's fault must not end the agent
            rpc.finish(_failure(error))
            return
        if isinstance(answer, dict):
            rpc.finish(answer)
        elif answer is not None:
            task = spawn(_later(rpc, answer), name=str(request["op"]))
            self.stream.on_gone = task.cancel


def _operation(request: Control) -> Callable[[Rpc], Answer]:
    if request.get("v", VERSION) != VERSION:
        raise bad_request(f"version {request['v']!r} is not spoken here; {VERSION} is")
    operation = OPERATIONS.get(str(request.get("op")))
    if operation is None:
        raise bad_request(f"no op {request.get('op')!r}")
    return operation


async def _later(rpc: Rpc, answer: Coroutine[Any, Any, Control | None]) -> None:
    try:
        message: Control | None = await answer
    except StreamGone:
        return
    except Exception as error:  # noqa: BLE001 - as in `_begin`
        message = _failure(error)
    if message is not None:
        rpc.finish(message)


def _failure(error: Exception) -> Control:
    if isinstance(error, InputCut):
        return reply(bad_request(str(error)))
    failure = as_rpc_error(error)
    if failure is None:
        log("an RPC failed", error)
        failure = RpcError(INTERNAL, f"{type(error).__name__}: {error}")
    return reply(failure)
