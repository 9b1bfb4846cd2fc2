"""Files over `GuestService`: streamed both ways, committed only when told so."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest
from sandbox.v1 import guest_pb2 as pb
from sandbox.v1 import guest_pb2_grpc as pb_grpc
from sandbox.v1.file_kind_pb2 import FileKind
from sandbox_engine.services.files import FileEntry

from tests.engine.api.clients import until
from tests.engine.api.fakes import World
from tests.engine.api.rpc_errors import read, refusal

PATH = "/workspace/a"


@pytest.fixture
def stub(channel: grpc.aio.Channel) -> Any:
    return pb_grpc.GuestServiceStub(channel)


async def messages(*pieces: bytes, done: bool = True, **start: Any) -> AsyncIterator[Any]:
    yield pb.WriteFileRequest(start=pb.WriteFileStart(sandbox_id="sb_1", path=PATH, **start))
    for piece in pieces:
        yield pb.WriteFileRequest(data=piece)
    if done:
        yield pb.WriteFileRequest(done=pb.WriteFileDone())


async def test_a_write_is_one_file(stub: Any, world: World) -> None:
    answer = await stub.WriteFile(messages(b"one", b"", b"two"))
    assert answer.size == 6
    assert world.files.files == {PATH: b"onetwo"}
    (options,) = world.files.options
    assert (options.mode, options.append, options.exclusive, options.parents) == (
        None, False, False, False,
    )  # fmt: skip


async def test_every_option_is_handed_on(stub: Any, world: World) -> None:
    await stub.WriteFile(messages(mode=0, append=True, exclusive=True, parents=True))
    (options,) = world.files.options
    assert (options.mode, options.append, options.exclusive, options.parents) == (
        0, True, True, True,
    )  # fmt: skip


async def test_a_stream_that_ends_without_done_writes_nothing(stub: Any, world: World) -> None:
    refused = await refusal(stub.WriteFile(messages(b"half", done=False)))
    assert refused.details["BadRequest"].field_violations[0].field == "done"
    assert not world.files.files


async def test_a_cancelled_write_writes_nothing(stub: Any, world: World) -> None:
    call = stub.WriteFile()
    start = pb.WriteFileStart(sandbox_id="sb_1", path=PATH)
    await call.write(pb.WriteFileRequest(start=start))
    await call.write(pb.WriteFileRequest(data=b"half"))
    await until(lambda: bool(world.files.options))
    call.cancel()
    await stub.WriteFile(messages(b"whole"))
    assert world.files.files == {PATH: b"whole"}


async def test_a_write_must_start_with_start(stub: Any) -> None:
    async def data_only() -> AsyncIterator[Any]:
        yield pb.WriteFileRequest(data=b"x")

    assert (await refusal(stub.WriteFile(data_only()))).reason == "INVALID_ARGUMENT"


async def test_a_piece_has_a_limit(stub: Any, world: World) -> None:
    refused = await refusal(stub.WriteFile(messages(bytes((1 << 20) + 1))))
    assert refused.reason == "TOO_LARGE"
    assert not world.files.files


async def test_a_read_is_pieces_and_a_summary(stub: Any, world: World) -> None:
    world.files.files[PATH] = bytes(range(256)) * 20
    request = pb.ReadFileRequest(sandbox_id="sb_1", path=PATH, offset=100, max_bytes=4000)
    answers = [answer async for answer in stub.ReadFile(request)]
    assert b"".join(answer.data for answer in answers) == world.files.files[PATH][100:4100]
    assert (answers[-1].done.size, answers[-1].done.truncated) == (5120, True)


async def test_a_file_that_is_not_there_is_not_found(stub: Any) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.ReadFile(pb.ReadFileRequest(sandbox_id="sb_1", path=PATH)).read()
    refused = read(caught.value)
    assert (refused.code, refused.reason) == (grpc.StatusCode.NOT_FOUND, "PATH_NOT_FOUND")


async def test_a_cancelled_read_ends_inside(stub: Any, world: World) -> None:
    world.files.files[PATH] = bytes(20_000_000)
    call = stub.ReadFile(pb.ReadFileRequest(sandbox_id="sb_1", path=PATH))
    await call.read()
    call.cancel()
    await until(lambda: world.files.closed_reads == 1)


async def test_list_stat_make_and_remove(stub: Any, world: World) -> None:
    world.files.files[PATH] = b"12345"
    world.files.entries = [
        FileEntry(name="a\udcff", kind="symlink", size=3, mtime=1.5),
        FileEntry(name="b", kind="dir", size=4, mtime=2.0),
    ]
    request = pb.ListDirectoryRequest(sandbox_id="sb_1", path="/workspace", max_entries=1)
    listed = await stub.ListDirectory(request)
    (entry,) = listed.entries
    assert listed.truncated
    assert (entry.name, entry.kind) == ("a�", FileKind.FILE_KIND_SYMLINK)
    assert entry.modify_time.ToMilliseconds() == 1500
    found = await stub.Stat(pb.StatRequest(sandbox_id="sb_1", path=PATH))
    assert (found.kind, found.size, found.mode) == (FileKind.FILE_KIND_FILE, 5, 0o640)
    make = pb.MakeDirectoryRequest(sandbox_id="sb_1", path="/workspace/d", mode=0o700)
    await stub.MakeDirectory(make)
    await stub.Remove(pb.RemoveRequest(sandbox_id="sb_1", path="/workspace/d", recursive=True))
    assert world.files.made == [("/workspace/d", 0o700, False)]
    assert world.files.removed == [("/workspace/d", True)]
