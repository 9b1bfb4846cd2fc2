"""An error of gRPC as one of ours: here, and nowhere else, a status is read."""

from __future__ import annotations

from collections.abc import Iterable

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from sandbox_sdk import errors
from sandbox_sdk.errors import SandboxError

DOMAIN = "sandbox-engine"
DETAILS = "grpc-status-details-bin"
BY_STATUS: dict[grpc.StatusCode, type[SandboxError]] = {
    grpc.StatusCode.CANCELLED: errors.Cancelled,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.Timeout,
    grpc.StatusCode.UNAVAILABLE: errors.ConnectionLost,
    grpc.StatusCode.UNIMPLEMENTED: errors.Unimplemented,
    grpc.StatusCode.UNAUTHENTICATED: errors.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.TooLarge,
}
"""What gRPC says itself, without the engine: then there are no details."""


def failure_of(
    code: grpc.StatusCode, text: str | None, metadata: Iterable[tuple[str, str | bytes]] | None
) -> SandboxError:
    """The error that a finished call's status says."""
    status = _status(metadata)
    info = error_details_pb2.ErrorInfo()
    if not _find(status, info) or info.domain != DOMAIN:
        return BY_STATUS.get(code, errors.Internal)(text or code.name)
    kind = errors.BY_REASON.get(info.reason, SandboxError)
    return kind(
        status.message or text or info.reason,
        reason=info.reason,
        metadata=info.metadata,
        retry_after_s=_retry_after(status),
        fields=_fields(status),
    )


def _status(metadata: Iterable[tuple[str, str | bytes]] | None) -> status_pb2.Status:
    for key, value in metadata or ():
        if key == DETAILS and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                break
    return status_pb2.Status()


def _find(status: status_pb2.Status, into: error_details_pb2.ErrorInfo) -> bool:
    return any(detail.Unpack(into) for detail in status.details)


def _retry_after(status: status_pb2.Status) -> float | None:
    retry = error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Unpack(retry):
            return float(retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9)
    return None


def _fields(status: status_pb2.Status) -> dict[str, str]:
    wrong = error_details_pb2.BadRequest()
    for detail in status.details:
        if detail.Unpack(wrong):
            return {each.field: each.description for each in wrong.field_violations}
    return {}
