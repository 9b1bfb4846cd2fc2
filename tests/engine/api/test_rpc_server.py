"""The server itself: registration, health, reflection, tokens, sockets."""

from __future__ import annotations

import hashlib
import inspect
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf import descriptor_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from sandbox.v1 import node_pb2, node_pb2_grpc, sandboxes_pb2, sandboxes_pb2_grpc, workspaces_pb2
from sandbox.v1.workspaces_pb2_grpc import WorkspaceServiceStub
from sandbox_engine.api.rpc.dispatch import python_name
from sandbox_engine.api.rpc.guest import GuestServicer
from sandbox_engine.api.rpc.node import NodeServicer
from sandbox_engine.api.rpc.sandboxes import SandboxServicer
from sandbox_engine.api.rpc.server import MAX_RECEIVE, SERVICES, RpcServer
from sandbox_engine.api.rpc.templates import TemplateServicer
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.observe.tasks import settle
from sandbox_engine.services.sessions import Sessions

from tests.engine.api.fakes import FakeStates, World
from tests.engine.api.rpc_errors import refusal

S = grpc.StatusCode
TOKEN = "correct horse battery staple"
SERVICERS = {
    "SandboxService": SandboxServicer,
    "GuestService": GuestServicer,
    "TemplateService": TemplateServicer,
    "NodeService": NodeServicer,
}
FILES = [
    "sandboxes", "guest", "checkpoints", "templates", "workspaces", "node", "broker",
]  # fmt: skip


def server_at(path: Path, world: World, listen: str = "") -> RpcServer:
    return RpcServer(
        sandboxes=world.sandboxes,
        execs=world.execs,
        files=world.files,
        sessions=Sessions(world.sandboxes),
        templates=world.templates,
        states=FakeStates(),
        node=world.node,
        path=path,
        listen=listen,
        tokens={"ci": hashlib.sha256(TOKEN.encode()).hexdigest(), "other": "00" * 32},
    )


def test_every_service_of_the_api_is_registered() -> None:
    assert {service.full_name for service in SERVICES} == {
        f"sandbox.v1.{name}Service"
        for name in (
            "Sandbox", "Guest", "Checkpoint", "Template", "Workspace", "Node", "Broker",
        )
    }  # fmt: skip


def test_every_public_method_of_a_servicer_is_one_of_its_service() -> None:
    """A misspelt method would be answered as unimplemented and nobody would know."""
    services = {service.name: service for service in SERVICES}
    for name, servicer in SERVICERS.items():
        known = {python_name(method.name) for method in services[name].methods}
        has = {each for each, _ in inspect.getmembers(servicer, inspect.isfunction)} - {"stop"}
        assert {each for each in has if not each.startswith("_")} <= known, name


@pytest.mark.parametrize(
    ("stub", "method", "request_"),
    [
        (WorkspaceServiceStub, "GetWorkspace", workspaces_pb2.GetWorkspaceRequest()),
    ],
)
async def test_a_service_of_a_later_part_says_so(
    channel: grpc.aio.Channel, stub: Any, method: str, request_: Any
) -> None:
    refused = await refusal(getattr(stub(channel), method)(request_))
    assert (refused.code, refused.reason) == (S.UNIMPLEMENTED, "UNIMPLEMENTED")


@pytest.mark.parametrize("name", ["", "sandbox.v1.SandboxService", "sandbox.v1.NodeService"])
async def test_health(channel: grpc.aio.Channel, name: str) -> None:
    stub: Any = health_pb2_grpc.HealthStub(channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


async def ask_reflection(channel: grpc.aio.Channel, version: str, **question: Any) -> Any:
    method: Any = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )

    async def questions() -> AsyncIterator[Any]:
        yield reflection_pb2.ServerReflectionRequest(**question)

    (answer,) = [answer async for answer in method(questions())]
    return answer


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_reflection_lists_and_describes(channel: grpc.aio.Channel, version: str) -> None:
    listed = await ask_reflection(channel, version, list_services="")
    names = {service.name for service in listed.list_services_response.service}
    assert {service.full_name for service in SERVICES} < names
    assert "grpc.health.v1.Health" in names
    for name in names:
        described = await ask_reflection(channel, version, file_containing_symbol=name)
        files = [
            descriptor_pb2.FileDescriptorProto.FromString(data)
            for data in described.file_descriptor_response.file_descriptor_proto
        ]
        found = {f"{file.package}.{service.name}" for file in files for service in file.service}
        assert name in found


async def test_reflection_finds_a_method_and_nothing_that_is_none(
    channel: grpc.aio.Channel,
) -> None:
    service = "sandbox.v1.SandboxService"
    found = await ask_reflection(channel, "v1", file_containing_symbol=f"{service}.PauseSandbox")
    assert found.file_descriptor_response.file_descriptor_proto
    for name in (f"{service}.NoMethod", "sandbox.v1.NoService.PauseSandbox", "nothing"):
        missing = await ask_reflection(channel, "v1", file_containing_symbol=name)
        assert missing.error_response.error_code == grpc.StatusCode.NOT_FOUND.value[0]


async def test_the_socket_is_for_owner_and_group(rpc_socket: Path) -> None:
    assert stat.S_IMODE(rpc_socket.stat().st_mode) == 0o660
    assert stat.S_IMODE(rpc_socket.parent.stat().st_mode) & 0o007 == 0


async def test_a_living_servers_socket_is_not_taken(rpc_socket: Path, world: World) -> None:
    with pytest.raises(InvalidArgument, match="another server answers"):
        await server_at(rpc_socket, world).start()


async def test_a_message_over_the_limit_is_refused(channel: grpc.aio.Channel) -> None:
    stub: Any = sandboxes_pb2_grpc.SandboxServiceStub(channel)
    request = sandboxes_pb2.GetSandboxRequest(sandbox_id="x" * (MAX_RECEIVE + 1))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.GetSandbox(request)
    assert caught.value.code() is S.RESOURCE_EXHAUSTED


async def test_stopping_ends_sessions_and_removes_the_socket(tmp_path: Path, world: World) -> None:
    path = tmp_path / "grpc.sock"
    server = server_at(path, world)
    await server.start()
    async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
        stub: Any = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        stream = stub.Attach(sandboxes_pb2.AttachRequest())
        session = (await stream.read()).ready.attach_session
        request = sandboxes_pb2.CreateSandboxRequest(template="base", attach_session=session)
        await stub.CreateSandbox(request)
        await server.stop()
        await settle()
    assert not world.sandboxes.boxes
    assert not path.exists()
    await server.stop()  # again, and nothing happens


@pytest.fixture
async def tcp(tmp_path: Path, world: World) -> AsyncIterator[str]:
    """The address of a door that listens on TCP too."""
    server = server_at(tmp_path / "grpc.sock", world, "127.0.0.1:0")
    await server.start()
    yield f"127.0.0.1:{server.port}"
    await server.stop()
    await settle()


async def node_info(address: str, *metadata: tuple[str, str]) -> Any:
    async with grpc.aio.insecure_channel(address) as channel:
        stub: Any = node_pb2_grpc.NodeServiceStub(channel)
        return await stub.GetNodeInfo(node_pb2.GetNodeInfoRequest(), metadata=metadata)


async def test_over_tcp_a_token_is_needed_and_names_the_caller(tcp: str, world: World) -> None:
    assert (await node_info(tcp, ("authorization", f"Bearer {TOKEN}"))).node.version == "1.2.3"
    async with grpc.aio.insecure_channel(tcp) as channel:
        stub: Any = sandboxes_pb2_grpc.SandboxServiceStub(channel)
        request = sandboxes_pb2.CreateSandboxRequest(template="base")
        await stub.CreateSandbox(request, metadata=[("authorization", f"bearer {TOKEN}")])
    assert [caller.name for caller in world.sandboxes.callers] == ["token:ci"]


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        [("authorization", "Bearer wrong")],
        [("authorization", f"Basic {TOKEN}")],
        [("authorization", "Bearer")],
        [("authorization", "Bearer " + "00" * 32)],
    ],
    ids=["none", "wrong", "another scheme", "empty", "a digest"],
)
async def test_over_tcp_anything_else_is_unauthenticated(
    tcp: str, metadata: list[tuple[str, str]]
) -> None:
    refused = await refusal(node_info(tcp, *metadata))
    assert (refused.code, refused.reason) == (S.UNAUTHENTICATED, "UNAUTHENTICATED")


async def test_an_address_that_cannot_be_had_is_named(
    tcp: str, tmp_path: Path, world: World
) -> None:
    with pytest.raises(InvalidArgument, match="grpc_listen"):
        await server_at(tmp_path / "second.sock", world, tcp).start()
