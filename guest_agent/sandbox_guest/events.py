"""What arrived on the multiplexed channel (`mux.Mux.receive`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hello:
    """The host began an epoch (seen by the guest); answer with `welcome()`."""

    nonce: bytes
    body: bytes


@dataclass(frozen=True, slots=True)
class Welcome:
    """The guest confirmed the epoch (seen by the host)."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Opened:
    """The peer opened `stream` towards `port`."""

    stream: int
    port: int


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of `stream`, a piece at a time as they arrive; `grant()` them when done.

    A view of what `receive()` was given, if that was a view: copy what outlives the call.
    """

    stream: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Writable:
    """The peer returned credit: `send()` accepts more on `stream`."""

    stream: int


@dataclass(frozen=True, slots=True)
class Finished:
    """The peer will send no more on `stream`."""

    stream: int


@dataclass(frozen=True, slots=True)
class WasReset:
    """The peer ended `stream` in both directions."""

    stream: int
    message: str


@dataclass(frozen=True, slots=True)
class Quiesce:
    """The host wants silence before a snapshot; answer with `quiesced()`."""


@dataclass(frozen=True, slots=True)
class Quiesced:
    """The guest is silent and between frames."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The host continues the epoch after a snapshot; answer with `resumed()`."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """The guest continues."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The peer sent what no frame is.  Every stream is dead; a greeting starts anew."""

    reason: str


Event = (
    Hello
    | Welcome
    | Opened
    | Data
    | Writable
    | Finished
    | WasReset
    | Quiesce
    | Quiesced
    | Resume
    | Resumed
    | Lost
)
