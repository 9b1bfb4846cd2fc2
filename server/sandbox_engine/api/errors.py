"""The one table that says what every error is on every door."""

from __future__ import annotations

import enum
import os
from typing import NamedTuple

import grpc
import structlog

from sandbox_engine.errors import Code, EngineError

_log = structlog.get_logger(__name__)
S = grpc.StatusCode


class LegacyError(enum.IntEnum):
    """`sandbox_error_t` (seed "Error codes"), without `SANDBOX_ERR_`."""

    OK = 0
    POOL_EXHAUSTED = -1
    INVALID_SPEC = -2
    DAEMON_UNREACHABLE = -3
    PERMISSION_DENIED = -4
    INTERNAL = -5
    SESSION_EXPIRED = -6
    SESSION_LIMIT = -7
    SESSION_UNKNOWN = -8
    GUEST_UNAVAILABLE = -9
    PATH_DENIED = -10
    NOT_FOUND = -11
    EXISTS = -12
    TOO_LARGE = -13
    GUEST_IO = -14
    TIMEOUT = -15


L = LegacyError


class Row(NamedTuple):
    """One error on the four doors."""

    legacy: LegacyError
    grpc: grpc.StatusCode
    node: int
    """HTTP status of the node API."""
    control: int
    """HTTP status of the control plane."""
    control_code: str
    """Its `error.code`."""


# A sandbox that is not there is a denial on the legacy door: NOT_FOUND would read as "the
# path does not exist", and a caller owns nothing under that number either way.  Its
# INVALID_SPEC is also what no engine of this build serves.  A paused guest "is not ready".
TABLE: dict[Code, Row] = {
    Code.INVALID_ARGUMENT: Row(L.INVALID_SPEC, S.INVALID_ARGUMENT, 400, 400, "invalid_argument"),
    Code.TEMPLATE_NOT_FOUND: Row(L.INVALID_SPEC, S.NOT_FOUND, 404, 400, "template_not_found"),
    Code.TEMPLATE_CORRUPT: Row(L.INTERNAL, S.FAILED_PRECONDITION, 500, 500, "template_corrupt"),
    Code.TEMPLATE_INCOMPATIBLE: Row(
        L.INTERNAL, S.FAILED_PRECONDITION, 500, 500, "template_incompatible"
    ),
    Code.TEMPLATE_BUSY: Row(L.POOL_EXHAUSTED, S.ABORTED, 409, 409, "template_busy"),
    Code.POOL_EXHAUSTED: Row(L.POOL_EXHAUSTED, S.RESOURCE_EXHAUSTED, 429, 429, "pool_exhausted"),
    Code.LIMIT_REACHED: Row(L.POOL_EXHAUSTED, S.RESOURCE_EXHAUSTED, 429, 429, "limit_reached"),
    Code.DRAINING: Row(L.POOL_EXHAUSTED, S.UNAVAILABLE, 429, 429, "draining"),
    Code.SANDBOX_NOT_FOUND: Row(L.PERMISSION_DENIED, S.NOT_FOUND, 404, 404, "not_found"),
    Code.STATE_CONFLICT: Row(
        L.GUEST_UNAVAILABLE, S.FAILED_PRECONDITION, 409, 409, "state_conflict"
    ),
    Code.CHECKPOINT_NOT_FOUND: Row(L.INVALID_SPEC, S.NOT_FOUND, 404, 404, "checkpoint_not_found"),
    Code.PRECONDITION_FAILED: Row(
        L.INVALID_SPEC, S.FAILED_PRECONDITION, 412, 412, "precondition_failed"
    ),
    Code.REQUEST_CONFLICT: Row(L.INVALID_SPEC, S.ALREADY_EXISTS, 409, 409, "request_conflict"),
    Code.UNAUTHENTICATED: Row(L.PERMISSION_DENIED, S.UNAUTHENTICATED, 401, 401, "unauthenticated"),
    Code.PERMISSION_DENIED: Row(
        L.PERMISSION_DENIED, S.PERMISSION_DENIED, 403, 403, "permission_denied"
    ),
    Code.SESSION_EXPIRED: Row(L.SESSION_EXPIRED, S.NOT_FOUND, 404, 404, "session_expired"),
    Code.SESSION_LIMIT: Row(L.SESSION_LIMIT, S.FAILED_PRECONDITION, 409, 409, "session_limit"),
    Code.SESSION_UNKNOWN: Row(L.SESSION_UNKNOWN, S.NOT_FOUND, 404, 404, "session_unknown"),
    Code.SESSION_BUSY: Row(L.GUEST_UNAVAILABLE, S.ABORTED, 409, 409, "session_busy"),
    Code.GUEST_UNAVAILABLE: Row(L.GUEST_UNAVAILABLE, S.UNAVAILABLE, 502, 503, "guest_unavailable"),
    Code.GUEST_BUSY: Row(L.GUEST_UNAVAILABLE, S.RESOURCE_EXHAUSTED, 503, 503, "guest_busy"),
    Code.PATH_DENIED: Row(L.PATH_DENIED, S.PERMISSION_DENIED, 400, 400, "path_denied"),
    Code.PATH_NOT_FOUND: Row(L.NOT_FOUND, S.NOT_FOUND, 404, 404, "path_not_found"),
    Code.PATH_EXISTS: Row(L.EXISTS, S.ALREADY_EXISTS, 409, 409, "exists"),
    Code.PROCESS_NOT_FOUND: Row(L.NOT_FOUND, S.NOT_FOUND, 404, 404, "process_not_found"),
    Code.OUTPUT_LOST: Row(L.NOT_FOUND, S.DATA_LOSS, 410, 410, "output_lost"),
    Code.TOO_LARGE: Row(L.TOO_LARGE, S.OUT_OF_RANGE, 413, 413, "too_large"),
    Code.GUEST_IO: Row(L.GUEST_IO, S.ABORTED, 500, 500, "guest_io"),
    Code.TIMEOUT: Row(L.TIMEOUT, S.DEADLINE_EXCEEDED, 504, 504, "timeout"),
    Code.NO_SPACE: Row(L.INTERNAL, S.RESOURCE_EXHAUSTED, 507, 500, "no_space"),
    Code.UNIMPLEMENTED: Row(L.INVALID_SPEC, S.UNIMPLEMENTED, 501, 501, "unimplemented"),
    Code.INTERNAL: Row(L.INTERNAL, S.INTERNAL, 500, 500, "internal"),
}


def facts(error: EngineError) -> dict[str, str]:
    """What an error carries besides its words, as text."""
    told = {name: value for name, value in vars(error).items() if name != "retry_after_s"}
    return {name: _text(value) for name, value in told.items()}


def _text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def wire_text(text: str) -> str:
    """Text that any wire takes: bytes of the guest that are no UTF-8 become U+FFFD."""
    if text.isascii():
        return text
    return text.encode(errors="surrogateescape").decode(errors="replace")


def known(error: BaseException, call: str) -> EngineError:
    """`error` as callers may see it: one that nobody foresaw is logged, and named by a mark."""
    if isinstance(error, EngineError):
        return error
    mark = os.urandom(4).hex()
    _log.error("a call failed unexpectedly", call=call, mark=mark, exc_info=error)
    return EngineError(f"internal error; the engine's log has it under {mark}")
