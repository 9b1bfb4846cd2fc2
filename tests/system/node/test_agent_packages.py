"""The API's packages for agents, their tools called directly, without a model."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents.sandbox.manifest import Manifest
from cocoonsandbox_langchain import CocoonToolkit
from cocoonsandbox_openai import CocoonSandboxClient, CocoonSandboxClientOptions

from tests.support.engine import Engine
from tests.support.node import ROOT, Node

# Their HTTP connections are kept open and left to the collector.
pytestmark = [
    pytest.mark.vm,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SERVE = "cd /workspace/app; nohup python3 -m http.server 8090 --bind 127.0.0.1 >/dev/null 2>&1 &"


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What a test leaves is collected while its warnings are still looked away from."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if not thread.name.startswith("asyncio") and "accept_loop" not in thread.name:
            thread.join(30)  # each ends with the connection it forwards
    gc.collect()


def claims(node: Engine) -> list[Any]:
    found = Node(node.config["listen"]).request("GET", "/v1/sandboxes").json["sandboxes"]
    assert isinstance(found, list)
    return found


def test_langchain_tools(node: Engine) -> None:
    with CocoonToolkit(node.config["listen"], api_token=ROOT, template="base") as toolkit:
        tools = {tool.name: tool for tool in toolkit.get_tools()}
        assert claims(node) == []  # the first use claims
        run, write = tools["sandbox_exec"], tools["sandbox_write_file"]
        assert run.invoke({"command": "echo $((6 * 7))"}) == "42\n"
        assert run.invoke({"command": "pwd; echo no >&2; exit 3", "cwd": "/tmp"}) == (
            "/tmp\n\nstderr: no\n\nexit code: 3"
        )
        assert run.invoke({"command": "true"}) == "(no output)"
        assert write.invoke({"path": "/tmp/f.py", "content": "print('é')"}) == "wrote /tmp/f.py"
        assert run.invoke({"command": "python3 /tmp/f.py"}) == "é\n"
        assert tools["sandbox_read_file"].invoke({"path": "/tmp/f.py"}) == "print('é')"
        assert "not_found" in tools["sandbox_read_file"].invoke({"path": "/tmp/none"})
        listed = json.loads(tools["sandbox_list_dir"].invoke({"path": "/tmp"}))
        assert {"name": "f.py", "kind": "file", "size": 11} in listed
        assert len(claims(node)) == 1
    assert claims(node) == []


async def test_openai_sessions(node: Engine) -> None:
    client = CocoonSandboxClient()
    options = CocoonSandboxClientOptions(
        addr=node.config["listen"], api_token=ROOT, template="base"
    )
    session = await client.create(manifest=Manifest(root="/workspace/app"), options=options)
    await session.start()
    assert await session.running()
    result = await session.exec("echo out; echo err >&2; exit 7")
    assert (result.exit_code, result.stdout, result.stderr) == (7, b"out\n", b"err\n")
    await session.write(Path("data.bin"), io.BytesIO(bytes(range(256))))
    assert (await session.read(Path("data.bin"))).read() == bytes(range(256))
    tree = (await session.persist_workspace()).read()

    # Another process, later, by what a session keeps of itself.
    state = client.deserialize_session_state(session.state.model_dump())
    resumed = await client.resume(state)
    assert (await resumed.exec("ls /workspace/app", timeout=60)).stdout == b"data.bin\n"
    await resumed.rm(Path("data.bin"))
    await resumed.hydrate_workspace(io.BytesIO(tree))
    assert (await resumed.read(Path("data.bin"))).read() == bytes(range(256))

    await resumed.exec(SERVE)
    inner: Any = resumed._inner  # ports are exposed by name only where a manifest lists them
    endpoint = await inner._resolve_exposed_port(8090)
    assert b"data.bin" in await _fetched(endpoint.port)

    await client.delete(resumed)
    assert not await session.running()
    assert claims(node) == []


async def _fetched(port: int) -> bytes:
    """The listing of the guest's server, as soon as it serves."""

    def fetch() -> bytes:
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as reply:
                    return bytes(reply.read())
            except (TimeoutError, OSError):
                continue

    return await asyncio.to_thread(fetch)
