"""`SandboxService` by its generated client, over a Unix socket."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from sandbox.v1 import sandboxes_pb2 as pb
from sandbox.v1 import sandboxes_pb2_grpc as pb_grpc
from sandbox_engine.errors import PoolExhausted, StateConflict

from tests.engine.api.clients import until
from tests.engine.api.fakes import TOKEN, World
from tests.engine.api.rpc_errors import refusal

S = grpc.StatusCode


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> Any:
    return pb_grpc.SandboxServiceStub(channel)


def create(**fields: Any) -> pb.CreateSandboxRequest:
    return pb.CreateSandboxRequest(template="base", **fields)


async def test_create_carries_every_field(stub: Any, world: World) -> None:
    answer = await stub.CreateSandbox(
        create(
            request_id="once",
            memory_mib=512,
            vcpu_count=2,
            ttl=Duration(seconds=59, nanos=1),
            pool_wait=Duration(nanos=1_500_001),
            env={"A": pb.EnvVar(value="1")},
            egress=pb.EgressPolicy(allow=["a.example"]),
            session_key="key",
            workspace_ttl=Duration(seconds=7),
            metadata={"team": "a"},
            claim_ref="ns/name",
            net=pb.NET_LANE_EGRESS,
        )
    )
    ((spec, ttl_s, request_id),) = world.sandboxes.creates
    assert (ttl_s, request_id) == (60, "once")
    assert (spec.template, spec.memory_mib, spec.vcpus, spec.env) == ("base", 512, 2, {"A": "1"})
    assert (spec.pool_wait_ms, spec.session_key, spec.workspace_ttl_s) == (2, "key", 7)
    assert (spec.egress_allow, spec.metadata) == (("a.example",), {"team": "a"})
    assert spec.net == "egress"
    assert answer.credentials.token == answer.credentials.session_token == TOKEN
    sandbox = answer.sandbox
    assert (sandbox.id, sandbox.number, sandbox.state) == ("sb_1", 1, pb.SANDBOX_STATE_RUNNING)
    assert (sandbox.memory_mib, sandbox.vcpu_count, sandbox.claim_ref) == (512, 2, "ns/name")
    assert sandbox.create_time.ToNanoseconds() == 1_790_000_000_250_000_000
    lease = sandbox.expire_time.ToDatetime() - sandbox.create_time.ToDatetime()
    assert lease == timedelta(seconds=60)


@pytest.mark.parametrize(
    ("asked", "lane"), [({}, ""), ({"net": 0}, ""), ({"net": 1}, "none"), ({"net": 2}, "egress")]
)
async def test_the_lanes(stub: Any, world: World, asked: dict[str, Any], lane: str) -> None:
    await stub.CreateSandbox(create(**asked))
    ((spec, _, _),) = world.sandboxes.creates
    assert spec.net == lane


async def test_what_a_lease_ends_in(stub: Any) -> None:
    for asked, told in (
        (pb.EXPIRE_ACTION_UNSPECIFIED, pb.EXPIRE_ACTION_DESTROY),
        (pb.EXPIRE_ACTION_DESTROY, pb.EXPIRE_ACTION_DESTROY),
        (pb.EXPIRE_ACTION_ARCHIVE, pb.EXPIRE_ACTION_ARCHIVE),
    ):
        assert (await stub.CreateSandbox(create(on_expire=asked))).sandbox.on_expire == told
    refused = await refusal(stub.CreateSandbox(create(on_expire=9)))
    assert refused.code is S.INVALID_ARGUMENT
    assert "on_expire: 9 is no action" in refused.message


async def test_an_unknown_lane_is_named(stub: Any) -> None:
    refused = await refusal(stub.CreateSandbox(create(net=9)))
    assert refused.code is S.INVALID_ARGUMENT
    assert "9 is no network lane" in refused.message


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"size": "small"}, "size"),
        ({"volumes": [pb.VolumeMount(name="v")]}, "volumes"),
        ({"volumes_attach_only": True}, "volumes_attach_only"),
        ({"egress": pb.EgressPolicy(required=True)}, "required"),
        ({"env": {"A": pb.EnvVar(value="x", host_only=True)}}, "host_only"),
        ({"env": {"A": pb.EnvVar(injection=pb.EnvInjection())}}, "injection"),
    ],
)
async def test_what_is_not_served_is_refused_and_not_ignored(
    stub: Any, world: World, fields: dict[str, Any], named: str
) -> None:
    refused = await refusal(stub.CreateSandbox(create(**fields)))
    assert (refused.code, refused.reason) == (S.UNIMPLEMENTED, "UNIMPLEMENTED")
    assert named in refused.message
    assert not world.sandboxes.calls


async def test_defaults_named_by_their_name_are_served(stub: Any) -> None:
    answer = await stub.CreateSandbox(
        create(net=pb.NET_LANE_NONE, on_expire=pb.EXPIRE_ACTION_DESTROY)
    )
    assert answer.sandbox.net == pb.NET_LANE_NONE


async def test_a_retryable_error_says_when(stub: Any, world: World) -> None:
    world.sandboxes.failure = PoolExhausted("none is warm")
    refused = await refusal(stub.CreateSandbox(create()))
    assert (refused.code, refused.reason) == (S.RESOURCE_EXHAUSTED, "POOL_EXHAUSTED")
    assert refused.message == "none is warm"
    assert refused.details["RetryInfo"].retry_delay.seconds == 1


async def test_an_error_carries_its_facts(stub: Any, world: World) -> None:
    world.sandboxes.failure = StateConflict(have="paused", given="fork")
    refused = await refusal(stub.CreateSandbox(create()))
    assert refused.reason == "STATE_CONFLICT"
    assert dict(refused.details["ErrorInfo"].metadata) == {"have": "paused", "given": "fork"}


async def test_an_unforeseen_error_is_internal(stub: Any, world: World) -> None:
    world.sandboxes.failure = ZeroDivisionError("inside")
    refused = await refusal(stub.CreateSandbox(create()))
    assert (refused.code, refused.reason) == (S.INTERNAL, "INTERNAL")
    assert "inside" not in refused.message


async def test_a_wrong_field_is_named(stub: Any) -> None:
    refused = await refusal(stub.ListSandboxes(pb.ListSandboxesRequest(page_size=-1)))
    assert (refused.code, refused.reason) == (S.INVALID_ARGUMENT, "INVALID_ARGUMENT")
    (violation,) = refused.details["BadRequest"].field_violations
    assert violation.field == "page_size"


async def test_get_pause_resume_inspect_renew_destroy(stub: Any, world: World) -> None:
    await stub.CreateSandbox(create())
    assert (await stub.GetSandbox(pb.GetSandboxRequest(sandbox_id="sb_1"))).sandbox.id == "sb_1"
    paused = await stub.PauseSandbox(pb.PauseSandboxRequest(sandbox_id="sb_1"))
    assert paused.sandbox.state == pb.SANDBOX_STATE_PAUSED
    resumed = await stub.ResumeSandbox(pb.ResumeSandboxRequest(sandbox_id="sb_1"))
    assert resumed.sandbox.state == pb.SANDBOX_STATE_RUNNING
    found = await stub.InspectSandbox(pb.InspectSandboxRequest(sandbox_id="sb_1"))
    assert (found.running, found.uptime.ToMilliseconds()) == (True, 1500)
    assert (found.memory_rss_bytes, found.page_faults) == ((1 << 20) + 1, 2**40)
    renew = pb.RenewSandboxRequest(sandbox_id="sb_1", ttl=Duration(seconds=100))
    renewed = await stub.RenewSandbox(renew)
    assert renewed.sandbox.expire_time.seconds == 1_790_000_100
    await stub.DestroySandbox(pb.DestroySandboxRequest(sandbox_id="sb_1"))
    assert not world.sandboxes.boxes


async def test_a_sandbox_that_is_gone_is_not_found_unless_that_is_allowed(stub: Any) -> None:
    request = pb.DestroySandboxRequest(sandbox_id="sb_9")
    refused = await refusal(stub.DestroySandbox(request))
    assert (refused.code, refused.reason) == (S.NOT_FOUND, "SANDBOX_NOT_FOUND")
    request.allow_missing = True
    await stub.DestroySandbox(request)


async def test_a_list_is_walked_page_by_page(stub: Any, world: World) -> None:
    for _ in range(12):
        await stub.CreateSandbox(create())
    seen, token = [], ""
    while True:
        request = pb.ListSandboxesRequest(page_size=5, page_token=token)
        page = await stub.ListSandboxes(request)
        seen += [each.number for each in page.sandboxes]
        token = page.next_page_token
        world.sandboxes.boxes.pop("sb_5", None)  # what was seen may go away meanwhile
        if not token:
            break
    assert seen == list(range(1, 13))


async def test_filters_combine(stub: Any) -> None:
    await stub.CreateSandbox(create(metadata={"team": "a", "x": "1"}, claim_ref="one"))
    await stub.CreateSandbox(create(metadata={"team": "a"}, claim_ref="two"))
    await stub.CreateSandbox(create(metadata={"team": "b"}))
    await stub.PauseSandbox(pb.PauseSandboxRequest(sandbox_id="sb_2"))

    async def numbers(**fields: Any) -> list[int]:
        page = await stub.ListSandboxes(pb.ListSandboxesRequest(**fields))
        return [each.number for each in page.sandboxes]

    assert await numbers(metadata={"team": "a"}) == [1, 2]
    assert await numbers(metadata={"team": "a", "x": "1"}) == [1]
    assert await numbers(claim_ref="two") == [2]
    assert await numbers(states=[pb.SANDBOX_STATE_PAUSED]) == [2]
    assert await numbers(states=[pb.SANDBOX_STATE_PAUSED], claim_ref="one") == []


@pytest.mark.parametrize("token", ["nonsense!", "AAAA"])
async def test_a_page_token_nobody_gave_is_refused(stub: Any, token: str) -> None:
    refused = await refusal(stub.ListSandboxes(pb.ListSandboxesRequest(page_token=token)))
    assert refused.details["BadRequest"].field_violations[0].field == "page_token"


async def test_a_page_token_goes_with_its_filters(stub: Any) -> None:
    for _ in range(3):
        await stub.CreateSandbox(create(claim_ref="x"))
    first = await stub.ListSandboxes(pb.ListSandboxesRequest(page_size=1, claim_ref="x"))
    other = pb.ListSandboxesRequest(page_size=1, page_token=first.next_page_token)
    assert (await refusal(stub.ListSandboxes(other))).reason == "INVALID_ARGUMENT"


async def test_an_attached_session_holds_its_sandboxes_and_no_others(
    stub: Any, world: World
) -> None:
    stream = stub.Attach(pb.AttachRequest())
    session = (await stream.read()).ready.attach_session
    held = await stub.CreateSandbox(create(attach_session=session))
    leased = await stub.CreateSandbox(create())
    assert held.sandbox.attach_session == session
    assert not held.sandbox.HasField("expire_time")
    assert leased.sandbox.HasField("expire_time")
    stream.cancel()
    await until(lambda: set(world.sandboxes.boxes) == {leased.sandbox.id})


async def test_a_session_dies_with_its_channel(rpc_socket: Any, world: World) -> None:
    async with grpc.aio.insecure_channel(f"unix:{rpc_socket}") as channel:
        stub: Any = pb_grpc.SandboxServiceStub(channel)
        session = (await stub.Attach(pb.AttachRequest()).read()).ready.attach_session
        await stub.CreateSandbox(create(attach_session=session))
        assert world.sandboxes.boxes
    await until(lambda: not world.sandboxes.boxes)


async def test_a_create_that_outlasts_its_session_leaves_nothing(stub: Any, world: World) -> None:
    stream = stub.Attach(pb.AttachRequest())
    session = (await stream.read()).ready.attach_session
    world.sandboxes.gate = asyncio.Event()
    call = stub.CreateSandbox(create(attach_session=session))
    await until(lambda: world.sandboxes.creating == 1)
    stream.cancel()
    await until(lambda: ("end_session", session) in world.sandboxes.calls)
    world.sandboxes.gate.set()
    assert (await refusal(call)).reason == "INVALID_ARGUMENT"
    assert not world.sandboxes.boxes


async def test_a_session_nobody_opened_is_refused(stub: Any) -> None:
    refused = await refusal(stub.CreateSandbox(create(attach_session="se_1_guess")))
    assert refused.details["BadRequest"].field_violations[0].field == "attach_session"


async def test_a_cancelled_create_is_cancelled_inside(stub: Any, world: World) -> None:
    world.sandboxes.gate = asyncio.Event()
    call = stub.CreateSandbox(create())
    await until(lambda: world.sandboxes.creating == 1)
    call.cancel()
    await until(lambda: world.sandboxes.cancelled == 1)


async def test_a_deadline_reaches_the_service(stub: Any, world: World) -> None:
    world.sandboxes.gate = asyncio.Event()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.CreateSandbox(create(), timeout=0.05)
    assert caught.value.code() is S.DEADLINE_EXCEEDED
    await until(lambda: world.sandboxes.cancelled == 1)
