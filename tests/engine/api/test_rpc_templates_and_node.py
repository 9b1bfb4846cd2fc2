"""`TemplateService` and `NodeService`."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from sandbox.v1 import node_pb2, node_pb2_grpc, sandboxes_pb2, templates_pb2_grpc
from sandbox.v1 import templates_pb2 as pb

from tests.engine.api.fakes import World, manifest
from tests.engine.api.rpc_errors import read, refusal

DEBIAN = pb.TemplateSource(debian=pb.DebianSource(suite="bookworm", include=["git"]))


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> Any:
    return templates_pb2_grpc.TemplateServiceStub(channel)


@pytest.fixture
def node(channel: grpc.aio.Channel) -> Any:
    return node_pb2_grpc.NodeServiceStub(channel)


async def test_a_build_tells_its_steps_and_then_the_template(stub: Any, world: World) -> None:
    request = pb.BuildTemplateRequest(
        name="base", source=DEBIAN, memory_mib=256, warmup=["true"], force=True
    )
    answers = [answer async for answer in stub.BuildTemplate(request)]
    kernel, rootfs = answers[0].progress, answers[1].progress
    assert (kernel.step, kernel.index, kernel.count) == ("kernel", 1, 6)
    assert (kernel.done, kernel.cached, kernel.HasField("fraction")) == (True, True, False)
    assert (rootfs.index, rootfs.done, rootfs.fraction, rootfs.detail) == (4, False, 0.5, "unpack")
    assert answers[-1].template.name == "base"
    (build,) = world.templates.builds
    assert (build.source, build.include, build.memory_mib) == ("debian:bookworm", ("git",), 256)
    assert (build.vcpus, build.disk_mib, build.warmup, build.force) == (1, 1024, ("true",), True)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (pb.TemplateSource(tar_file="/x.tar"), "tar:/x.tar"),
        (pb.TemplateSource(directory="/tree"), "dir:/tree"),
    ],
)
async def test_every_source_is_named(
    stub: Any, world: World, source: pb.TemplateSource, text: str
) -> None:
    request = pb.BuildTemplateRequest(name="base", source=source)
    assert [answer async for answer in stub.BuildTemplate(request)]
    assert world.templates.builds[0].source == text


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "base"}, "INVALID_ARGUMENT"),
        ({"name": "../x", "source": DEBIAN}, "INVALID_ARGUMENT"),
        ({"name": "base", "source": DEBIAN, "memory_mib": 1}, "INVALID_ARGUMENT"),
        ({"name": "base", "source": pb.TemplateSource(oci_image="x")}, "UNIMPLEMENTED"),
        ({"name": "base", "source": DEBIAN, "detach": True}, "UNIMPLEMENTED"),
    ],
)
async def test_a_build_that_cannot_be_is_refused(
    stub: Any, world: World, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.BuildTemplate(pb.BuildTemplateRequest(**fields)).read()
    assert read(caught.value).reason == reason
    assert not world.templates.builds


async def test_a_cancelled_build_is_stopped(stub: Any, world: World) -> None:
    world.templates.gate = asyncio.Event()
    call = stub.BuildTemplate(pb.BuildTemplateRequest(name="base", source=DEBIAN))
    await call.read()
    await world.templates.building.wait()
    call.cancel()
    await world.templates.stopped.wait()
    assert not world.templates.shelf


async def test_list_get_verify_remove(stub: Any, world: World) -> None:
    world.templates.shelf = {name: manifest(name) for name in ("b", "a", "c")}
    first = await stub.ListTemplates(pb.ListTemplatesRequest(page_size=2))
    request = pb.ListTemplatesRequest(page_size=2, page_token=first.next_page_token)
    second = await stub.ListTemplates(request)
    names = [each.name for each in (*first.templates, *second.templates)]
    assert (names, second.next_page_token) == (["a", "b", "c"], "")
    found = (await stub.GetTemplate(pb.GetTemplateRequest(name="a"))).template
    assert found.state == pb.TEMPLATE_STATE_READY
    assert found.digest.startswith("sha256:")
    assert (found.platform.vmm, found.platform.kernel, found.size_bytes) == (
        "qemu 7.2",
        "6.1",
        4000,
    )
    assert found.create_time.ToJsonString() == "2026-09-01T00:00:00Z"
    verdict = await stub.VerifyTemplate(pb.VerifyTemplateRequest(name="a"))
    assert (verdict.ok, list(verdict.differences)) == (True, [])
    world.templates.differences = ["rootfs.ext4: another hash"]
    verdict = await stub.VerifyTemplate(pb.VerifyTemplateRequest(name="a"))
    assert (verdict.ok, list(verdict.differences)) == (False, ["rootfs.ext4: another hash"])
    await stub.RemoveTemplate(pb.RemoveTemplateRequest(name="a"))
    refused = await refusal(stub.GetTemplate(pb.GetTemplateRequest(name="a")))
    assert refused.reason == "TEMPLATE_NOT_FOUND"
    assert dict(refused.details["ErrorInfo"].metadata) == {"name": "a"}


async def test_node_info(node: Any) -> None:
    info = (await node.GetNodeInfo(node_pb2.GetNodeInfoRequest())).node
    assert (info.version, info.vmm, info.accel, info.sandboxes) == ("1.2.3", "qemu 7.2", "tcg", 3)
    (pool,) = info.pools
    assert (pool.config.template, pool.target, pool.ready, pool.hits) == ("old", 2, 1, 5)


async def test_a_pool_is_told_what_becomes_of_idlers(node: Any) -> None:
    config = node_pb2.PoolConfig(template="base", warm=1)
    config.idle_hibernate.FromSeconds(10)
    config.archive_after.FromMilliseconds(10_500)
    config.archive_delete_after.FromSeconds(60)
    answer = await node.SetPools(node_pb2.SetPoolsRequest(pools=[config]))
    assert config in [pool.config for pool in answer.pools]
    config.archive_after.FromSeconds(10)
    refused = await refusal(node.SetPools(node_pb2.SetPoolsRequest(pools=[config])))
    assert refused.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "pools.archive_after: must be above idle_hibernate" in refused.message
    config.archive_after.FromSeconds(-1)
    refused = await refusal(node.SetPools(node_pb2.SetPoolsRequest(pools=[config])))
    assert "no duration may be negative" in refused.message


async def test_set_pools_replaces_the_set(node: Any, world: World) -> None:
    pools = [node_pb2.PoolConfig(template="new", warm=3)]
    await node.SetPools(node_pb2.SetPoolsRequest(pools=pools))
    assert world.node.targets == {"old": (0, 0), "new": (3, 1)}


@pytest.mark.parametrize(
    ("pools", "reason"),
    [
        ([{"template": "a"}, {"template": "a"}], "INVALID_ARGUMENT"),
        ([{"template": "a", "warm_max": 5}], "UNIMPLEMENTED"),
        ([{"template": "a", "net": sandboxes_pb2.NET_LANE_EGRESS}], "UNIMPLEMENTED"),
    ],
)
async def test_pools_that_cannot_be_change_nothing(
    node: Any, world: World, pools: list[dict[str, Any]], reason: str
) -> None:
    request = node_pb2.SetPoolsRequest(pools=[node_pb2.PoolConfig(**each) for each in pools])
    assert (await refusal(node.SetPools(request))).reason == reason
    assert world.node.targets == {"old": (2, 1)}


async def test_drain_and_undrain(node: Any) -> None:
    assert (await node.Drain(node_pb2.DrainRequest())).node.draining
    assert not (await node.Undrain(node_pb2.UndrainRequest())).node.draining


async def test_diagnose_says_what_slows_or_weakens_the_node(node: Any) -> None:
    found = (await node.Diagnose(node_pb2.DiagnoseRequest())).diagnoses
    levels = {each.name: each.level for each in found}
    assert levels == {
        "accelerator": node_pb2.DIAGNOSIS_LEVEL_WARNING,
        "cgroups": node_pb2.DIAGNOSIS_LEVEL_WARNING,
    }
    assert all(each.found and each.advice for each in found)
