"""What the engine needs of the agent inside a machine.

`GuestConnection` is the channel to one guest; `GuestStream` is one operation on it.
The wire is `sandbox_guest.mux` and `sandbox_guest.framing`.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct


class GuestPort(enum.IntEnum):
    """Ports of the channel.  Which one a stream was opened on decides what it may ask."""

    CLIENT = 1
    """The public guest protocol; what clients relay."""
    ENGINE = 2
    """The engine's own operations, never relayed from a client."""
    HTTP_DOOR = 2049
    SOCKS_DOOR = 2050


class Identity(Struct, frozen=True, kw_only=True):
    """What makes a restored guest itself and present-day.  Sent with the greeting."""

    machine_id: str | None
    """32 hex digits, or None to keep the guest's (a wake)."""
    hostname: str | None
    generation: str
    """Changes with every restore; published in the guest for user-space generators."""
    entropy: bytes
    """At least 32 fresh bytes, credited to the kernel's pool before it is reseeded."""
    env: dict[str, str] = {}
    """The sandbox's own variables, inherited by every exec."""


class Welcome(Struct, frozen=True, kw_only=True):
    """The agent's answer to a greeting."""

    protocol: int
    agent_version: str
    kernel: str
    boot_id: str
    identity_confirmed: bool
    clock_skew_ms: float = 0.0
    """Guest clock minus the host's when the answer was read."""


class GuestStream(Protocol):
    """One bidirectional stream of messages.

    Errors: every method raises `GuestUnavailable` once the channel is lost.
    End: once the guest has ended it, what is still sent is dropped; its answer can be read.
    Cancellation: leaving a pending call is safe; call `reset()` to end the operation.
    """

    async def send(self, message: dict[str, Any]) -> None:
        """Send one control message; waits while the guest gives no credit."""

    async def send_bulk(self, kind: int, data: bytes) -> None:
        """Send bulk bytes of `sandbox_guest.framing.FrameKind`; waits for credit."""

    async def receive(self) -> tuple[int, bytes] | None:
        """The next message, None at the end.  What it returned is credited to the guest
        on the next call, so a reader that stops reading stops the guest.
        """

    def finish(self) -> None:
        """Send no more (half-close)."""

    def reset(self) -> None:
        """End the operation in both directions; the guest kills what it started.  Idempotent."""


class GuestConnection(Protocol):
    """The channel to one guest.

    The connection's own task group reads the link; it ends with the link or `close()`.
    """

    on_opened: Callable[[int, GuestStream], None] | None
    """Called with the port and the stream that the guest opened; None refuses them all."""

    @property
    def lost(self) -> asyncio.Event:
        """Set once the link is gone; every stream then raises `GuestUnavailable`."""

    async def greet(
        self, identity: Identity | None, *, resync: bool = False, timeout_s: float = 10.0
    ) -> Welcome:
        """Begin a new epoch: every earlier stream is dead.  Raises `GuestUnavailable`."""

    def open(self, port: GuestPort, message: dict[str, Any] | None = None) -> GuestStream:
        """Open a stream; `message` travels with the opening, without a round trip."""

    async def call(self, message: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """One engine operation with a single answer.  Raises the error the guest named."""

    def notify(self, message: dict[str, Any]) -> None:
        """An engine operation whose answer nobody waits for; it precedes, in the guest,
        every operation opened after it.  A failure is logged.
        """

    async def set_clock(self) -> None:
        """Set the guest's wall clock to the host's, as after a pause."""

    async def quiesce(self) -> None:
        """Bring the guest to silence at a frame boundary, its workloads frozen."""

    async def resume(self) -> None:
        """Continue the same epoch after a snapshot."""

    async def close(self) -> None:
        """Close the link.  Idempotent."""


class GuestConnector(Protocol):
    """Dials guests."""

    async def connect(self, path: Path) -> GuestConnection:
        """Connect to a machine's channel socket.  Raises `GuestUnavailable`."""
