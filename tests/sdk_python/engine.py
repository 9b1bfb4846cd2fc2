"""A gRPC server that answers creates and reads as a test says: for what a real engine does
only under load, such as failing twice and then not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from sandbox.v1 import guest_pb2, sandboxes_pb2


def failure(
    code: grpc.StatusCode, reason: str, *, retry_s: float | None = None, **metadata: str
) -> grpc.Status:
    """A status with the details the engine gives."""
    info = error_details_pb2.ErrorInfo(domain="sandbox-engine", reason=reason, metadata=metadata)
    details: list[any_pb2.Any] = []
    for message in (info, _retry(retry_s)):
        if message is not None:
            packed = any_pb2.Any()
            packed.Pack(message)
            details.append(packed)
    text = f"because of {reason}"
    status: grpc.Status = rpc_status.to_status(
        status_pb2.Status(code=int(code.value[0]), message=text, details=details)
    )
    return status


def _retry(seconds: float | None) -> error_details_pb2.RetryInfo | None:
    if seconds is None:
        return None
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromNanoseconds(int(seconds * 1e9))
    return retry


class Scripted:
    """Fails each call with the next of `failures`, until there is none."""

    def __init__(self) -> None:
        self.failures: list[grpc.Status] = []
        self.request_ids: list[str] = []
        self.calls: list[str] = []

    def handlers(self) -> tuple[grpc.GenericRpcHandler, ...]:
        """Of the three calls that are scripted."""
        create = grpc.unary_unary_rpc_method_handler(
            self.create,
            sandboxes_pb2.CreateSandboxRequest.FromString,
            sandboxes_pb2.CreateSandboxResponse.SerializeToString,
        )
        fork = grpc.unary_unary_rpc_method_handler(
            self.fork,
            sandboxes_pb2.ForkSandboxRequest.FromString,
            sandboxes_pb2.ForkSandboxResponse.SerializeToString,
        )
        live = grpc.stream_stream_rpc_method_handler(
            self.exec,
            guest_pb2.ExecRequest.FromString,
            guest_pb2.ExecResponse.SerializeToString,
        )
        sandboxes: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
            "CreateSandbox": create,
            "ForkSandbox": fork,
        }
        return (
            grpc.method_handlers_generic_handler("sandbox.v1.SandboxService", sandboxes),
            grpc.method_handlers_generic_handler("sandbox.v1.GuestService", {"Exec": live}),
        )

    def _called(self, name: str, context: grpc.ServicerContext) -> None:
        self.calls.append(name)
        if self.failures:
            context.abort_with_status(self.failures.pop(0))

    def create(
        self, request: sandboxes_pb2.CreateSandboxRequest, context: grpc.ServicerContext
    ) -> sandboxes_pb2.CreateSandboxResponse:
        self.request_ids.append(request.request_id)
        self._called("create", context)
        made = sandboxes_pb2.Sandbox(id="sb_1", state=99)  # type: ignore[arg-type]  # a newer one
        return sandboxes_pb2.CreateSandboxResponse(sandbox=made)

    def fork(
        self, _request: sandboxes_pb2.ForkSandboxRequest, context: grpc.ServicerContext
    ) -> sandboxes_pb2.ForkSandboxResponse:
        self._called("fork", context)
        return sandboxes_pb2.ForkSandboxResponse()

    def exec(
        self, requests: Iterator[guest_pb2.ExecRequest], context: grpc.ServicerContext
    ) -> Iterator[guest_pb2.ExecResponse]:
        """An exit, where there is any; the output cuts every character in two."""
        next(requests)
        self._called("exec", context)
        yield guest_pb2.ExecResponse(started=guest_pb2.ExecStarted(pid=7))
        for at, byte in enumerate("grün €".encode() + b"\xe2\x82"):
            piece = guest_pb2.ExecOutput(offset=at, data=bytes([byte]))
            yield guest_pb2.ExecResponse(out=piece)
        yield guest_pb2.ExecResponse(exit=guest_pb2.ExecExit(code=3, out_total=11))


@contextmanager
def scripted(folder: Path) -> Iterator[tuple[Scripted, Path]]:
    """One that serves on the socket."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    made, path = Scripted(), folder / "grpc.sock"
    server.add_generic_rpc_handlers(made.handlers())
    server.add_insecure_port(f"unix:{path}")
    server.start()
    try:
        yield made, path
    finally:
        server.stop(None).wait()
