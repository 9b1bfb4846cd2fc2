"""Relays: a client's connection joined to a guest, for calls or to one of its ports.

A relay has two independent directions.  `send()` takes what the client wrote and returns
once the guest took it; `receive()` gives what the client is to read.  Neither holds more
than a window and one line, so each side's pace is the other's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import EngineError, GuestUnavailable, InvalidArgument
from sandbox_engine.model.caller import Caller
from sandbox_engine.ports.guest import GuestPort, GuestStream
from sandbox_engine.services.access import Party
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.idle import Hold
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.wire.guest_status import parse
from sandbox_engine.wire.silkd import LineDecoder, LineTooLong, encode

OPEN_PORT_S = 10.0
_TOO_LONG = b'{"type":"error","kind":"bad_request","message":"a frame is over 8 MiB"}\n'


class RelayEnded(Exception):
    """The relay cannot go on; `last_words` are what the client still reads."""

    def __init__(self, last_words: bytes = b"") -> None:
        super().__init__("the relay ended")
        self.last_words = last_words


class Relay(Protocol):
    """What a door pumps.  Every method may raise `RelayEnded` or `GuestUnavailable`."""

    halves: bool
    """Whether each direction ends on its own.  Otherwise the client's end is the relay's,
    once the guest has answered what it was asked before."""

    async def send(self, data: bytes) -> None:
        """The client wrote this.  Waits until the guest has room."""

    async def finish(self) -> None:
        """The client will write no more."""

    async def receive(self) -> Sequence[bytes] | None:
        """What the client is to read, in order; None when the guest will say no more."""

    async def ended(self) -> None:
        """Wait, after `receive()` gave None, until the other direction has ended too."""

    def close(self) -> None:
        """End both directions and give back the hold.  Idempotent."""


class AgentRelay:
    """Calls back to back: lines on the client's side, messages on the guest's."""

    halves = False

    def __init__(self, sandbox_id: str, stream: GuestStream, hold: Hold, audit: Audit) -> None:
        self._sandbox_id, self._stream, self._hold, self._audit = sandbox_id, stream, hold, audit
        self._lines = LineDecoder()

    async def send(self, data: bytes) -> None:
        """See `Relay`."""
        try:
            messages = self._lines.feed(data)
        except LineTooLong as error:
            raise RelayEnded(_TOO_LONG) from error
        for kind, body in messages:
            if kind == FrameKind.CONTROL:
                self._audit.frame(self._sandbox_id, body)
            await self._stream.send_bulk(kind, body)

    async def finish(self) -> None:
        """See `Relay`."""
        self._stream.finish()

    async def receive(self) -> Sequence[bytes] | None:
        """See `Relay`."""
        received = await self._stream.receive()
        if received is None:
            return None
        kind, body = received
        if kind == FrameKind.STDIN:
            raise GuestUnavailable("the guest sent input where output was due")
        return encode(kind, body)

    async def ended(self) -> None:
        """See `Relay`: with the guest's end nothing more can be asked."""

    def close(self) -> None:
        """See `Relay`."""
        self._stream.reset()
        self._hold.close()


class PortRelay:
    """Bytes to and from a listener in the guest; each direction ends on its own."""

    halves = True

    def __init__(self, stream: GuestStream, hold: Hold) -> None:
        self._stream, self._hold = stream, hold
        self._over = False

    async def answer(self) -> dict[str, Any]:
        """What the guest said to the call that opened this."""
        received = await self._stream.receive()
        return {} if received is None else parse(received)

    async def send(self, data: bytes) -> None:
        """See `Relay`."""
        await self._stream.send_bulk(FrameKind.DATA, data)

    async def finish(self) -> None:
        """See `Relay`."""
        await self._stream.send({"v": 1, "op": "data_end"})

    async def receive(self) -> Sequence[bytes] | None:
        """See `Relay`."""
        while (received := await self._stream.receive()) is not None:
            if received[0] == FrameKind.DATA:
                return (received[1],)
            match parse(received).get("type"):
                case "data_end":
                    return None
                case "done":
                    break
                case "error":
                    raise GuestUnavailable("the connection in the guest broke")
        self._over = True
        return None

    async def ended(self) -> None:
        """See `Relay`."""
        while not self._over:
            await self.receive()

    def close(self) -> None:
        """See `Relay`."""
        self._stream.reset()
        self._hold.close()


class Ports:
    """Connects to ports of guests."""

    def __init__(self, sandboxes: Sandboxes, audit: Audit | None = None) -> None:
        self._sandboxes, self._audit = sandboxes, audit

    async def open(
        self, caller: Caller, sandbox_id: str, port: int, *, passive: bool = False
    ) -> PortRelay:
        """Returns once the guest is connected; a `passive` one is no activity, wakes nothing.

        Raises `InvalidArgument` for what is no port, `SandboxNotFound`, `StateConflict`,
        `GuestUnavailable`.
        """
        check_port(port)
        if not passive:
            await self._sandboxes.awake(caller, sandbox_id)
        channel = self._sandboxes.channel(caller, sandbox_id, passive=passive)
        call = {"v": 1, "op": "port_forward", "port": port, "half_close": True}
        relay = PortRelay(
            channel.open(GuestPort.CLIENT, call),
            self._sandboxes.idle(caller, sandbox_id).hold(passive=passive),
        )
        try:
            if self._audit is not None:
                self._audit.call(sandbox_id, call)
            await self._connected(relay, port)
        except BaseException:
            relay.close()
            raise
        return relay

    async def _connected(self, relay: PortRelay, port: int) -> None:
        try:
            async with asyncio.timeout(OPEN_PORT_S):
                received = await relay.answer()
        except TimeoutError as error:
            raise GuestUnavailable(f"the guest did not reach its port {port} in time") from error
        if received.get("type") != "ready":
            reason = received.get("message", "no reason given")
            raise GuestUnavailable(f"the guest cannot reach its port {port}: {reason}")


def check_port(port: int) -> None:
    """Raise `InvalidArgument` for what is none."""
    if not 1 <= port <= 65535:
        raise InvalidArgument("port", "must be 1 to 65535")


class Relays:
    """Opens relays."""

    def __init__(self, *, sandboxes: Sandboxes, claims: Claims, audit: Audit) -> None:
        self._sandboxes, self._claims, self._audit = sandboxes, claims, audit
        self._ports = Ports(sandboxes, audit)

    async def agent(self, party: Party, sandbox_id: str) -> AgentRelay:
        """A stream of calls; a hibernated sandbox is woken for it.

        Raises `SandboxNotFound`, `StateConflict`, `GuestUnavailable`.
        """
        self._claims.usable(sandbox_id)
        await self._sandboxes.awake(party.caller, sandbox_id)
        channel = self._sandboxes.channel(party.caller, sandbox_id)
        hold = self._sandboxes.idle(party.caller, sandbox_id).hold()
        try:
            return AgentRelay(sandbox_id, channel.open(GuestPort.CLIENT), hold, self._audit)
        except EngineError:
            hold.close()
            raise

    async def port(self, party: Party, sandbox_id: str, port: int) -> PortRelay:
        """Bytes to and from `port`; returns once the guest is connected to it.

        A root party's relay is passive: it is no activity and wakes nothing.
        Raises as `agent()`, and `InvalidArgument` for what is no port.
        """
        check_port(port)
        self._claims.usable(sandbox_id)
        return await self._ports.open(party.caller, sandbox_id, port, passive=party.root)
