"""How an RPC of the public protocol fails: a kind and words."""

from __future__ import annotations

import errno

from sandbox_guest.accounts import NoSuchUser
from sandbox_guest.fields import BadField
from sandbox_guest.framing import Control
from sandbox_guest.spawn import STEP_CWD, STEP_EXEC, SpawnFailed

BAD_REQUEST = "bad_request"
NOT_FOUND = "not_found"
UNIMPLEMENTED = "unimplemented"
INTERNAL = "internal"


class RpcError(Exception):
    """An RPC failed as its contract foresees."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def bad_request(message: str) -> RpcError:
    """The client's fault."""
    return RpcError(BAD_REQUEST, message)


def not_found(message: str) -> RpcError:
    """What was named does not exist."""
    return RpcError(NOT_FOUND, message)


_CLIENTS_FAULT = frozenset(
    (
        errno.EBUSY, errno.EEXIST, errno.EINVAL, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG,
        errno.ENOTDIR, errno.ENOTEMPTY, errno.EXDEV,
    )
)  # fmt: skip


def as_rpc_error(error: Exception) -> RpcError | None:
    """What `error` means to a client; None for a fault of the agent's own."""
    match error:
        case RpcError():
            return error
        case BadField() | NoSuchUser():
            return bad_request(str(error))
        case SpawnFailed():
            its_own = error.step not in (STEP_CWD, STEP_EXEC)
            return RpcError(INTERNAL if its_own else BAD_REQUEST, str(error))
        case OSError():
            return _of_os_error(error)
        case _:
            return None


def _of_os_error(error: OSError) -> RpcError:
    subject = f"{error.filename}: " if isinstance(error.filename, str) else ""
    message = subject + (error.strerror or str(error))
    if error.errno == errno.ENOENT:
        return not_found(message)
    return RpcError(BAD_REQUEST if error.errno in _CLIENTS_FAULT else INTERNAL, message)


def reply(error: RpcError) -> Control:
    """The terminal frame of a failed RPC."""
    return {"type": "error", "kind": error.kind, "message": str(error)}
