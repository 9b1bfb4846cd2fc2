"""An `EngineError` as `google.rpc.Status`, with what a client can act on."""

from __future__ import annotations

import math

from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from sandbox_engine.api.errors import TABLE, facts, wire_text
from sandbox_engine.errors import EngineError, InvalidArgument

DOMAIN = "sandbox-engine"
FIELD_PATHS = {
    "env_vars": "env",
    "vcpus": "vcpu_count",
    "ttl_seconds": "ttl",
    "pool_wait_ms": "pool_wait",
    "egress_allow": "egress.allow",
    "egress_deny_all": "egress.deny_all",
    "timeout_ms": "timeout",
}
"""Fields whose name in a request of this door is not the one the model says."""


def status_of(error: EngineError) -> status_pb2.Status:
    """Code and words by the table; ErrorInfo always, RetryInfo and BadRequest where they apply."""
    told = facts(error)
    message = str(error)
    details: list[Message] = []
    if isinstance(error, InvalidArgument):
        path = FIELD_PATHS.get(error.field, error.field)
        message = f"{path}: {error.problem}"
        told = {"field": path}
        details.append(_bad_request(path, error.problem))
    if error.retry_after_s is not None:
        details.append(_retry(error.retry_after_s))
    metadata = {name: wire_text(value) for name, value in told.items()}
    info = error_details_pb2.ErrorInfo(reason=error.code.value, domain=DOMAIN, metadata=metadata)
    return status_pb2.Status(
        code=TABLE[error.code].grpc.value[0],
        message=wire_text(message),
        details=[_packed(detail) for detail in (info, *details)],
    )


def _bad_request(path: str, problem: str) -> error_details_pb2.BadRequest:
    violation = error_details_pb2.BadRequest.FieldViolation(
        field=wire_text(path), description=wire_text(problem)
    )
    return error_details_pb2.BadRequest(field_violations=[violation])


def _retry(after_s: float) -> error_details_pb2.RetryInfo:
    retry = error_details_pb2.RetryInfo()
    part, whole = math.modf(after_s)
    retry.retry_delay.seconds, retry.retry_delay.nanos = int(whole), int(part * 1e9)
    return retry


def _packed(detail: Message) -> Any:
    packed = Any()
    packed.Pack(detail)
    return packed
