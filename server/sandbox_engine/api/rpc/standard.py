"""The services every gRPC server is expected to have: health and reflection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH
from grpc_health.v1.health import aio as health_aio
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.reflection import SERVICE_NAME as REFLECTION_ALPHA
from grpc_reflection.v1alpha.reflection import aio as reflection_aio

REFLECTION = "grpc.reflection.v1.ServerReflection"
"""Same messages as v1alpha, under the name that newer clients ask for."""


class Health:
    """`grpc.health.v1`: the whole server and each service of it."""

    def __init__(self, services: Sequence[ServiceDescriptor]) -> None:
        self._names = ["", *(service.full_name for service in services)]
        self._servicer = health_aio.HealthServicer()

    def add_to(self, server: grpc.aio.Server) -> None:
        """Serve it."""
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def serving(self) -> None:
        """Everything answers."""
        for name in self._names:
            await self._servicer.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def stopping(self) -> None:
        """Nothing does any more; watchers are told."""
        await self._servicer.enter_graceful_shutdown()


class _Pool:
    """The default pool, which does not find methods by name, and does here."""

    def __init__(self) -> None:
        self._pool = descriptor_pool.Default()

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:  # noqa: N802 - the pool's
        """The file of a type, a service, or a method.  Raises `KeyError`."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            service, _, method = symbol.rpartition(".")
            found = self._pool.FindServiceByName(service)
            if method not in found.methods_by_name:
                raise
            return found.file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def add_reflection(server: grpc.aio.Server, services: Sequence[ServiceDescriptor]) -> None:
    """Serve reflection, v1 and v1alpha, of `services`.

    What is listed can be described, which v1 itself cannot: it has no descriptor here.
    """
    names = [*(service.full_name for service in services), HEALTH, REFLECTION_ALPHA]
    servicer = reflection_aio.ReflectionServicer(names, pool=_Pool())
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    for name in (REFLECTION, REFLECTION_ALPHA):
        handler = grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method})
        server.add_generic_rpc_handlers((handler,))
