"""Serve port 2: one operation a stream."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from sandbox_guest.agent import Agent
from sandbox_guest.framing import Control, FrameKind, FramingError, parse_control
from sandbox_guest.ops import exec as run_command
from sandbox_guest.ops import machine, processes, read, watch, write
from sandbox_guest.ops.errors import OpError, Status, as_op_error, reply
from sandbox_guest.stream import Stream, StreamGone
from sandbox_guest.tasks import log, spawn

MAX_AT_ONCE = 16

Answer = Control | Coroutine[Any, Any, Control | None] | None
"""At once, later, or by the operation itself, which then owns the stream."""
Operation = Callable[[Agent, Stream, Control], Answer]

LIMITED: dict[str, Operation] = {
    "exec": run_command.run,
    "attach_exec": processes.attach,
    "read_file": read.read_file,
    "write_file": write.write_file,
    "list_dir": read.list_dir,
    "stat": read.stat,
    "mkdir": write.mkdir,
    "remove": write.remove,
    "rename": write.rename,
    "watch": watch.watch,
}
"""The Guest RPC and what came after it; at most `MAX_AT_ONCE` run."""

FREE: dict[str, Operation] = {
    "info": machine.info,
    "ping": machine.ping,
    "processes": processes.processes,
    "signal_process": processes.signal_process,
    "sync": machine.sync,
    "clock": machine.clock,
    "configure": machine.configure,
    "metadata": machine.metadata,
    "mount_volumes": machine.mount_volumes,
    "unmount_volumes": machine.unmount_volumes,
}


class EngineServer:
    """Accepts the engine's streams."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._running = 0

    def accept(self, stream: Stream) -> None:
        """Serve the operation that the first message of `stream` names."""
        stream.on_message = lambda: self._begin(stream)

    def _begin(self, stream: Stream) -> None:
        stream.on_message = None
        if not stream.waiting:  # ended before it asked for anything
            stream.finish()
            return
        try:
            answer = self._answer(stream)
        except Exception as error:  # noqa: BLE001 - one operation's fault must not end the agent
            _fail(stream, error)
            return
        if isinstance(answer, dict):
            stream.send(answer, last=True)
        elif answer is not None:
            task = spawn(_later(stream, answer), name="operation")
            stream.on_gone = task.cancel

    def _answer(self, stream: Stream) -> Answer:
        kind, body = stream.pop()
        if kind != FrameKind.CONTROL:
            raise OpError(Status.BAD_REQUEST, "an operation begins with a control message")
        try:
            request = parse_control(body)
        except FramingError as error:
            raise OpError(Status.BAD_REQUEST, str(error)) from None
        name = str(request.get("op"))
        operation = FREE.get(name)
        if operation is None:
            operation = LIMITED.get(name)
            if operation is None:
                raise OpError(Status.BAD_REQUEST, f"no operation {name!r}")
            self._take_place(stream)
        return operation(self._agent, stream, request)

    def _take_place(self, stream: Stream) -> None:
        if self._running >= MAX_AT_ONCE:
            raise OpError(Status.BUSY, f"{MAX_AT_ONCE} operations are running")
        self._running += 1
        stream.on_over = self._give_place

    def _give_place(self) -> None:
        self._running -= 1


async def _later(stream: Stream, answer: Coroutine[Any, Any, Control | None]) -> None:
    try:
        message = await answer
    except StreamGone:
        return
    except Exception as error:  # noqa: BLE001 - as in `_begin`
        _fail(stream, error)
        return
    stream.on_gone = None
    if message is not None:
        stream.send(message, last=True)


def _fail(stream: Stream, error: Exception) -> None:
    failure = as_op_error(error)
    if failure is None:
        log("an operation failed", error)
        failure = OpError(Status.IO, f"{type(error).__name__}: {error}")
    stream.send(reply(failure), last=True)
