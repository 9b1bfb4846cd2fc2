"""What a client can read out of a failed call."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, NamedTuple

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status


class Refusal(NamedTuple):
    """A failed call."""

    code: grpc.StatusCode
    message: str
    reason: str
    details: dict[str, Any]


async def refusal(call: Awaitable[Any]) -> Refusal:
    """The failure of `call`, which must carry an ErrorInfo of this engine."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return read(caught.value)


def read(error: grpc.aio.AioRpcError) -> Refusal:
    """Its parts."""
    status = rpc_status.from_call(error)
    assert status is not None
    details = {}
    for detail in status.details:
        name = detail.TypeName().rpartition(".")[2]
        message = getattr(error_details_pb2, name)()
        assert detail.Unpack(message)
        details[name] = message
    assert details["ErrorInfo"].domain == "sandbox-engine"
    return Refusal(error.code(), status.message, details["ErrorInfo"].reason, details)
