"""Buffered commands (seed "POST /v1/sandboxes/{id}/exec"): run to the end, answer at once.

They are calls of the public guest protocol, as a relay would carry them.  However one is
given up on (its time, its output, its client), the guest has killed it before the answer.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from msgspec import Struct
from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import (
    EngineError,
    GuestBusy,
    GuestUnavailable,
    InvalidArgument,
    Timeout,
    TooLarge,
)
from sandbox_engine.model.claim_request import ExecRequest
from sandbox_engine.model.sandbox import check_env
from sandbox_engine.ports.guest import GuestConnection, GuestPort, GuestStream
from sandbox_engine.services.access import Party
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.wire.guest_status import parse

MAX_OUTPUT = 8 << 20
"""Of one command, both outputs together."""
MAX_IN_FLIGHT = 64 << 20
"""Of every command that runs."""
_KILL_S = 5.0


class ExecReply(Struct, frozen=True):
    """How a command ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class BufferedExecs:
    """Runs them, within one budget of memory."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        claims: Claims,
        audit: Audit,
        max_output: int = MAX_OUTPUT,
        max_in_flight: int = MAX_IN_FLIGHT,
    ) -> None:
        self._sandboxes, self._claims, self._audit = sandboxes, claims, audit
        self._max_output, self._max_in_flight = max_output, max_in_flight
        self._in_flight = 0

    async def run(self, party: Party, sandbox_id: str, request: ExecRequest) -> ExecReply:
        """Run one command.

        Raises `InvalidArgument` for one that cannot be started, `TooLarge`, `GuestBusy`
        (the budget is spent), `Timeout`, `StateConflict`, `GuestUnavailable`.
        """
        request.check()
        check_env(request.env)
        self._claims.usable(sandbox_id)
        await self._sandboxes.awake(party.caller, sandbox_id)
        channel = self._sandboxes.channel(party.caller, sandbox_id)
        call = _call(request)
        with self._sandboxes.idle(party.caller, sandbox_id).hold():
            self._audit.call(sandbox_id, call)
            stream = channel.open(GuestPort.CLIENT, call)
            run = _Run(self, stream)
            try:
                async with asyncio.timeout(request.timeout_seconds or None):
                    return await run.end()
            except TimeoutError as error:
                await _killed(channel, stream)
                raise Timeout(f"the command ran over {request.timeout_seconds:g} s") from error
            except EngineError:
                await _killed(channel, stream)
                raise
            finally:
                stream.reset()
                self._in_flight -= run.size

    def admit(self, run_size: int, piece: int) -> None:
        """Make room for `piece` more bytes of a command that holds `run_size`.  Raises."""
        if run_size + piece > self._max_output:
            raise TooLarge(f"the output is over {self._max_output} bytes; use the relay for it")
        if self._in_flight + piece > self._max_in_flight:
            busy = GuestBusy("the node holds too much output of buffered commands; try again")
            busy.retry_after_s = 1.0
            raise busy
        self._in_flight += piece


class _Run:
    """One command's output so far."""

    def __init__(self, execs: BufferedExecs, stream: GuestStream) -> None:
        self._execs, self._stream = execs, stream
        self._out, self._err = bytearray(), bytearray()
        self.size = 0

    async def end(self) -> ExecReply:
        """Collect until it exits."""
        await self._stream.send({"v": 1, "op": "stdin_close"})
        while (received := await self._stream.receive()) is not None:
            if received[0] != FrameKind.CONTROL:
                self._keep(*received)
                continue
            message = parse(received)
            if message.get("type") == "error":
                raise _as_error(message)
            if message.get("type") == "exit":
                return ExecReply(int(message.get("code", -1)), bytes(self._out), bytes(self._err))
        raise GuestUnavailable("the guest ended the command without its exit")

    def _keep(self, kind: int, data: bytes) -> None:
        self._execs.admit(self.size, len(data))
        self.size += len(data)
        (self._err if kind == FrameKind.STDERR else self._out).extend(data)


async def _killed(channel: GuestConnection, stream: GuestStream) -> None:
    """Return once the guest has killed the command: what it answers next, it answers after."""
    stream.reset()
    with suppress(EngineError):
        await channel.call({"op": "ping"}, timeout_s=_KILL_S)


def _call(request: ExecRequest) -> dict[str, Any]:
    call: dict[str, Any] = {"v": 1, "op": "exec", "argv": request.argv, "detach": False}
    call |= {"cwd": request.cwd} if request.cwd else {}
    call |= {"env": request.env} if request.env else {}
    return call


def _as_error(message: dict[str, Any]) -> EngineError:
    words = str(message.get("message", "no reason given"))
    if message.get("kind") == "bad_request":
        return InvalidArgument("command", words)
    return GuestUnavailable(f"the guest refused the command: {words}")
