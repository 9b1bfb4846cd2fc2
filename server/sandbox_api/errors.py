"""Every error of this API: one class, and the table that engine errors are mapped by."""

from __future__ import annotations

import math
from typing import Self

RETRY_S = 1.0
"""`Retry-After` where the engine named no time."""

TABLE: dict[str, tuple[int, str]] = {
    "INVALID_ARGUMENT": (400, "invalid_argument"),
    "TEMPLATE_NOT_FOUND": (400, "template_not_found"),
    "TEMPLATE_CORRUPT": (500, "template_corrupt"),
    "TEMPLATE_INCOMPATIBLE": (500, "template_incompatible"),
    "TEMPLATE_BUSY": (409, "template_busy"),
    "POOL_EXHAUSTED": (429, "pool_exhausted"),
    "LIMIT_REACHED": (429, "limit_reached"),
    "DRAINING": (429, "draining"),
    "SANDBOX_NOT_FOUND": (404, "not_found"),
    "STATE_CONFLICT": (409, "state_conflict"),
    "CHECKPOINT_NOT_FOUND": (404, "checkpoint_not_found"),
    "PRECONDITION_FAILED": (412, "precondition_failed"),
    "REQUEST_CONFLICT": (409, "request_conflict"),
    "UNAUTHENTICATED": (401, "unauthenticated"),
    "PERMISSION_DENIED": (403, "permission_denied"),
    "SESSION_EXPIRED": (404, "session_expired"),
    "SESSION_LIMIT": (409, "session_limit"),
    "SESSION_UNKNOWN": (404, "session_unknown"),
    "SESSION_BUSY": (409, "session_busy"),
    "GUEST_UNAVAILABLE": (503, "guest_unavailable"),
    "GUEST_BUSY": (503, "guest_busy"),
    "PATH_DENIED": (400, "path_denied"),
    "PATH_NOT_FOUND": (404, "path_not_found"),
    "PATH_EXISTS": (409, "exists"),
    "PROCESS_NOT_FOUND": (404, "process_not_found"),
    "OUTPUT_LOST": (410, "output_lost"),
    "TOO_LARGE": (413, "too_large"),
    "GUEST_IO": (500, "guest_io"),
    "TIMEOUT": (504, "timeout"),
    "NO_SPACE": (500, "no_space"),
    "UNIMPLEMENTED": (501, "unimplemented"),
    "INTERNAL": (500, "internal"),
}
"""`ErrorInfo.reason` of the engine to status and `error.code` (seed "Errors")."""


class ApiError(Exception):
    """An answer that is no success."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        retry_after_s: float | None = None,
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message
        if retry_after_s is None and status in (429, 503):
            retry_after_s = RETRY_S
        self.retry_after_s = retry_after_s
        self.reason = reason
        """The engine's name for it; empty for one of this API's own."""

    @classmethod
    def invalid(cls, message: str) -> Self:
        """400: the request can never be served."""
        return cls(400, "invalid_argument", message)

    @classmethod
    def no_session(cls) -> Self:
        """404, the same for a session that is not there and for another principal's."""
        return cls(404, "not_found", "no such session")

    @classmethod
    def unreachable(cls) -> Self:
        """503: the engine does not answer now."""
        return cls(503, "engine_unreachable", "the engine cannot be reached now; try again")

    @property
    def headers(self) -> dict[str, str]:
        """Headers that belong to it."""
        found = {}
        if self.retry_after_s is not None:
            found["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        if self.status == 401:
            found["WWW-Authenticate"] = 'Bearer realm="sandbox-api"'
        return found


def of_engine(reason: str, message: str, retry_after_s: float | None) -> ApiError:
    """An error that the engine named."""
    status, code = TABLE.get(reason, (500, "internal"))
    return ApiError(status, code, message, retry_after_s=retry_after_s, reason=reason)
