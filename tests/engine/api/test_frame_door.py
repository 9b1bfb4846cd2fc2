"""Each request of the legacy door, over a real socket, and what a connection owns."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sandbox.v1 import legacy_pb2 as pb
from sandbox.v1.file_kind_pb2 import FileKind
from sandbox_engine.api.frames.server import FrameServer
from sandbox_engine.errors import InvalidArgument, PoolExhausted
from sandbox_engine.model.machine import State
from sandbox_engine.observe.tasks import settle
from sandbox_engine.services.files import FileEntry
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.wire.frames import MAX_REPLY

from tests.engine.api.clients import FrameClient, until
from tests.engine.api.fakes import TOKEN, World

Connect = Callable[[], Awaitable[FrameClient]]


def create(request_id: int = 1, **fields: Any) -> pb.ClientMessage:
    request = pb.CreateRequest(template_name="base")
    request.MergeFrom(pb.CreateRequest(**fields))
    return pb.ClientMessage(create=request, request_id=request_id)


def guest(request_id: int = 2, sandbox_id: int = 1, **operation: Any) -> pb.ClientMessage:
    request = pb.GuestRequest(sandbox_id=sandbox_id, **operation)
    return pb.ClientMessage(guest=request, request_id=request_id)


async def code(client: FrameClient, message: pb.ClientMessage) -> int:
    reply = await client.ask(message)
    assert reply.request_id == message.request_id
    assert reply.WhichOneof("response") == "error"
    assert reply.error.message
    return reply.error.error_code


async def test_create_answers_a_number_and_a_token(client: FrameClient, world: World) -> None:
    reply = await client.ask(
        create(
            memory_mib=512,
            vcpu_count=2,
            env_vars=["A=1", "B=x=y", "C="],
            pool_wait_ms=500,
            session_key="key",
            ttl_seconds=60,
            egress_allow=["a.example"],
        )
    )
    assert (reply.request_id, reply.create.sandbox_id) == (1, 1)
    assert reply.create.session_token == TOKEN
    spec = world.sandboxes.boxes["sb_1"].spec
    assert (spec.template, spec.memory_mib, spec.vcpus) == ("base", 512, 2)
    assert spec.env == {"A": "1", "B": "x=y", "C": ""}
    assert (spec.pool_wait_ms, spec.session_key, spec.workspace_ttl_s) == (500, "key", 60)
    assert (spec.egress_allow, spec.egress_deny_all) == (("a.example",), False)


async def test_an_absent_session_key_is_none(client: FrameClient, world: World) -> None:
    await client.ask(create())
    assert world.sandboxes.boxes["sb_1"].spec.session_key is None


async def test_the_caller_is_the_peer_and_its_connection(client: FrameClient, world: World) -> None:
    await client.ask(create())
    (caller,) = world.sandboxes.callers
    assert (caller.uid, caller.name) == (os.getuid(), f"uid:{os.getuid()}")
    assert caller.confined
    assert caller.session


async def test_a_variable_without_a_value_is_an_invalid_spec(client: FrameClient) -> None:
    assert await code(client, create(env_vars=["NOTHING"])) == -2


async def test_an_error_of_a_service_is_told_by_the_table(
    client: FrameClient, world: World
) -> None:
    world.sandboxes.failure = PoolExhausted("none is warm")
    reply = await client.ask(create())
    assert (reply.error.error_code, reply.error.message) == (-1, "none is warm")


async def test_an_unforeseen_error_is_internal_and_the_connection_stays(
    client: FrameClient, world: World
) -> None:
    world.sandboxes.failure = ZeroDivisionError("inside")
    reply = await client.ask(create())
    assert reply.error.error_code == -5
    assert "inside" not in reply.error.message
    world.sandboxes.failure = None
    assert (await client.ask(create())).create.sandbox_id == 1


async def test_pause_and_resume(client: FrameClient, world: World) -> None:
    await client.ask(create())
    paused = await client.ask(pb.ClientMessage(pause=pb.PauseRequest(sandbox_id=1), request_id=2))
    assert paused.WhichOneof("response") == "pause"
    states = [world.sandboxes.boxes["sb_1"].state]
    resume = pb.ClientMessage(resume=pb.ResumeRequest(sandbox_id=1), request_id=3)
    assert (await client.ask(resume)).WhichOneof("response") == "resume"
    states.append(world.sandboxes.boxes["sb_1"].state)
    assert states == [State.PAUSED, State.RUNNING]


async def test_inspect_rounds_memory_up_and_keeps_faults_in_32_bits(client: FrameClient) -> None:
    await client.ask(create())
    message = pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=1), request_id=2)
    found = (await client.ask(message)).inspect
    assert (found.sandbox_id, found.is_running, found.uptime_ms) == (1, True, 1500)
    assert (found.memory_rss_mib, found.page_faults) == (2, 2**32 - 1)


async def test_destroy(client: FrameClient, world: World) -> None:
    await client.ask(create())
    message = pb.ClientMessage(destroy=pb.DestroyRequest(sandbox_id=1), request_id=2)
    assert (await client.ask(message)).WhichOneof("response") == "destroy"
    assert not world.sandboxes.boxes
    assert await code(client, message) == -4


@pytest.mark.parametrize(
    "request_",
    [
        pb.ClientMessage(pause=pb.PauseRequest(sandbox_id=1), request_id=9),
        pb.ClientMessage(resume=pb.ResumeRequest(sandbox_id=1), request_id=9),
        pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=1), request_id=9),
        pb.ClientMessage(destroy=pb.DestroyRequest(sandbox_id=1), request_id=9),
        guest(9, stat=pb.GuestStatRequest(path="/workspace")),
    ],
    ids=["pause", "resume", "inspect", "destroy", "guest"],
)
async def test_another_connections_sandbox_is_denied(
    connect: Connect, world: World, request_: pb.ClientMessage
) -> None:
    owner, other = await connect(), await connect()
    await owner.ask(create())
    assert await code(other, request_) == -4
    assert "sb_1" in world.sandboxes.boxes


async def test_session_renew_is_not_served_yet(client: FrameClient) -> None:
    renew = pb.SessionRenewRequest(session_key="k", extra_seconds=60)
    assert await code(client, pb.ClientMessage(session_renew=renew, request_id=1)) == -2


async def test_exec(client: FrameClient, world: World) -> None:
    await client.ask(create())
    command = pb.GuestExecRequest(
        cwd="/tmp",
        argv=["exit 3"],
        shell=True,
        env=["A=1"],
        timeout_ms=1000,
        max_output=5,
        input=b"in",
    )
    result = (await client.ask(guest(exec=command))).guest.exec
    (spec,) = world.execs.specs
    assert (spec.argv, spec.shell, spec.cwd, spec.env) == (["exit 3"], True, "/tmp", {"A": "1"})
    assert (spec.timeout_ms, spec.max_output, world.execs.inputs) == (1000, 5, [b"in"])
    assert (result.exit_code, result.out, result.err) == (3, b"out", b"err")
    assert (result.out_total, result.err_total, result.duration_ms) == (100_000, 3, 1234)


async def test_files(client: FrameClient, world: World) -> None:
    await client.ask(create())
    write = pb.GuestWriteFileRequest(path="/workspace/a", data=b"hello", mode=0o600, parents=True)
    reply = await client.ask(guest(write_file=write))
    assert reply.guest.WhichOneof("result") == "write_file"
    (options,) = world.files.options
    assert (options.mode, options.parents, options.append) == (0o600, True, False)
    read = pb.GuestReadFileRequest(path="/workspace/a", offset=1, max_bytes=3)
    piece = (await client.ask(guest(read_file=read))).guest.read_file
    assert (piece.data, piece.file_size, piece.truncated) == (b"ell", 5, True)
    stat_ = (await client.ask(guest(stat=pb.GuestStatRequest(path="/workspace/a")))).guest.stat
    assert (stat_.kind, stat_.size, stat_.mode) == (FileKind.FILE_KIND_FILE, 5, 0o640)
    assert stat_.mtime == 1_790_000_000
    await client.ask(guest(mkdir=pb.GuestMkdirRequest(path="/workspace/d", parents=True)))
    await client.ask(guest(remove=pb.GuestRemoveRequest(path="/workspace/d", recursive=True)))
    assert world.files.made == [("/workspace/d", 0o755, True)]
    assert world.files.removed == [("/workspace/d", True)]
    missing = pb.GuestReadFileRequest(path="/workspace/none")
    assert await code(client, guest(read_file=missing)) == -11


async def test_a_read_is_never_more_than_48_kib(client: FrameClient, world: World) -> None:
    await client.ask(create())
    world.files.files["/workspace/big"] = bytes(200_000)
    read = pb.GuestReadFileRequest(path="/workspace/big", max_bytes=100_000)
    piece = (await client.ask(guest(read_file=read))).guest.read_file
    assert (len(piece.data), piece.file_size, piece.truncated) == (49152, 200_000, True)


async def test_a_write_over_48_kib_is_too_large(client: FrameClient) -> None:
    await client.ask(create())
    write = pb.GuestWriteFileRequest(path="/workspace/a", data=bytes(49153))
    assert await code(client, guest(write_file=write)) == -13


async def test_a_listing_is_cut_to_one_frame(client: FrameClient, world: World) -> None:
    await client.ask(create())
    world.files.entries = [
        FileEntry(name=f"\udcff{number:0250}", kind="dir", size=2**63, mtime=-1.0)
        for number in range(2000)
    ]
    reply = await client.ask(guest(list_dir=pb.GuestListDirRequest(path="/workspace")))
    listing = reply.guest.list_dir
    assert listing.truncated
    assert listing.entries[0].name.startswith("�")
    assert listing.entries[0].kind == FileKind.FILE_KIND_DIRECTORY
    assert 50_000 < reply.ByteSize() <= MAX_REPLY


async def test_a_short_listing_is_whole(client: FrameClient, world: World) -> None:
    await client.ask(create())
    world.files.entries = [FileEntry(name="a", kind="device", size=1, mtime=5.0)]
    reply = await client.ask(guest(list_dir=pb.GuestListDirRequest(path="/workspace")))
    (entry,) = reply.guest.list_dir.entries
    assert (entry.name, entry.kind, entry.mtime) == ("a", FileKind.FILE_KIND_OTHER, 5)
    assert not reply.guest.list_dir.truncated


async def test_sixteen_guest_operations_and_no_more(client: FrameClient, world: World) -> None:
    await client.ask(create())
    world.execs.gate = asyncio.Event()
    command = pb.GuestExecRequest(argv=["true"])
    client.send(*(guest(number, exec=command) for number in range(100, 116)))
    await until(lambda: world.execs.running == 16)
    busy = await client.ask(guest(200, exec=command))
    assert (busy.request_id, busy.error.error_code) == (200, -9)
    world.execs.gate.set()
    assert {(await client.receive()).request_id for _ in range(16)} == set(range(100, 116))
    again = await client.ask(guest(201, exec=command))
    assert again.guest.WhichOneof("result") == "exec"


async def test_the_cap_is_a_connections_own(connect: Connect, world: World) -> None:
    first, second = await connect(), await connect()
    await first.ask(create())
    await second.ask(create())
    world.execs.gate = asyncio.Event()
    command = pb.GuestExecRequest(argv=["true"])
    first.send(*(guest(number, exec=command) for number in range(100, 116)))
    second.send(guest(1, sandbox_id=2, exec=command))
    await until(lambda: world.execs.running == 17)
    world.execs.gate.set()
    assert (await second.receive()).guest.WhichOneof("result") == "exec"


async def test_a_closed_connection_gives_up_its_sandboxes_and_only_those(
    connect: Connect, world: World
) -> None:
    leaving, staying = await connect(), await connect()
    await leaving.ask(create())
    await leaving.ask(create())
    await staying.ask(create())
    await leaving.close()
    await until(lambda: set(world.sandboxes.boxes) == {"sb_3"})


async def test_a_half_closed_connection_is_a_closed_one(connect: Connect, world: World) -> None:
    client = await connect()
    await client.ask(create())
    client.writer.write_eof()
    assert await client.closed_by_peer()
    await until(lambda: not world.sandboxes.boxes)


async def test_a_client_that_vanishes_cancels_what_it_asked_for(
    connect: Connect, world: World
) -> None:
    client = await connect()
    await client.ask(create())
    world.sandboxes.gate = asyncio.Event()
    world.execs.gate = asyncio.Event()
    client.send(create(2), create(3), guest(4, exec=pb.GuestExecRequest(argv=["true"])))
    await until(lambda: world.sandboxes.creating == 2 and world.execs.running == 1)
    await client.close()
    await until(lambda: world.sandboxes.cancelled == 2 and world.execs.cancelled == 1)
    await until(lambda: not world.sandboxes.boxes)
    assert world.sandboxes.calls[-1][0] == "end_session"


async def test_a_create_that_waits_is_answered_when_it_is_done(
    client: FrameClient, world: World
) -> None:
    world.sandboxes.gate = asyncio.Event()
    client.send(create(5))
    await until(lambda: world.sandboxes.creating == 1)
    world.sandboxes.gate.set()
    reply = await client.receive()
    assert (reply.request_id, reply.create.sandbox_id) == (5, 1)


async def test_the_socket_is_for_owner_and_group(frame_socket: Path) -> None:
    assert stat.S_IMODE(frame_socket.stat().st_mode) == 0o660
    assert stat.S_IMODE(frame_socket.parent.stat().st_mode) & 0o007 == 0


def server_at(path: Path, world: World, uids: list[int] | None = None) -> FrameServer:
    return FrameServer(
        sandboxes=world.sandboxes,
        execs=world.execs,
        files=world.files,
        sessions=Sessions(world.sandboxes),
        path=path,
        allowed_uids=uids,
    )


async def test_a_peer_outside_the_allow_list_is_denied_every_request(
    tmp_path: Path, world: World
) -> None:
    path = tmp_path / "run" / "engine.sock"
    server = server_at(path, world, [os.getuid() + 1])
    await server.start()
    client = await FrameClient.connect(path)
    for message in (create(), guest(exec=pb.GuestExecRequest(argv=["true"])), create(0)):
        assert await code(client, message) == -4
    assert not world.sandboxes.calls
    await client.close()
    await server.stop()
    await settle()


async def test_a_peer_on_the_allow_list_is_served(tmp_path: Path, world: World) -> None:
    path = tmp_path / "run" / "engine.sock"
    server = server_at(path, world, [os.getuid()])
    await server.start()
    client = await FrameClient.connect(path)
    assert (await client.ask(create())).create.sandbox_id == 1
    await client.close()
    await server.stop()
    await settle()


async def test_stopping_hangs_up_and_gives_up_every_sandbox(tmp_path: Path, world: World) -> None:
    path = tmp_path / "run" / "engine.sock"
    server = server_at(path, world)
    await server.start()
    client = await FrameClient.connect(path)
    await client.ask(create())
    await server.stop()
    await settle()
    assert await client.closed_by_peer()
    assert not world.sandboxes.boxes
    assert not path.exists()
    await client.close()


async def test_a_dead_servers_socket_is_replaced(tmp_path: Path, world: World) -> None:
    path = tmp_path / "engine.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    server = server_at(path, world)
    await server.start()
    client = await FrameClient.connect(path)
    assert (await client.ask(create())).create.sandbox_id == 1
    await client.close()
    await server.stop()
    await settle()


async def test_a_living_servers_socket_is_not_taken(frame_socket: Path, world: World) -> None:
    with pytest.raises(InvalidArgument, match="another server answers"):
        await server_at(frame_socket, world).start()


async def test_a_file_that_is_no_socket_is_not_removed(tmp_path: Path, world: World) -> None:
    path = tmp_path / "engine.sock"
    path.write_text("precious")
    with pytest.raises(InvalidArgument, match="not a socket"):
        await server_at(path, world).start()
    assert path.read_text() == "precious"
