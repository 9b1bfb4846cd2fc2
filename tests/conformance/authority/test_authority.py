"""What an engine promises its broker (`BrokerService`), asked of the engine's own service and of
the scripted one that the broker's tests run against: over a socket, by the broker's own client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import grpc
import grpc.aio
import pytest
from sandbox.v1 import broker_pb2 as pb
from sandbox.v1 import broker_pb2_grpc as rpc
from sandbox_broker.authority import BATCH, LONGEST_AGE_S, EngineAuthority
from sandbox_broker.errors import Unidentified
from sandbox_broker.record import Counters, Recorder
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.services.egress import Policies

from tests.broker.world import ScriptedEngine, rule
from tests.egress.world import World
from tests.fakes.services import OPERATOR

HOST = "index.example"
NOBODY = "0" * 64


@dataclass(frozen=True)
class Guest:
    """One sandbox that there is."""

    sandbox_id: str
    token: str
    address: str


class Subject(Protocol):
    """An engine."""

    path: Path

    async def guest(self, *, deny_all: bool = False) -> Guest:
        """A sandbox that may reach `HOST`, or nothing, and has an address where it may."""

    async def end(self, guest: Guest) -> None:
        """It is destroyed."""


class Scripted:
    """The broker's tests'."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "broker.sock"
        self.engine = ScriptedEngine(self.path)
        self._made = 0

    async def guest(self, *, deny_all: bool = False) -> Guest:
        self._made += 1
        made = Guest(f"sb_{self._made}", f"{self._made:064x}", "" if deny_all else "169.254.9.2")
        rules = () if deny_all else (rule(HOST),)
        more = {"deny_all": deny_all, "address": made.address, "sandbox_number": self._made}
        self.engine.grant(made.token, made.sandbox_id, *rules, **more)
        return made

    async def end(self, guest: Guest) -> None:
        del self.engine.by_token[guest.token], self.engine.by_sandbox[guest.sandbox_id]
        self.engine.revoke(guest.sandbox_id)


class Real:
    """The engine's services over fakes, behind the real server."""

    def __init__(self, world: World) -> None:
        self.path, self._world = world.path, world

    async def guest(self, *, deny_all: bool = False) -> Guest:
        created = await self._world.create(egress_deny_all=deny_all)
        sandbox = created.sandbox
        return Guest(sandbox.id, created.session_token, sandbox.address)

    async def end(self, guest: Guest) -> None:
        await self._world.services.sandboxes.destroy(OPERATOR, guest.sandbox_id)


@pytest.fixture(params=["engine", "scripted"])
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    if request.param == "scripted":
        scripted = Scripted(tmp_path)
        yield scripted
        await asyncio.to_thread(scripted.engine.close)
        return
    world = World(tmp_path, Policies(allowed_services=(HOST,)), 8080)
    await world.start()
    yield Real(world)
    await world.stop()


@pytest.fixture
async def stub(subject: Subject) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(f"unix:{subject.path}") as channel:
        yield rpc.BrokerServiceStub(channel)


async def asked(stub: Any, **identity: str) -> pb.AuthorizeResponse:
    answer: pb.AuthorizeResponse = await stub.Authorize(pb.AuthorizeRequest(**identity))
    return answer


async def is_nobody(stub: Any, **identity: str) -> bool:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await asked(stub, **identity)
    return caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_a_guest_is_the_same_by_token_and_by_channel(subject: Subject, stub: Any) -> None:
    guest = await subject.guest()
    by_token = await asked(stub, session_token=guest.token)
    assert by_token == await asked(stub, sandbox_id=guest.sandbox_id)
    assert (by_token.sandbox_id, by_token.address) == (guest.sandbox_id, guest.address)
    assert guest.address
    assert by_token.sandbox_number
    (one,) = by_token.rules
    assert (one.host, one.named, by_token.deny_all) == (HOST, True, False)
    assert by_token.HasField("max_age")
    assert by_token.max_age.ToTimedelta().total_seconds() <= LONGEST_AGE_S


async def test_one_that_may_reach_nothing_is_known_all_the_same(
    subject: Subject, stub: Any
) -> None:
    guest = await subject.guest(deny_all=True)
    answer = await asked(stub, session_token=guest.token)
    assert (answer.deny_all, list(answer.rules), answer.address) == (True, [], "")


async def test_nobody_is_nobody(subject: Subject, stub: Any) -> None:
    guest = await subject.guest()
    for identity in (
        {"session_token": NOBODY},
        {"session_token": guest.sandbox_id},
        {"sandbox_id": guest.token},
        {"sandbox_id": "sb_none"},
        {},
    ):
        assert await is_nobody(stub, **identity), identity


async def test_a_watch_is_armed_first_and_everyone_is_told_of_an_end(
    subject: Subject, stub: Any
) -> None:
    guest, other = await subject.guest(), await subject.guest()
    async with watching(stub) as one, watching(stub) as two:
        await subject.end(guest)
        for watch in (one, two):
            assert list((await watch.read()).sandbox_ids) == [guest.sandbox_id]
    assert await is_nobody(stub, session_token=guest.token)
    assert await is_nobody(stub, sandbox_id=guest.sandbox_id)
    assert (await asked(stub, session_token=other.token)).sandbox_id == other.sandbox_id


@asynccontextmanager
async def watching(stub: Any) -> AsyncIterator[Any]:
    watch = stub.WatchRevocations(pb.WatchRevocationsRequest())
    assert list((await watch.read()).sandbox_ids) == []
    yield watch
    watch.cancel()


async def test_reports_are_taken_of_whomever(subject: Subject, stub: Any) -> None:
    guest = await subject.guest()
    ids = [guest.sandbox_id, "sb_gone"] * (BATCH // 2)
    events = [pb.EgressEvent(sandbox_id=one, host=HOST, decision="denied_policy") for one in ids]
    assert await stub.ReportEgress(pb.ReportEgressRequest(events=events)) is not None


async def test_the_broker_s_client_keeps_an_answer_no_longer_than_it_holds(
    subject: Subject,
) -> None:
    guest = await subject.guest()
    told: asyncio.Queue[str] = asyncio.Queue()
    client = EngineAuthority(f"unix:{subject.path}", told.put_nowait)
    watch = spawn(client.watch(), name="watch")
    try:
        while not client._armed:
            await asyncio.sleep(0.01)
        grant = await client.by_token(guest.token)
        assert grant == await client.by_sandbox(guest.sandbox_id)
        assert (grant.sandbox_id, grant.address) == (guest.sandbox_id, guest.address)
        await subject.end(guest)
        assert await told.get() == guest.sandbox_id
        for ask in (client.by_token(guest.token), client.by_sandbox(guest.sandbox_id)):
            with pytest.raises(Unidentified):
                await ask
        recorder = Recorder(Counters(1), 0)
        entry = recorder.begin(guest.sandbox_id, HOST, 443, "GET")
        entry.decision = "allowed_anonymous"
        recorder.finish(entry)
        assert not await client.report_once(recorder)
        assert not recorder.pending
    finally:
        await cancel(watch)
        await client.close()
