"""What outlives what: files after DELETE, idle reclaim, restarts, and kills in mid-write."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import Api, Client, api
from tests.support.engine import Engine, engine
from tests.support.wait import until

pytestmark = pytest.mark.vm
ENOUGH = 20
"""Lines that must be acknowledged before everything is killed."""


@pytest.fixture(scope="module")
def own_engine(base_template: str) -> Iterator[Engine]:
    """An engine to stop and to kill."""
    with engine(pools=[{"template": base_template, "warm": 0}], workspace_mib=64) as made:
        yield made


@pytest.fixture
def own(own_engine: Engine, tmp_path: Path) -> Iterator[Api]:
    """An API to stop and to kill; its sessions are idle after a second."""
    with api(tmp_path, own_engine.grpc_socket, idle=1) as made:
        yield made


def put(client: Client, session: str, text: str) -> None:
    answer = client.request("PUT", f"{session}/files?path=/workspace/a", text.encode())
    assert answer.status == 200, answer


def got(client: Client, session: str) -> str:
    answer = client.request("GET", f"{session}/files?path=/workspace/a")
    assert answer.status == 200, answer
    return answer.raw.decode()


def test_files_outlive_delete_idle_and_both_processes(own: Api, own_engine: Engine) -> None:
    client = own.client("one")
    session = client.open(key="lasting")
    put(client, session, "kept")

    assert client.request("DELETE", session).status == 204
    assert client.open(key="lasting") == session
    assert got(client, session) == "kept", "after DELETE"

    until(lambda: client.state(session) == "idle")
    assert got(client, session) == "kept", "after idle reclaim"

    own.stop()
    own.start()
    assert client.request("GET", session).status == 404
    assert client.open(key="lasting") == session
    assert got(client, session) == "kept", "after an API restart"

    own_engine.stop()
    own_engine.start()

    def answers() -> bool:
        own.supervise()  # an engine that takes long to start is one that stays away
        with suppress(OSError):  # it gives up at this moment
            return client.request("POST", "/v1/sessions", {"key": "lasting"}).status in (200, 201)
        return False

    until(answers)
    assert got(client, session) == "kept", "after a daemon restart"
    assert client.request("DELETE", f"{session}?workspace=delete").status == 204
    client.open(key="lasting")
    assert client.request("GET", f"{session}/files?path=/workspace/a").status == 404
    client.request("DELETE", f"{session}?workspace=delete")


WRITER = (
    "i=0; while :; do i=$((i+1)); echo $i >> /workspace/log; sync /workspace/log; echo $i; done"
)


def test_no_acknowledged_byte_that_was_synced_is_lost(own: Api, own_engine: Engine) -> None:
    client = own.client("one")
    session = client.open(key="crash")
    connection = client.connection()
    body = json.dumps({"command": WRITER, "stream": True}).encode()
    connection.request("POST", f"{session}/exec", body, client.headers())
    told = numbers(connection.getresponse(), ENOUGH)
    assert own.process is not None
    own_pid = own.process.pid
    os.kill(own_pid, signal.SIGKILL)
    own_engine.kill()
    own.kill()
    connection.close()
    own_engine.start()
    own.start()
    assert client.open(key="crash") == session
    lines = client.sh(session, "cat /workspace/log")["stdout"].split()
    assert lines[:told] == [str(number) for number in range(1, told + 1)]
    client.request("DELETE", f"{session}?workspace=delete")


def numbers(response: Any, enough: int) -> int:
    """The last number that came, once it is `enough`."""
    last = 0
    while last < enough:
        line = response.readline().decode()
        assert line, "the stream ended"
        if line.startswith('data: {"data"'):
            last = int(json.loads(line[6:])["data"].split()[-1])
    return last


def test_without_an_engine_it_exits_with_75(own: Api, own_engine: Engine) -> None:
    own_engine.stop()
    try:
        refused = own.client("one").request("POST", "/v1/sessions", {})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert own.process is not None
        assert own.process.wait(timeout=60) == 75
        own.process = None
    finally:
        own_engine.start()
