"""What the guest's statuses mean: seed "Guest RPC", statuses 0-9."""

from __future__ import annotations

from typing import Any

from sandbox_guest.framing import FrameKind, FramingError, parse_control

from sandbox_engine.errors import (
    EngineError,
    GuestBusy,
    GuestIo,
    GuestUnavailable,
    InvalidArgument,
    OutputLost,
    PathDenied,
    PathExists,
    PathNotFound,
    ProcessNotFound,
    TooLarge,
)

_ERRORS: dict[int, type[EngineError]] = {
    2: PathDenied,
    3: PathNotFound,
    4: GuestIo,
    5: TooLarge,
    6: GuestUnavailable,
    7: GuestBusy,
    8: PathExists,
    9: GuestUnavailable,
}


_ABOUT: dict[str, type[EngineError]] = {"process": ProcessNotFound, "output": OutputLost}
"""Where the agent says that a status is not about a path."""


def error_of(reply: dict[str, Any]) -> EngineError:
    """The error that an `error` reply of the engine port names."""
    status, message = reply.get("status"), str(reply.get("message", "no reason given"))
    if isinstance(about := reply.get("about"), str) and about in _ABOUT:
        return _ABOUT[about](message)
    if status == 1:
        return InvalidArgument(str(reply.get("field", "operation")), message)
    if isinstance(status, int) and status in _ERRORS:
        return _ERRORS[status](message)
    return GuestUnavailable(f"the guest answered an unknown status {status!r}: {message}")


def parse(received: tuple[int, bytes]) -> dict[str, Any]:
    """A control message, or `GuestUnavailable` where the guest sent something else."""
    kind, body = received
    if kind != FrameKind.CONTROL:
        raise GuestUnavailable("the guest sent bulk where an answer was due")
    try:
        return parse_control(body)
    except FramingError as error:
        raise GuestUnavailable(f"the guest's answer cannot be read: {error}") from error
