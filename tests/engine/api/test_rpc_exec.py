"""A live command over a bidirectional stream."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.duration_pb2 import Duration
from sandbox.v1 import guest_pb2 as pb
from sandbox.v1 import guest_pb2_grpc as pb_grpc
from sandbox_engine.api.rpc.outbox import MERGE_BYTES
from sandbox_engine.errors import GuestUnavailable, PathNotFound, SandboxNotFound
from sandbox_engine.model.exec import Exit, Output, Started, TerminalSize

from tests.engine.api.clients import until
from tests.engine.api.fakes import FakeCommand, World, ended
from tests.engine.api.rpc_errors import read

S = grpc.StatusCode


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> Any:
    return pb_grpc.GuestServiceStub(channel)


class Session:
    """One call under a test's hands, and the command behind it."""

    def __init__(self, call: Any, command: FakeCommand) -> None:
        self.call, self.command = call, command

    def say(self, *events: Any) -> None:
        for event in events:
            self.command.events.put_nowait(event)

    async def rest(self) -> list[pb.ExecResponse]:
        answers = []
        while (answer := await self.call.read()) is not grpc.aio.EOF:
            answers.append(answer)
        return answers


async def begin(stub: Any, world: World, **fields: Any) -> Session:
    call = stub.Exec()
    fields.setdefault("argv", ["cat"])
    await call.write(pb.ExecRequest(start=pb.ExecStart(sandbox_id="sb_1", **fields)))
    return Session(call, await world.execs.commands.get())


async def test_output_arrives_before_the_command_ends(stub: Any, world: World) -> None:
    session = await begin(stub, world)
    session.say(Started(7), Output(stderr=False, data=b"first line\n"))
    started, out = await session.call.read(), await session.call.read()
    assert (started.started.pid, out.out.data) == (7, b"first line\n")
    assert not session.command.killed.is_set()
    session.say(ended(), None)
    (last,) = await session.rest()
    assert last.exit.code == 0


async def test_offsets_count_each_stream_by_itself(stub: Any, world: World) -> None:
    session = await begin(stub, world)
    for stderr, data in ((False, b"abc"), (True, b"x"), (False, b"de"), (True, b"yz")):
        session.say(Output(stderr=stderr, data=data))
    session.say(ended(), None)
    answers = await session.rest()
    pieces = [
        (kind, getattr(answer, kind).offset, getattr(answer, kind).data)
        for answer in answers[:-1]
        if (kind := answer.WhichOneof("message"))
    ]
    assert pieces == [("out", 0, b"abc"), ("err", 0, b"x"), ("out", 3, b"de"), ("err", 1, b"yz")]


async def test_an_exit_tells_everything(stub: Any, world: World) -> None:
    session = await begin(stub, world)
    session.say(
        Exit(
            code=137,
            signal=9,
            timed_out=True,
            truncated=True,
            out_total=2**40,
            err_total=1,
            duration_ms=90_061,
        ),
        None,
    )
    (answer,) = await session.rest()
    assert (answer.exit.code, answer.exit.signal) == (137, 9)
    assert (answer.exit.timed_out, answer.exit.truncated) == (True, True)
    assert (answer.exit.out_total, answer.exit.err_total) == (2**40, 1)
    assert answer.exit.duration.ToMilliseconds() == 90_061
    assert await session.call.code() is S.OK


async def test_the_spec_is_what_was_asked(stub: Any, world: World) -> None:
    session = await begin(
        stub,
        world,
        argv=["sh", "-c", "true"],
        cwd="/tmp",
        env={"A": "1"},
        user="nobody",
        timeout=Duration(seconds=2),
        max_output=100,
        input=True,
        detach=True,
        terminal=pb.TerminalSize(columns=80, rows=24),
    )
    (spec,) = world.execs.specs
    assert (spec.argv, spec.cwd, spec.env, spec.user) == (
        ["sh", "-c", "true"],
        "/tmp",
        {"A": "1"},
        "nobody",
    )
    assert (spec.timeout_ms, spec.max_output, spec.stdin, spec.detach) == (2000, 100, True, True)
    assert spec.terminal == TerminalSize(cols=80, rows=24)
    session.call.cancel()


async def test_output_has_no_limit_where_none_is_asked(stub: Any, world: World) -> None:
    session = await begin(stub, world)
    assert world.execs.specs[0].max_output > 2**40
    session.call.cancel()


async def test_input_signal_resize_and_half_close_reach_the_command(
    stub: Any, world: World
) -> None:
    session = await begin(stub, world, input=True)
    for message in (
        pb.ExecRequest(input=pb.ExecInput(data=b"one")),
        pb.ExecRequest(signal=pb.ExecSignal(signal=15)),
        pb.ExecRequest(resize=pb.TerminalSize(columns=5, rows=6)),
        pb.ExecRequest(close_input=pb.ExecCloseInput()),
    ):
        await session.call.write(message)
    await until(lambda: len(session.command.told) == 4)
    size = TerminalSize(cols=5, rows=6)
    assert session.command.told == [b"one", ("signal", 15), size, "close"]
    session.say(ended(), None)
    await session.rest()


async def test_the_end_of_the_clients_stream_ends_the_input_once(stub: Any, world: World) -> None:
    session = await begin(stub, world, input=True)
    await session.call.write(pb.ExecRequest(input=pb.ExecInput(data=b"x")))
    await session.call.done_writing()
    await until(lambda: "close" in session.command.told)
    session.say(ended(), None)
    await session.rest()
    assert session.command.told == [b"x", "close"]


async def test_a_stream_that_ends_at_once_leaves_a_command_without_input_alone(
    stub: Any, world: World
) -> None:
    session = await begin(stub, world)
    await session.call.done_writing()
    session.say(Started(1), ended(5), None)
    answers = await session.rest()
    assert answers[-1].exit.code == 5
    assert session.command.told == []


@pytest.mark.parametrize(
    ("fields", "messages", "field"),
    [
        ({}, [pb.ExecRequest(input=pb.ExecInput(data=b"x"))], "input"),
        (
            {"input": True},
            [
                pb.ExecRequest(close_input=pb.ExecCloseInput()),
                pb.ExecRequest(input=pb.ExecInput(data=b"x")),
            ],
            "input",
        ),
        ({}, [pb.ExecRequest(start=pb.ExecStart())], "start"),
        ({}, [pb.ExecRequest()], "message"),
    ],
    ids=["not asked for", "closed", "second start", "unknown"],
)
async def test_a_wrong_message_ends_the_call_and_the_command(
    stub: Any, world: World, fields: dict[str, Any], messages: list[Any], field: str
) -> None:
    session = await begin(stub, world, **fields)
    for message in messages:
        await session.call.write(message)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await session.rest()
    (violation,) = read(caught.value).details["BadRequest"].field_violations
    assert violation.field == field
    await session.command.killed.wait()


async def test_an_input_message_has_a_limit(stub: Any, world: World) -> None:
    session = await begin(stub, world, input=True)
    await session.call.write(pb.ExecRequest(input=pb.ExecInput(data=bytes((1 << 20) + 1))))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await session.rest()
    assert read(caught.value).reason == "TOO_LARGE"


async def test_the_first_message_must_be_start(stub: Any, world: World) -> None:
    call = stub.Exec()
    await call.write(pb.ExecRequest(close_input=pb.ExecCloseInput()))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert read(caught.value).reason == "INVALID_ARGUMENT"


async def test_a_stream_without_a_message_is_refused(stub: Any) -> None:
    call = stub.Exec()
    await call.done_writing()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert read(caught.value).reason == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (PathNotFound("no such command"), "PATH_NOT_FOUND"),
        (GuestUnavailable("x"), "GUEST_UNAVAILABLE"),
    ],
)
async def test_what_was_said_before_an_error_still_arrives(
    stub: Any, world: World, error: Exception, reason: str
) -> None:
    session = await begin(stub, world)
    session.say(Output(stderr=False, data=b"before"), error)
    assert (await session.call.read()).out.data == b"before"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await session.call.read()
    assert read(caught.value).reason == reason
    await session.command.killed.wait()


async def test_a_sandbox_that_is_gone_is_not_found(stub: Any, world: World) -> None:
    world.execs.failure = SandboxNotFound("sb_1")
    call = stub.Exec()
    await call.write(pb.ExecRequest(start=pb.ExecStart(sandbox_id="sb_1", argv=["true"])))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert read(caught.value).reason == "SANDBOX_NOT_FOUND"


async def test_cancelling_kills_the_command(stub: Any, world: World) -> None:
    session = await begin(stub, world)
    session.say(Started(1))
    await session.call.read()
    session.call.cancel()
    await session.command.killed.wait()


async def test_a_deadline_kills_the_command(stub: Any, world: World) -> None:
    call = stub.Exec(timeout=0.2)
    await call.write(pb.ExecRequest(start=pb.ExecStart(sandbox_id="sb_1", argv=["sleep"])))
    command = await world.execs.commands.get()
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call.read()
    assert caught.value.code() is S.DEADLINE_EXCEEDED
    await command.killed.wait()


async def test_a_client_that_vanishes_kills_the_command(rpc_socket: Any, world: World) -> None:
    async with grpc.aio.insecure_channel(f"unix:{rpc_socket}") as channel:
        session = await begin(pb_grpc.GuestServiceStub(channel), world)
    await session.command.killed.wait()


async def test_small_outputs_are_merged_while_the_client_is_slow(stub: Any, world: World) -> None:
    session = await begin(stub, world)
    session.say(*(Output(stderr=False, data=b"x" * 10) for _ in range(5000)), ended(), None)
    answers = await session.rest()
    sizes = [len(answer.out.data) for answer in answers[:-1]]
    assert sum(sizes) == 50_000
    assert max(sizes) <= MERGE_BYTES
    assert len(sizes) < 2500


async def test_a_reader_that_stops_stops_the_command(
    stub: Any, world: World, channel: grpc.aio.Channel
) -> None:
    session = await begin(stub, world)
    session.say(*(Output(stderr=False, data=bytes(32 << 10)) for _ in range(5000)))
    await session.call.read()

    async def other_calls() -> int:
        for _ in range(100):
            await stub.Stat(pb.StatRequest(sandbox_id="sb_1", path="/workspace/a"))
        return session.command.taken

    world.files.files["/workspace/a"] = b""
    before = -1
    while (taken := await other_calls()) != before:
        before = taken
    assert taken < 2500
    session.call.cancel()


async def test_a_detached_command_ends_the_stream_after_it_started(stub: Any, world: World) -> None:
    session = await begin(stub, world, detach=True)
    session.say(Started(9), None)
    (answer,) = await session.rest()
    assert answer.started.pid == 9
    assert await session.call.code() is S.OK
