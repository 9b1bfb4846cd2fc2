"""One live exec: this process's standard streams and signals over a gRPC stream.

The call's requests come from a queue that three parts feed: a thread that reads standard
input (paced, so that a guest which does not read costs no memory here), the signal
handlers, and the start of the call.  Output is written as it comes.
"""

from __future__ import annotations

import base64
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import FrameType
from typing import TYPE_CHECKING, Final

from sandbox.v1 import guest_pb2 as pb
from sandbox.v1 import guest_pb2_grpc as pb_grpc

from sandbox_cli import show, terminal
from sandbox_cli.failures import Failure, Interrupted

if TYPE_CHECKING:
    import grpc

CHUNK: Final = 64 * 1024
READ_AHEAD: Final = 16
"""Chunks of input that may wait to be sent."""


class Session:
    """Runs one command to its end; used once, from the main thread."""

    def __init__(
        self, channel: grpc.Channel, start: pb.ExecStart, *, terminal: bool, json: bool
    ) -> None:
        self._stub = pb_grpc.GuestServiceStub(channel)
        self._start = start
        self._terminal = terminal
        self._json = json
        self._requests: queue.SimpleQueue[pb.ExecRequest | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(READ_AHEAD)
        self._signalled = False

    def run(self) -> pb.ExecExit:
        """How the command ended.

        Raises `Interrupted` after a second SIGINT, gRPC's errors, and `Failure` where the
        stream ended without an exit.  The command is gone in each of these cases.
        """
        if self._terminal:
            columns, rows = terminal.size()
            self._start.terminal.CopyFrom(pb.TerminalSize(columns=columns, rows=rows))
        self._requests.put(pb.ExecRequest(start=self._start))
        if self._start.input:
            threading.Thread(target=self._read_input, name="stdin", daemon=True).start()
        with ExitStack() as stack:
            if self._terminal and self._start.input:
                stack.enter_context(terminal.raw())
            call = self._stub.Exec(self._sent())
            stack.callback(self._requests.put, None)
            stack.callback(call.cancel)
            self._handle_signals(stack)
            for answer in call:
                if answer.HasField("exit"):
                    self._tell(answer)
                    return answer.exit
                self._pass_on(answer)
        raise Failure("the daemon ended the stream before the command", hint="its log has more")

    def _sent(self) -> Iterator[pb.ExecRequest]:
        """The requests, until None; runs in a thread of grpc's."""
        while (request := self._requests.get()) is not None:
            yield request
            if request.HasField("input"):
                self._room.release()

    def _read_input(self) -> None:
        descriptor = sys.stdin.fileno()
        with suppress(OSError):  # a terminal that went away is an end like any other
            while data := os.read(descriptor, CHUNK):
                self._room.acquire()
                self._requests.put(pb.ExecRequest(input=pb.ExecInput(data=data)))
        self._requests.put(pb.ExecRequest(close_input=pb.ExecCloseInput()))

    def _pass_on(self, answer: pb.ExecResponse) -> None:
        if self._json:
            self._tell(answer)
        elif answer.HasField("out"):
            sys.stdout.buffer.write(answer.out.data)
            sys.stdout.buffer.flush()
        elif answer.HasField("err"):
            sys.stderr.buffer.write(answer.err.data)
            sys.stderr.buffer.flush()

    def _tell(self, answer: pb.ExecResponse) -> None:
        """The answer as a JSON line; output is base64, since it is bytes."""
        if not self._json:
            return
        kind = answer.WhichOneof("message") or "unknown"
        if kind in {"out", "err"}:
            piece = getattr(answer, kind)
            data = base64.b64encode(piece.data).decode()
            show.json_line(event=kind, offset=piece.offset, data=data)
        else:
            show.json_line(event=kind, **show.as_dict(getattr(answer, kind)))

    def _handle_signals(self, stack: ExitStack) -> None:
        handlers: dict[int, Callable[[int, FrameType | None], None]] = {
            signal.SIGINT: self._forward,
            signal.SIGTERM: self._forward,
        }
        if self._terminal:
            handlers[signal.SIGWINCH] = self._resize
        for signum, handler in handlers.items():
            stack.callback(signal.signal, signum, signal.signal(signum, handler))

    def _forward(self, signum: int, _frame: FrameType | None) -> None:
        if self._signalled and signum == signal.SIGINT:
            raise Interrupted(signum)
        self._signalled = True
        self._requests.put(pb.ExecRequest(signal=pb.ExecSignal(signal=signum)))

    def _resize(self, _signum: int, _frame: FrameType | None) -> None:
        columns, rows = terminal.size()
        size = pb.TerminalSize(columns=columns, rows=rows)
        self._requests.put(pb.ExecRequest(resize=size))
