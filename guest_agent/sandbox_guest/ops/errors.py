"""How an engine operation fails: a status of the Guest RPC and words."""

from __future__ import annotations

import enum
import errno

from sandbox_guest.accounts import NoSuchUser
from sandbox_guest.fields import BadField
from sandbox_guest.framing import Control
from sandbox_guest.identity import IdentityError
from sandbox_guest.spawn import STEP_CWD, STEP_EXEC, SpawnFailed
from sandbox_guest.upload import InputCut


class Status(enum.IntEnum):
    """The first seed's statuses; 0 is success and never an error."""

    BAD_REQUEST = 1
    DENIED = 2
    NOT_FOUND = 3
    IO = 4
    TOO_LARGE = 5
    BAD_VERSION = 6
    BUSY = 7
    EXISTS = 8
    NOT_MOUNTED = 9


class OpError(Exception):
    """An operation failed as its contract foresees."""

    def __init__(self, status: Status, message: str, *, about: str = "") -> None:
        """`about`: what a status means where it is not a path, `process` or `output`."""
        super().__init__(message)
        self.status, self.about = status, about


_BY_ERRNO = {
    errno.ENOENT: Status.NOT_FOUND,
    errno.EACCES: Status.DENIED,
    errno.EPERM: Status.DENIED,
    errno.EXDEV: Status.DENIED,  # openat2: the path leaves what it must stay beneath
    errno.ELOOP: Status.DENIED,
    errno.EEXIST: Status.EXISTS,
    errno.ENAMETOOLONG: Status.BAD_REQUEST,
    errno.EFBIG: Status.TOO_LARGE,
}


def as_op_error(error: Exception) -> OpError | None:
    """What `error` means to the engine; None for a fault of the agent's own."""
    match error:
        case OpError():
            return error
        case SpawnFailed():
            return OpError(_spawn_status(error), str(error))
        case BadField() | NoSuchUser() | IdentityError() | InputCut():
            return OpError(Status.BAD_REQUEST, str(error))
        case OSError():
            words = error.strerror or str(error)
            subject = f"{error.filename}: " if isinstance(error.filename, str) else ""
            return OpError(_BY_ERRNO.get(error.errno or 0, Status.IO), subject + words)
        case _:
            return None


def _spawn_status(error: SpawnFailed) -> Status:
    if error.step not in (STEP_CWD, STEP_EXEC):
        return Status.IO
    return Status.NOT_FOUND if error.code == errno.ENOENT else Status.BAD_REQUEST


def reply(error: OpError) -> Control:
    """The terminal message of a failed operation."""
    message: Control = {"type": "error", "status": int(error.status), "message": str(error)}
    return message | {"about": error.about} if error.about else message
