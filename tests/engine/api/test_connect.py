"""The gRPC services over HTTP/1.1: the Connect protocol and JSON lines, for real clients."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from sandbox.v1 import guest_pb2 as pb
from sandbox_engine.api.connect.framing import MAX_MESSAGE
from sandbox_engine.api.connect.server import ConnectServer
from sandbox_engine.api.rpc.server import SERVICES, RpcServer
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.exec import Output, Started
from sandbox_engine.services.sessions import Sessions

from tests.engine.api.fakes import FakeStates, World, ended

ROOT = Path(__file__).parents[3]
TOKEN = "a token"
PAGE = "https://page.example"
SANDBOXES, GUESTS = "/sandbox.v1.SandboxService/", "/sandbox.v1.GuestService/"
START = {"start": {"sandboxId": "sb_1", "argv": ["cat"], "input": True}}


@pytest.fixture
async def server(world: World, tmp_path: Path) -> AsyncIterator[ConnectServer]:
    rpc = RpcServer(
        sandboxes=world.sandboxes,
        execs=world.execs,
        files=world.files,
        sessions=Sessions(world.sandboxes),
        templates=world.templates,
        states=FakeStates(),
        node=world.node,
        path=tmp_path / "unused.sock",
    )
    made = ConnectServer(
        services=SERVICES,
        servicers=rpc.servicers,
        tokens={"me": hashlib.sha256(TOKEN.encode()).hexdigest()},
        origins=[PAGE],
    )
    await made.start("127.0.0.1:0")
    yield made
    await made.stop()


@pytest.fixture
async def http(server: ConnectServer) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    base = f"http://127.0.0.1:{server.port}"
    async with aiohttp.ClientSession(base, headers=headers) as session:
        yield session


async def ask(
    http: aiohttp.ClientSession, path: str, body: Any, **headers: str
) -> tuple[int, dict[str, Any]]:
    data = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
    sent = {"Content-Type": "application/json"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    async with http.post(path, data=data, headers=sent) as answer:
        return answer.status, await answer.json()


async def test_a_call_in_json_and_in_protobuf(http: aiohttp.ClientSession, world: World) -> None:
    world.files.files["/workspace/a"] = b"hello"
    status, answer = await ask(http, GUESTS + "Stat", {"sandboxId": "sb_1", "path": "/workspace/a"})
    assert (status, answer["size"], answer["kind"]) == (200, "5", "FILE_KIND_FILE")
    request = pb.StatRequest(sandbox_id="sb_1", path="/workspace/a").SerializeToString()
    kind = {"Content-Type": "application/proto"}
    async with http.post(GUESTS + "Stat", data=request, headers=kind) as raw:
        assert raw.content_type == "application/proto"
        assert pb.StatResponse.FromString(await raw.read()).size == 5


async def test_an_error_has_its_code_status_and_details(http: aiohttp.ClientSession) -> None:
    status, error = await ask(http, GUESTS + "Stat", {"sandboxId": "sb_1", "path": "/workspace/no"})
    assert (status, error["code"]) == (404, "not_found")
    (detail,) = error["details"]
    assert detail["type"] == "google.rpc.ErrorInfo" and not detail["value"].endswith("=")
    assert detail["debug"]["reason"] == "PATH_NOT_FOUND"


@pytest.mark.parametrize("body", [b"{", b'{"noSuchField": 1}', b'{"path": 7}', b"\xff"])
async def test_a_body_that_is_no_message_is_refused(
    http: aiohttp.ClientSession, body: bytes
) -> None:
    status, error = await ask(http, GUESTS + "Stat", body)
    assert (status, error["code"]) == (400, "invalid_argument")
    assert "body" in error["message"]


async def test_a_body_may_have_8_mib_and_no_byte_more(http: aiohttp.ClientSession) -> None:
    def padded(size: int) -> bytes:
        return b'{"sandboxId": "sb_1", "path": "/workspace/a"}'.ljust(size)

    status, _ = await ask(http, GUESTS + "Stat", padded(MAX_MESSAGE))
    assert status == 404
    status, error = await ask(http, GUESTS + "Stat", padded(MAX_MESSAGE + 1))
    assert (status, error["code"]) == (400, "out_of_range")


async def test_who_has_no_token_is_told_so(http: aiohttp.ClientSession) -> None:
    for value in ("Bearer wrong", "Basic x"):
        status, error = await ask(http, SANDBOXES + "ListSandboxes", {}, Authorization=value)
        assert (status, error["code"]) == (401, "unauthenticated")


async def test_paths_methods_and_content_types_that_are_not_served(
    http: aiohttp.ClientSession,
) -> None:
    assert (await ask(http, SANDBOXES + "Nothing", {}))[0] == 404
    assert (await ask(http, "/sandbox.v1.BrokerService/Authorize", {}))[0] == 501
    async with http.get(SANDBOXES + "ListSandboxes") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    kind = {"Content-Type": "text/plain"}
    async with http.post(SANDBOXES + "ListSandboxes", data=b"{}", headers=kind) as answer:
        assert answer.status == 415
        assert answer.headers["Accept-Post"] == "application/json, application/proto"
    status, _ = await ask(http, GUESTS + "Exec", START)
    assert status == 415


async def test_only_pages_of_allowed_origins_may_call(http: aiohttp.ClientSession) -> None:
    status, error = await ask(http, SANDBOXES + "ListSandboxes", {}, Origin="https://evil.example")
    assert (status, error["code"]) == (403, "permission_denied")
    wanted = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    async with http.options(SANDBOXES + "ListSandboxes", headers=wanted) as answer:
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (204, PAGE)
        assert "authorization" in answer.headers["Access-Control-Allow-Headers"]
    sent = {"Origin": PAGE, "Content-Type": "application/json"}
    async with http.post(SANDBOXES + "ListSandboxes", data=b"{}", headers=sent) as answer:
        assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, PAGE)


async def test_a_command_is_live_in_both_directions_as_json_lines(
    http: aiohttp.ClientSession, world: World
) -> None:
    more: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def up() -> AsyncIterator[bytes]:
        yield json.dumps(START).encode() + b"\n"
        while (data := await more.get()) is not None:
            yield data

    kind = {"Content-Type": "application/x-ndjson"}
    async with http.post(GUESTS + "Exec", data=up(), headers=kind) as answer:
        command = await world.execs.commands.get()
        command.events.put_nowait(Started(7))
        assert json.loads(await answer.content.readline()) == {"started": {"pid": 7}}
        data = base64.b64encode(b"typed").decode()
        await more.put(b'{"input": {"data": "%s"}}' % data.encode())
        await more.put(None)
        while len(command.told) < 2:
            command.heard.clear()
            await command.heard.wait()
        assert command.told == [b"typed", "close"]
        for event in (Output(False, b"x"), ended(3), None):
            command.events.put_nowait(event)
        lines = [json.loads(line) async for line in answer.content]
    assert lines[0] == {"out": {"data": "eA=="}} and lines[1]["exit"]["code"] == 3


async def test_a_client_that_goes_away_cancels_its_call(
    http: aiohttp.ClientSession, world: World
) -> None:
    kind = {"Content-Type": "application/x-ndjson"}
    async with http.post(GUESTS + "Exec", data=json.dumps(START), headers=kind) as answer:
        command = await world.execs.commands.get()
        command.events.put_nowait(Started(7))
        await answer.content.readline()
        answer.close()
    await command.killed.wait()


async def test_a_deadline_ends_a_stream_with_its_error(
    http: aiohttp.ClientSession, world: World
) -> None:
    kind = {"Content-Type": "application/x-ndjson", "Connect-Timeout-Ms": "50"}
    async with http.post(GUESTS + "Exec", data=json.dumps(START), headers=kind) as answer:
        last = [json.loads(line) async for line in answer.content][-1]
    assert last["error"]["code"] == "deadline_exceeded"
    command = await world.execs.commands.get()
    await command.killed.wait()


@pytest.mark.parametrize(("told", "status"), [("0", 400), ("86400001", 400), ("x", 400), ("1", 0)])
async def test_what_is_no_deadline_is_refused(
    http: aiohttp.ClientSession, told: str, status: int
) -> None:
    found, _ = await ask(http, SANDBOXES + "ListSandboxes", {}, Connect_Timeout_Ms=told)
    assert found == status if status else found in (200, 504)


async def test_envelopes_up_and_down_and_an_error_in_the_last(
    http: aiohttp.ClientSession, world: World
) -> None:
    world.files.files["/workspace/a"] = b"x" * 2500
    kind = {"Content-Type": "application/connect+proto"}

    async def read(path: str) -> list[tuple[int, bytes]]:
        message = pb.ReadFileRequest(sandbox_id="sb_1", path=path).SerializeToString()
        body = struct.pack(">BI", 0, len(message)) + message
        async with http.post(GUESTS + "ReadFile", data=body, headers=kind) as answer:
            assert answer.status == 200
            data, found = await answer.read(), []
        while data:
            flags, size = struct.unpack_from(">BI", data)
            found.append((flags, data[5 : 5 + size]))
            data = data[5 + size :]
        return found

    *pieces, last = await read("/workspace/a")
    assert b"".join(pb.ReadFileResponse.FromString(one).data for _, one in pieces) == b"x" * 2500
    assert (last[0], json.loads(last[1])) == (2, {})
    (last,) = await read("/workspace/none")
    assert json.loads(last[1])["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    "body",
    [struct.pack(">BI", 1, 0), struct.pack(">BI", 0, MAX_MESSAGE + 1), b"\0\0", b""],
    ids=["compressed", "too long", "cut", "none"],
)
async def test_envelopes_that_are_none_are_refused(
    http: aiohttp.ClientSession, body: bytes
) -> None:
    kind = {"Content-Type": "application/connect+json"}
    async with http.post(GUESTS + "ReadFile", data=body, headers=kind) as answer:
        assert (await answer.json())["code"] in ("invalid_argument", "out_of_range")


def test_no_streamed_answer_has_a_field_that_an_error_line_would_be_taken_for() -> None:
    streams = [m for service in SERVICES for m in service.methods if m.server_streaming]
    assert streams
    assert not [m.full_name for m in streams if "error" in m.output_type.fields_by_name]


async def test_buf_s_client_of_the_protocol_speaks_to_it(
    server: ConnectServer, world: World
) -> None:
    world.files.files["/workspace/a"] = b"hello"
    url = f"http://127.0.0.1:{server.port}{GUESTS}"
    common = [str(Path(sys.executable).parent / "buf"), "curl", "--schema", "proto",
              "--protocol", "connect", "-H", f"authorization: Bearer {TOKEN}"]  # fmt: skip
    asked = json.dumps({"sandboxId": "sb_1", "path": "/workspace/a"})
    said = []
    for method in ("Stat", "ReadFile"):
        process = await asyncio.create_subprocess_exec(
            *common, "-d", asked, url + method, cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        said.append(out.decode())
    assert json.loads(said[0])["size"] == "5"
    assert base64.b64encode(b"hello").decode() in said[1]


async def test_a_port_that_is_taken_is_named(server: ConnectServer) -> None:
    rival = ConnectServer(services=SERVICES, servicers={}, tokens={})
    with pytest.raises(InvalidArgument, match="connect_listen: cannot listen"):
        await rival.start(f"127.0.0.1:{server.port}")
