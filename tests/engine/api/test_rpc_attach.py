"""Commands that were started before, and changes of files, over `GuestService`."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
import pytest
from sandbox.v1 import guest_pb2 as pb
from sandbox.v1 import guest_pb2_grpc as pb_grpc
from sandbox_engine.errors import OutputLost
from sandbox_engine.model.exec import AttachSpec, Output, ProcessInfo, Started
from sandbox_engine.services.files import FileChange

from tests.engine.api.clients import until
from tests.engine.api.fakes import FakeCommand, World, ended
from tests.engine.api.rpc_errors import read, refusal

S = grpc.StatusCode


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> Any:
    return pb_grpc.GuestServiceStub(channel)


async def attached(stub: Any, world: World, started: Started) -> tuple[Any, FakeCommand]:
    """A call that attached, and the command under the test's hands."""
    call = stub.AttachExec()
    asked = pb.ExecAttach(sandbox_id="sb_1", exec_id="ex_1", out_offset=5, err_offset=7)
    await call.write(pb.AttachExecRequest(attach=asked))
    command = await world.execs.commands.get()
    command.events.put_nowait(started)
    return call, command


def _wrong_fields(error: grpc.aio.AioRpcError) -> list[str]:
    return [one.field for one in read(error).details["BadRequest"].field_violations]


async def test_it_goes_on_at_the_offsets_the_guest_says(stub: Any, world: World) -> None:
    call, command = await attached(stub, world, Started(9, "ex_1", 3, 8, 7, takes_input=True))
    (spec,) = world.execs.attached
    assert spec == AttachSpec(exec_id="ex_1", out_offset=5, err_offset=7, allow_gap=False)
    for event in (Output(False, b"ab"), Output(True, b"c"), Output(False, b"d"), ended(3), None):
        command.events.put_nowait(event)
    answers = [answer async for answer in call]
    told = answers[0].started
    assert (told.pid, told.exec_id, told.input_offset) == (9, "ex_1", 3)
    offsets = [(one.out.offset, one.out.data) for one in answers if one.HasField("out")]
    assert offsets == [(8, b"ab"), (10, b"d")]
    assert [one.err.offset for one in answers if one.HasField("err")] == [7]
    assert answers[-1].exit.code == 3


async def test_input_goes_up_and_the_end_of_the_stream_does_not(stub: Any, world: World) -> None:
    call, command = await attached(stub, world, Started(9, "ex_1", takes_input=True))
    await call.write(pb.AttachExecRequest(input=pb.ExecInput(data=b"x")))
    await call.write(pb.AttachExecRequest(signal=pb.ExecSignal(signal=15)))
    await call.done_writing()
    await until(lambda: len(command.told) == 2)
    command.events.put_nowait(ended())
    command.events.put_nowait(None)
    assert [answer async for answer in call]
    assert command.told == [b"x", ("signal", 15)]


async def test_input_that_was_not_asked_for_is_refused(stub: Any, world: World) -> None:
    call, _ = await attached(stub, world, Started(9, "ex_1"))
    await call.write(pb.AttachExecRequest(input=pb.ExecInput(data=b"x")))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        _ = [answer async for answer in call]
    assert _wrong_fields(caught.value) == ["input"]


async def test_lost_output_has_a_reason_of_its_own(stub: Any, world: World) -> None:
    call = stub.AttachExec()
    await call.write(pb.AttachExecRequest(attach=pb.ExecAttach(sandbox_id="sb_1", exec_id="ex_1")))
    command = await world.execs.commands.get()
    command.events.put_nowait(OutputLost("out_offset: bytes 0 to 9 are no longer kept"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        _ = [answer async for answer in call]
    assert caught.value.code() is S.DATA_LOSS
    assert read(caught.value).reason == "OUTPUT_LOST"


@pytest.mark.parametrize(
    "first", [pb.AttachExecRequest(), pb.AttachExecRequest(input=pb.ExecInput(data=b"x"))]
)
async def test_the_first_message_is_attach(stub: Any, first: pb.AttachExecRequest) -> None:
    call = stub.AttachExec()
    await call.write(first)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        _ = [answer async for answer in call]
    assert _wrong_fields(caught.value) == ["attach"]


async def test_processes_are_listed_and_signalled(stub: Any, world: World) -> None:
    world.execs.known = [
        ProcessInfo(pid=7, argv=["a", "\udcff"], exec_id="", running=True, exit_code=None,
                    started_at=1.5),
        ProcessInfo(pid=8, argv=["b"], exec_id="ex_1", running=False, exit_code=0, started_at=2),
    ]  # fmt: skip
    listed = await stub.ListProcesses(pb.ListProcessesRequest(sandbox_id="sb_1"))
    first, second = listed.processes
    assert (first.pid, list(first.argv), first.running) == (7, ["a", "\ufffd"], True)
    assert not first.HasField("exit_code") and second.HasField("exit_code")
    assert (second.exec_id, second.exit_code, second.start_time.seconds) == ("ex_1", 0, 2)
    await stub.SignalProcess(pb.SignalProcessRequest(sandbox_id="sb_1", pid=7, signal=15))
    assert world.execs.signals == [(7, 15)]
    call = stub.SignalProcess(pb.SignalProcessRequest(sandbox_id="sb_1", pid=9))
    assert (await refusal(call)).reason == "PROCESS_NOT_FOUND"


async def test_a_file_is_renamed(stub: Any, world: World) -> None:
    world.files.files["/workspace/a"] = b"x"
    request = pb.RenameRequest(sandbox_id="sb_1", path="/workspace/a", new_path="/workspace/b")
    await stub.Rename(request)
    assert world.files.files == {"/workspace/b": b"x"}


async def test_a_watch_is_live_and_ends_with_its_call(stub: Any, world: World) -> None:
    call = stub.Watch(pb.WatchRequest(sandbox_id="sb_1", path="/workspace", recursive=True))
    assert (await call.read()).HasField("ready")
    for kind in ("created", "renamed", "quite new"):
        world.files.changes.put_nowait(FileChange(kind=kind, path="/workspace/a"))
    kinds = [(await call.read()).change.kind for _ in range(3)]
    assert kinds == [
        pb.WATCH_CHANGE_KIND_CREATED,
        pb.WATCH_CHANGE_KIND_RENAMED,
        pb.WATCH_CHANGE_KIND_UNSPECIFIED,
    ]
    assert not world.files.closed_watches.is_set()
    call.cancel()
    await world.files.closed_watches.wait()
