"""Every error the engine raises on purpose.

Two levels: `EngineError`, and a class per thing that can go wrong.  A class carries its
`Code`; instances carry the facts as fields.  Front ends translate `code` by the one
table in `sandbox_engine.api.errors` and nothing else.  No foreign exception
(grpc, OSError, sqlite3) crosses a port.
"""

from __future__ import annotations

import enum
from typing import ClassVar


class Code(enum.Enum):
    """The name of an error on every door (gRPC `ErrorInfo.reason`)."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    TEMPLATE_NOT_FOUND = "TEMPLATE_NOT_FOUND"
    TEMPLATE_CORRUPT = "TEMPLATE_CORRUPT"
    TEMPLATE_INCOMPATIBLE = "TEMPLATE_INCOMPATIBLE"
    TEMPLATE_BUSY = "TEMPLATE_BUSY"
    POOL_EXHAUSTED = "POOL_EXHAUSTED"
    LIMIT_REACHED = "LIMIT_REACHED"
    DRAINING = "DRAINING"
    SANDBOX_NOT_FOUND = "SANDBOX_NOT_FOUND"
    STATE_CONFLICT = "STATE_CONFLICT"
    CHECKPOINT_NOT_FOUND = "CHECKPOINT_NOT_FOUND"
    PRECONDITION_FAILED = "PRECONDITION_FAILED"
    REQUEST_CONFLICT = "REQUEST_CONFLICT"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    SESSION_EXPIRED = "SESSION_EXPIRED"
    SESSION_LIMIT = "SESSION_LIMIT"
    SESSION_UNKNOWN = "SESSION_UNKNOWN"
    SESSION_BUSY = "SESSION_BUSY"
    GUEST_UNAVAILABLE = "GUEST_UNAVAILABLE"
    GUEST_BUSY = "GUEST_BUSY"
    PATH_DENIED = "PATH_DENIED"
    PATH_NOT_FOUND = "PATH_NOT_FOUND"
    PATH_EXISTS = "PATH_EXISTS"
    PROCESS_NOT_FOUND = "PROCESS_NOT_FOUND"
    OUTPUT_LOST = "OUTPUT_LOST"
    TOO_LARGE = "TOO_LARGE"
    GUEST_IO = "GUEST_IO"
    TIMEOUT = "TIMEOUT"
    NO_SPACE = "NO_SPACE"
    UNIMPLEMENTED = "UNIMPLEMENTED"
    INTERNAL = "INTERNAL"


class EngineError(Exception):
    """Base of every error raised on purpose."""

    code: ClassVar[Code] = Code.INTERNAL
    retry_after_s: float | None = None
    """Set where trying again helps."""


class InvalidArgument(EngineError):
    """A request names a value that cannot be; `field` is its path in the request."""

    code = Code.INVALID_ARGUMENT

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field, self.problem = field, problem


class TemplateNotFound(EngineError):
    """No template has this name."""

    code = Code.TEMPLATE_NOT_FOUND

    def __init__(self, name: str) -> None:
        super().__init__(
            f"no template {name!r}: build one with `sandbox-cli template build {name} "
            "--from debian:SUITE`, or see `sandbox-cli template list`"
        )
        self.name = name


class TemplateCorrupt(EngineError):
    """A file of the template is not what its manifest says."""

    code = Code.TEMPLATE_CORRUPT

    def __init__(self, name: str, differences: list[str]) -> None:
        super().__init__(
            f"template {name!r} failed verification ({'; '.join(differences)}): rebuild it"
        )
        self.name, self.differences = name, differences


class TemplateIncompatible(EngineError):
    """The template was baked by another VMM, machine, CPU, kernel or agent version."""

    code = Code.TEMPLATE_INCOMPATIBLE

    def __init__(self, name: str, differences: list[str]) -> None:
        super().__init__(
            f"template {name!r} cannot run here ({'; '.join(differences)}): rebuild the template"
        )
        self.name, self.differences = name, differences


class TemplateBusy(EngineError):
    """The template is being built or removed by another call."""

    code = Code.TEMPLATE_BUSY


class TemplateBuildFailed(EngineError):
    """A step of a build failed; what was done before it is kept for the next try."""

    code = Code.INTERNAL

    def __init__(self, step: str, problem: str) -> None:
        super().__init__(f"{step}: {problem}")
        self.step, self.problem = step, problem


class PoolExhausted(EngineError):
    """No warm VM within the wait the caller allowed."""

    code = Code.POOL_EXHAUSTED
    retry_after_s = 1.0


class LimitReached(EngineError):
    """A cap on owned sandboxes was met."""

    code = Code.LIMIT_REACHED
    retry_after_s = 1.0


class Draining(EngineError):
    """The node takes no new sandboxes."""

    code = Code.DRAINING
    retry_after_s = 5.0


class SandboxNotFound(EngineError):
    """No such sandbox, or not one the caller may see."""

    code = Code.SANDBOX_NOT_FOUND

    def __init__(self, sandbox: object) -> None:
        super().__init__(f"no sandbox {sandbox}")


class StateConflict(EngineError):
    """The sandbox exists but cannot do this in its present state."""

    code = Code.STATE_CONFLICT

    def __init__(self, *, have: str, given: str) -> None:
        super().__init__(f"cannot {given} a sandbox that is {have}")
        self.have, self.given = have, given


class SnapshotNotFound(EngineError):
    """No such checkpoint, or not one the caller may see."""

    code = Code.CHECKPOINT_NOT_FOUND

    def __init__(self, snapshot: str) -> None:
        super().__init__(f"no checkpoint {snapshot}")


class SnapshotCorrupt(EngineError):
    """A saved state is not what was saved."""

    code = Code.INTERNAL

    def __init__(self, snapshot: str, problem: str) -> None:
        super().__init__(f"the saved state {snapshot} cannot be used: {problem}")
        self.snapshot, self.problem = snapshot, problem


class DigestMismatch(EngineError):
    """The template is no longer the one that the caller saw."""

    code = Code.PRECONDITION_FAILED

    def __init__(self, template: str, wanted: str) -> None:
        super().__init__(f"template {template!r} has not the digest {wanted} any more")


class NotOffered(EngineError):
    """The request is sound and this node has not what it needs."""

    code = Code.STATE_CONFLICT


class NeedsRestart(EngineError):
    """A change of the configuration that only a restart can make; `fields` names it."""

    code = Code.STATE_CONFLICT

    def __init__(self, fields: list[str]) -> None:
        super().__init__(f"a restart is needed to change {', '.join(fields)}; nothing was applied")
        self.fields = fields


class RequestConflict(EngineError):
    """The request id was used before with another request."""

    code = Code.REQUEST_CONFLICT


class Unauthenticated(EngineError):
    """No credential, or one that is not known."""

    code = Code.UNAUTHENTICATED


class PermissionDenied(EngineError):
    """The caller is known and may not do this."""

    code = Code.PERMISSION_DENIED


class SessionExpired(EngineError):
    """The workspace's lifetime has passed; it is gone."""

    code = Code.SESSION_EXPIRED


class SessionLimit(EngineError):
    """The workspace already has the platform's longest lifetime."""

    code = Code.SESSION_LIMIT


class SessionUnknown(EngineError):
    """No workspace exists for the session key."""

    code = Code.SESSION_UNKNOWN


class SessionBusy(EngineError):
    """The workspace is mounted in another sandbox: two would destroy its files."""

    code = Code.SESSION_BUSY
    retry_after_s = 1.0

    def __init__(self, key: str, sandbox: str) -> None:
        super().__init__(f"session {key!r} is in use by sandbox {sandbox}; destroy that one first")
        self.key, self.sandbox = key, sandbox


class WorkspaceDamaged(EngineError):
    """A volume's filesystem could not be repaired."""

    code = Code.INTERNAL


class GuestUnavailable(EngineError):
    """The guest agent cannot be reached, or the VM is gone."""

    code = Code.GUEST_UNAVAILABLE
    retry_after_s = 1.0


class GuestBusy(EngineError):
    """Too many guest operations at once."""

    code = Code.GUEST_BUSY
    retry_after_s = 0.1


class PathDenied(EngineError):
    """A path that is not absolute, holds `.` or `..`, or leaves the workspace."""

    code = Code.PATH_DENIED


class PathNotFound(EngineError):
    """The path does not exist in the guest."""

    code = Code.PATH_NOT_FOUND


class PathExists(EngineError):
    """The path exists and the call asked for exclusivity."""

    code = Code.PATH_EXISTS


class ProcessNotFound(EngineError):
    """The guest knows no such command, or no longer."""

    code = Code.PROCESS_NOT_FOUND


class OutputLost(EngineError):
    """Output before the offset that was asked for is no longer kept."""

    code = Code.OUTPUT_LOST


class TooLarge(EngineError):
    """A file, chunk or input over its limit."""

    code = Code.TOO_LARGE


class GuestIo(EngineError):
    """The guest's filesystem failed the operation."""

    code = Code.GUEST_IO


class Timeout(EngineError):
    """The deadline passed before the guest answered."""

    code = Code.TIMEOUT


class NoSpace(EngineError):
    """The host's disk is full."""

    code = Code.NO_SPACE


class Unimplemented(EngineError):
    """The call is part of the API and this build does not serve it yet."""

    code = Code.UNIMPLEMENTED


class WarmupFailed(EngineError):
    """A pool's warm-up command failed in a new VM, which was destroyed."""

    code = Code.INTERNAL

    def __init__(self, argv: tuple[str, ...], problem: str) -> None:
        super().__init__(f"the warm-up {' '.join(argv)} failed: {problem}")
        self.argv, self.problem = argv, problem


class ProvisioningFailed(EngineError):
    """No VM could be made for a claim; the words say why."""

    code = Code.INTERNAL


class VmmError(EngineError):
    """The VMM failed to start, refused a command or died."""

    code = Code.INTERNAL
