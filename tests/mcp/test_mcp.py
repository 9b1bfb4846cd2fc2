"""`sandbox-mcp` as its own process, used through the official SDK's client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, stdio_client
from mcp.client.stdio import StdioServerParameters
from sandbox_mcp.server import TOOLS
from sandbox_mcp.tail import Tail
from sandbox_sdk import AsyncClient

from tests.support.engine import Engine


class Tools:
    """Calls by name."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content
        text = answer.content[0].text  # type: ignore[union-attr]  # these tools answer texts
        held: dict[str, Any] = json.loads(text)
        return held

    async def refused(self, tool: str, **arguments: Any) -> str:
        """What the error says."""
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error, answer.content
        return str(answer.content[0].text)  # type: ignore[union-attr]  # errors are texts


@asynccontextmanager
async def connected(engine: Engine) -> AsyncIterator[Tools]:
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "sandbox_mcp", "--socket", str(engine.grpc_socket)],
        env=dict(os.environ),
    )
    async with Client(stdio_client(program)) as client:
        yield Tools(client)


async def alive(engine: Engine) -> set[str]:
    async with AsyncClient(engine.grpc_socket) as client:
        return {info.id async for info in client.list()}


@pytest.mark.vm
@pytest.mark.timeout(400)  # two VMs are saved and restored
async def test_a_session_works_and_leaves_nothing(shared_engine: Engine) -> None:
    before = await alive(shared_engine)
    async with connected(shared_engine) as tools:
        listed = await tools.client.list_tools()
        assert {tool.name for tool in listed.tools} == set(TOOLS)
        assert all(tool.description for tool in listed.tools)
        one = (await tools("create"))["sandbox_id"]
        done = await tools("exec", sandbox_id=one, command="cat; exit 3", stdin="grün")
        assert (done["stdout"], done["exit_code"], done["cut"]) == ("grün", 3, False)
        big = await tools("exec", sandbox_id=one, command="head -c 70000 /dev/zero | tr '\\0' x")
        assert (len(big["stdout"]), big["cut"]) == (65536, True)
        await files(tools, one)
        await spawned(tools, one)
        (child,) = (await tools("fork", sandbox_id=one))["sandbox_ids"]
        await tools("release", sandbox_id=one)
        assert "no sandbox" in await tools.refused("exec", sandbox_id=one, command="true")
        await saved(tools, child)
        assert len(await alive(shared_engine) - before) == 2
    assert await alive(shared_engine) == before


async def files(tools: Tools, one: str) -> None:
    path = "/workspace/a/b"
    assert (await tools("write_file", sandbox_id=one, path=path, text="hello"))["size"] == 5
    assert (await tools("read_file", sandbox_id=one, path=path))["text"] == "hello"
    await tools("write_file", sandbox_id=one, path=path, base64="/w==")
    assert (await tools("read_file", sandbox_id=one, path=path))["base64"] == "/w=="
    (entry,) = (await tools("list_files", sandbox_id=one, path="/workspace/a"))["entries"]
    assert entry == {"name": "b", "kind": "file", "size": 1}
    said = await tools.refused("read_file", sandbox_id=one, path="/etc/shadow")
    assert "PATH_DENIED" in said
    said = await tools.refused("write_file", sandbox_id=one, path=path, base64="%")
    assert "base64" in said


async def spawned(tools: Tools, one: str) -> None:
    script = "echo up; while [ ! -e /workspace/go ]; do sleep 0.1; done; echo down; exit 4"
    process = (await tools("spawn", sandbox_id=one, command=script))["process_id"]
    answer: dict[str, Any] = {"output": ""}
    while not answer["output"]:
        answer = await tools("logs", process_id=process)
    assert (answer["output"], answer["running"]) == ("up\n", True)
    await tools("write_file", sandbox_id=one, path="/workspace/go", text="x")
    while answer["running"]:
        answer = await tools("logs", process_id=process, offset=3)
    assert (answer["output"], answer["exit_code"]) == ("down\n", 4)
    await tools("stop", process_id=process)
    assert "no process" in await tools.refused("logs", process_id=process)


async def saved(tools: Tools, child: str) -> None:
    checkpoint = (await tools("checkpoint", sandbox_id=child, name="x"))["checkpoint_id"]
    await tools("exec", sandbox_id=child, command="echo later >/workspace/a/b")
    branch = (await tools("branch", checkpoint_id=checkpoint))["sandbox_id"]
    assert (await tools("read_file", sandbox_id=branch, path="/workspace/a/b"))["base64"] == "/w=="
    assert (await tools("hibernate", sandbox_id=child))["state"] == "hibernated"
    read = await tools("read_file", sandbox_id=child, path="/workspace/a/b")
    assert read["text"] == "later\n"


@pytest.mark.vm
@pytest.mark.timeout(400)  # two VMs are saved and restored
async def test_another_session_s_sandbox_is_not_there(shared_engine: Engine) -> None:
    async with connected(shared_engine) as ours, connected(shared_engine) as theirs:
        made = (await ours("create"))["sandbox_id"]
        for tool, more in (("exec", {"command": "id"}), ("fork", {}), ("release", {})):
            assert "no sandbox" in await theirs.refused(tool, sandbox_id=made, **more)
        assert "TEMPLATE_NOT_FOUND" in await ours.refused("create", template="nothing")
        assert "timeout_s" in await ours.refused(
            "exec", sandbox_id=made, command="id", timeout_s=3601
        )
        assert "at most 16" in await ours.refused("fork", sandbox_id=made, count=16)


def test_a_tail_keeps_the_end_and_says_where_it_begins() -> None:
    tail = Tail(4)
    tail.append(b"abc")
    assert tail.since(1, 10) == (1, b"bc")
    tail.append(b"defg")
    assert tail.since(0, 10) == (3, b"defg")
    assert tail.since(5, 1) == (5, b"f")
    assert tail.since(99, 10) == (7, b"")
