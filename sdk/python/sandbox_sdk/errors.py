"""Every error this package raises on purpose.

    SandboxError
    ├── one class for each reason of `sandbox/v1/errors.proto`
    ├── ConnectionLost   the engine cannot be reached, or went away during the call
    ├── Cancelled        the call was cancelled on this side
    ├── InputClosed      a write to a command that takes no more input
    ├── UnsafeTree       `download_tree` met a name or link that leaves the tree
    └── CommandFailed    `ExecResult.check()`

No type of the transport below is ever raised, nor kept as a cause.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sandbox_sdk.models import ExecResult


class SandboxError(Exception):
    """Base of them all; raised itself where a newer engine names a reason unknown here."""

    reason: str = ""
    """Name in the engine's registry of reasons; empty for what arose on this side."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_after_s: float | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason or self.reason
        self.metadata = dict(metadata or {})
        """The facts, such as `name` of a template."""
        self.retry_after_s = retry_after_s
        """Set where the engine says that trying again helps."""
        self.fields = dict(fields or {})
        """Path of each wrong field of the request, and what is wrong with it."""


class InvalidArgument(SandboxError):
    """A field of the request cannot be; see `fields`."""

    reason = "INVALID_ARGUMENT"


class TemplateNotFound(SandboxError):
    """No template has this name."""

    reason = "TEMPLATE_NOT_FOUND"


class TemplateCorrupt(SandboxError):
    """A file of the template is not what its manifest says."""

    reason = "TEMPLATE_CORRUPT"


class TemplateIncompatible(SandboxError):
    """The template was baked by another version of something: rebuild it."""

    reason = "TEMPLATE_INCOMPATIBLE"


class TemplateBusy(SandboxError):
    """The template is being built or removed by another call."""

    reason = "TEMPLATE_BUSY"


class PoolExhausted(SandboxError):
    """No warm virtual machine within the wait that was allowed."""

    reason = "POOL_EXHAUSTED"


class LimitReached(SandboxError):
    """A cap on sandboxes was met."""

    reason = "LIMIT_REACHED"


class Draining(SandboxError):
    """The node takes no new sandboxes."""

    reason = "DRAINING"


class SandboxNotFound(SandboxError):
    """No such sandbox, or not one the caller may see."""

    reason = "SANDBOX_NOT_FOUND"


class StateConflict(SandboxError):
    """The sandbox cannot do this in its present state; `metadata` has `have` and `given`."""

    reason = "STATE_CONFLICT"


class RequestConflict(SandboxError):
    """The request id was used with another request."""

    reason = "REQUEST_CONFLICT"


class Unauthenticated(SandboxError):
    """No credential, or one that is not known."""

    reason = "UNAUTHENTICATED"


class PermissionDenied(SandboxError):
    """The caller is known and may not do this."""

    reason = "PERMISSION_DENIED"


class SessionExpired(SandboxError):
    """The workspace's lifetime has passed; it is gone."""

    reason = "SESSION_EXPIRED"


class SessionLimit(SandboxError):
    """The workspace already has the platform's longest lifetime."""

    reason = "SESSION_LIMIT"


class SessionUnknown(SandboxError):
    """No workspace exists for the session key."""

    reason = "SESSION_UNKNOWN"


class GuestUnavailable(SandboxError):
    """The guest agent cannot be reached, or the virtual machine is gone."""

    reason = "GUEST_UNAVAILABLE"


class GuestBusy(SandboxError):
    """Too many guest operations at once."""

    reason = "GUEST_BUSY"


class PathDenied(SandboxError):
    """A path that is not absolute, holds `.` or `..`, or leaves the workspace."""

    reason = "PATH_DENIED"


class PathNotFound(SandboxError):
    """The path does not exist in the guest."""

    reason = "PATH_NOT_FOUND"


class PathExists(SandboxError):
    """The path exists and the call asked for exclusivity."""

    reason = "PATH_EXISTS"


class TooLarge(SandboxError):
    """A file, chunk or input over its limit."""

    reason = "TOO_LARGE"


class GuestIo(SandboxError):
    """The guest's filesystem failed the operation."""

    reason = "GUEST_IO"


class Timeout(SandboxError):
    """The deadline passed, `timeout_s` of the call or the engine's own."""

    reason = "TIMEOUT"


class NoSpace(SandboxError):
    """The host's disk is full."""

    reason = "NO_SPACE"


class Unimplemented(SandboxError):
    """The call, or a field of it, is part of the API and this engine does not serve it."""

    reason = "UNIMPLEMENTED"


class Internal(SandboxError):
    """An unexpected failure of the engine; its log has more."""

    reason = "INTERNAL"


class CheckpointNotFound(SandboxError):
    """No such checkpoint."""

    reason = "CHECKPOINT_NOT_FOUND"


class PreconditionFailed(SandboxError):
    """A digest that the call names is no longer the template's."""

    reason = "PRECONDITION_FAILED"


class SessionBusy(SandboxError):
    """The workspace is mounted in another sandbox; `metadata` has `key` and `sandbox`."""

    reason = "SESSION_BUSY"


class ProcessNotFound(SandboxError):
    """The guest knows no such command, or no longer."""

    reason = "PROCESS_NOT_FOUND"


class OutputLost(SandboxError):
    """Output before the offset that was asked for is no longer kept."""

    reason = "OUTPUT_LOST"


class ConnectionLost(SandboxError):
    """The engine cannot be reached, or went away during the call."""


class Cancelled(SandboxError):
    """The call was cancelled on this side, as by `kill()` or `close()` during it."""


class InputClosed(SandboxError):
    """The command takes no more input: it was closed, not asked for, or the command ended."""


class UnsafeTree(SandboxError):
    """A tree from a guest holds what would reach outside of it; see `download_tree`."""


class CommandFailed(SandboxError):
    """A command that was to succeed did not; `result` is all that is known of it."""

    _TAIL: ClassVar[int] = 500

    def __init__(self, result: ExecResult) -> None:
        how = f"signal {result.signal}" if result.signal else f"exit code {result.exit_code}"
        if result.timed_out:
            how = "its timeout"
        elif result.truncated:
            how = "the limit on its output"
        said = result.stderr_text.strip()[-self._TAIL :]
        super().__init__(f"the command ended by {how}" + (f": {said}" if said else ""))
        self.result = result


BY_REASON: dict[str, type[SandboxError]] = {
    kind.reason: kind for kind in SandboxError.__subclasses__() if kind.reason
}
"""The class of each reason."""
