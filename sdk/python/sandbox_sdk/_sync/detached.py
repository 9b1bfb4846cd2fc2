# Generated from `_async/detached.py` by tools/codegen/blocking.py: change that one.
"""A command that goes on without its caller, and is followed over lost connections."""

from __future__ import annotations

import signal as signals
from contextlib import suppress
from typing import TypeAlias

from sandbox.v1 import guest_pb2

from sandbox_sdk import _methods
from sandbox_sdk._sync.calls import Calls
from sandbox_sdk._sync.command import PIECE, Running
from sandbox_sdk._wire_sync import Call, sleep
from sandbox_sdk.errors import ConnectionLost, GuestBusy, InputClosed, SandboxError
from sandbox_sdk.models import ExecEvent, Stderr, Stdout
from sandbox_sdk.retry import Attempts

_Call: TypeAlias = Call[guest_pb2.AttachExecRequest, guest_pb2.AttachExecResponse]


class Detached(Running):
    """A detached command: iterate over what it does, write to it, wait for its end.

    It runs on whatever becomes of this object and its connection.  Where the connection is
    lost, reading attaches anew and goes on at the byte where it was, as often as the client's
    retry policy says; a guest that is saved and woken meanwhile is the same to it.  While
    nobody reads, the guest keeps the last 256 KiB; reading what is older raises `OutputLost`.
    One task uses it at a time, and one client: another that attaches ends this one's reading
    with `GuestBusy`.
    """

    def __init__(
        self, calls: Calls, sandbox_id: str, exec_id: str, *, out: int = 0, err: int = 0
    ) -> None:
        super().__init__()
        self._calls, self._sandbox_id = calls, sandbox_id
        self.exec_id = exec_id
        """Its name in the sandbox, for `attach` by anybody who may use the sandbox."""
        self.stdout_offset = out
        """Bytes of standard output that were read, or skipped."""
        self.stderr_offset = err
        """Bytes of standard error that were read, or skipped."""
        self._call: _Call | None = None
        self._attempts: Attempts | None = None
        self._input = bytearray()  # all of it: what a lost connection swallowed is sent again
        self._base: int | None = None  # what it was given before this object wrote
        self._sent = 0
        self._closed = False

    def _answer(self) -> guest_pb2.AttachExecResponse:
        while True:
            try:
                call = self._call or self._attach()
                answer = call.read()
                if answer is None:
                    raise ConnectionLost("the engine ended the call without the command's end")
            except SandboxError as error:
                self._lost(error)
            else:
                self._attempts = None
                if answer.HasField("started"):
                    self._taken(answer.started.input_offset)
                return answer

    def _event(self, answer: guest_pb2.ExecResponse | guest_pb2.AttachExecResponse) -> ExecEvent:
        event = super()._event(answer)
        match event:
            case Stdout():
                self.stdout_offset = event.offset + len(event.data)
            case Stderr():
                self.stderr_offset = event.offset + len(event.data)
            case _:
                pass
        return event

    def _attach(self) -> _Call:
        self._attempts = self._attempts or self._calls.attempts()
        self._attempts.remaining()  # counts it
        self._call = call = self._calls.open(_methods.ATTACH)
        attach = guest_pb2.ExecAttach(
            sandbox_id=self._sandbox_id,
            exec_id=self.exec_id,
            out_offset=self.stdout_offset,
            err_offset=self.stderr_offset,
        )
        with suppress(InputClosed):  # how the call ended is told where it is read
            call.write(guest_pb2.AttachExecRequest(attach=attach))
        return call

    def _lost(self, error: SandboxError) -> None:
        """Wait before the next try, or raise where there is to be none."""
        self.leave()
        attempts = self._attempts or self._calls.attempts()
        delay = None if isinstance(error, GuestBusy) else attempts.delay_after(error)
        if delay is None:
            raise error
        sleep(delay)

    def _taken(self, offset: int) -> None:
        """The command was given so much input: send what is behind it."""
        if self._base is None:
            self._base = offset
        self._sent = offset - self._base
        self._send()

    def _send(self) -> None:
        with suppress(InputClosed):  # it is sent again where reading attaches anew
            while self._call is not None and self._sent < len(self._input):
                piece = bytes(self._input[self._sent : self._sent + PIECE])
                self._call.write(guest_pb2.AttachExecRequest(input=guest_pb2.ExecInput(data=piece)))
                self._sent += len(piece)
            if self._call is not None and self._closed:
                end = guest_pb2.ExecCloseInput()
                self._call.write(guest_pb2.AttachExecRequest(close_input=end))

    def write(self, data: bytes | str) -> None:
        """Give it input, text as UTF-8; it goes out while events are read.

        The command must have been started with `input`.  All of it is kept, to be sent again
        where a connection is lost.
        """
        if self._closed:
            raise InputClosed("the input was closed")
        self._input += data.encode() if isinstance(data, str) else data
        if self._base is not None:
            self._send()

    def close_input(self) -> None:
        """It reads end-of-file after what was written.  Idempotent."""
        if not self._closed:
            self._closed = True
            if self._base is not None:
                self._send()

    def signal(self, number: int = signals.SIGTERM) -> None:
        """Send a signal to its process group, once it is attached to.  Raises `InputClosed`."""
        if self._call is None:
            raise InputClosed("not attached: signal while events are read")
        sent = guest_pb2.ExecSignal(signal=number)
        self._call.write(guest_pb2.AttachExecRequest(signal=sent))

    def leave(self) -> None:
        """Read no more for now; the command goes on.  Idempotent."""
        call, self._call = self._call, None
        if call is not None:
            call.cancel()
