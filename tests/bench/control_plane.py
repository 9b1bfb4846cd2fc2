"""Workspaces and the control plane: what an attach adds, what HTTP costs, how live events are."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from sandbox.v1 import guest_pb2, legacy_pb2, sandboxes_pb2
from sandbox.v1.guest_pb2_grpc import GuestServiceStub
from sandbox.v1.sandboxes_pb2_grpc import SandboxServiceStub
from sandbox_api.principals import Principal, Tokens, new_token

from tests.bench.doors import WARM, _full
from tests.bench.measure import Row, show, timed
from tests.support.api import Api, Client, api
from tests.support.engine import Engine, engine
from tests.support.frames import Frames
from tests.support.wait import until

ROUNDS = 15
CALLS = 1000
TRIES = 2000
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def rows() -> list[Row]:
    """Everything, on one engine with a full pool."""
    pools = [{"template": "base", "warm": WARM, "waiting": 1}]
    with engine(pools=pools, workspace_mib=64) as made:
        found = [_attach(made)]
        with tempfile.TemporaryDirectory() as folder, api(Path(folder), made.grpc_socket) as plane:
            client = plane.client("one")
            session = client.open()
            found += [_cpu(plane, client, session), _first_byte(made, client, session)]
            found.append(_tokens_over_http(client))
        return [*found, _tokens()]


def _attach(made: Engine) -> Row:
    """A warm create with an existing workspace against one without."""
    key = secrets.token_hex(8)
    with Frames(made.engine_socket) as frames:

        def create(**fields: Any) -> float:
            until(lambda: _full(made))
            request = legacy_pb2.CreateRequest(template_name="base", **fields)
            began = time.perf_counter()
            box = frames.call(create=request).sandbox_id
            took = time.perf_counter() - began
            frames.destroy(box)
            return took

        create(session_key=key)  # makes it
        pairs = [(create(session_key=key), create()) for _ in range(ROUNDS)]
    attached, plain = (statistics.median(column) for column in zip(*pairs, strict=True))
    return timed("warm create with its workspace", attached, "without one", plain, 1.15)


@contextmanager
def _kept(client: Client) -> Iterator[Callable[[str, str], bytes]]:
    """Calls on one connection."""
    connection = client.connection()
    headers = client.headers()

    def call(method: str, path: str) -> bytes:
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        assert reply.status == 200, reply.status
        return reply.read()

    try:
        yield call
    finally:
        connection.close()


def _cpu(plane: Api, client: Client, session: str) -> Row:
    """CPU of the API's process for a call that is one call of the daemon."""
    assert plane.process is not None
    pid = plane.process.pid
    with _kept(client) as call:
        path = f"{session}/stat?path=/workspace"
        for _ in range(CALLS // 10):
            call("GET", path)
        before = _cpu_s(pid)
        for _ in range(CALLS):
            call("GET", path)
        each = (_cpu_s(pid) - before) / CALLS
    return timed("CPU of sandbox-api a request", each, "allowed", 0.001, 1.0)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def _first_byte(made: Engine, client: Client, session: str) -> Row:
    """From a request to its first event, against the daemon's own stream and 20 ms."""
    with grpc.insecure_channel(f"unix:{made.grpc_socket}") as channel:
        listed = SandboxServiceStub(channel).ListSandboxes(sandboxes_pb2.ListSandboxesRequest())
        (box,) = listed.sandboxes
        guest = GuestServiceStub(channel)
        start = guest_pb2.ExecRequest(
            start=guest_pb2.ExecStart(sandbox_id=box.id, argv=["true"], shell=True)
        )

        def direct() -> float:
            began = time.perf_counter()
            call = guest.Exec(iter([start]))
            next(call)
            took = time.perf_counter() - began
            list(call)
            return took

        direct()
        _events(client, session)
        pairs = [(_events(client, session), direct()) for _ in range(ROUNDS)]
    event, floor = (statistics.median(column) for column in zip(*pairs, strict=True))
    words = f"the daemon's own first message ({show(floor)}) and 20 ms"
    return timed("first event of a streamed command", event, words, floor + 0.02, 1.0)


def _events(client: Client, session: str) -> float:
    connection: http.client.HTTPConnection = client.connection()
    body = json.dumps({"command": "true", "stream": True})
    connection.connect()
    began = time.perf_counter()
    connection.request("POST", f"{session}/exec", body, client.headers())
    reply = connection.getresponse()
    assert reply.readline().startswith(b"event: started")
    took = time.perf_counter() - began
    reply.read()
    connection.close()
    return took


def _tokens_over_http(client: Client) -> Row:
    """Whether the time of an answer tells a token that is known from one that is not.

    Asked for a session that nobody has: one caller is told 404 and the other 401.
    """
    tokens = (client.token, new_token("x")[0])
    connections = {token: Client(client.address, token).connection() for token in tokens}
    taken: dict[str, list[float]] = {token: [] for token in tokens}
    path = f"/v1/sessions/ses_{'0' * 24}"
    for number in range(2 * (TRIES + 100)):
        token = tokens[number % 2]
        began = time.perf_counter()
        connections[token].request("GET", path, headers={"Authorization": f"Bearer {token}"})
        reply = connections[token].getresponse()
        reply.read()
        if number >= 200:
            taken[token].append(time.perf_counter() - began)
        assert reply.status == (404, 401)[number % 2]
    for connection in connections.values():
        connection.close()
    medians = sorted(statistics.median(taken[token]) for token in tokens)
    return timed("an answer over HTTP, the slower of a right and a wrong token", medians[1],
                 "the faster", medians[0], 1.05)  # fmt: skip


def _tokens() -> Row:
    """Whether the time of a comparison tells a token that is known from one that is not."""
    made = [(f"p{number}", new_token(f"p{number}")) for number in range(16)]
    entries = {
        name: (entry.split(" = ")[1].strip(), Principal(name=name)) for name, (_, entry) in made
    }
    tokens = Tokens(entries)
    right, wrong = made[0][1][0], new_token("x")[0]
    taken: dict[str, list[float]] = {right: [], wrong: []}
    for number in range(2 * TRIES):
        token = (right, wrong)[number % 2]
        began = time.perf_counter()
        tokens.find(token)
        taken[token].append(time.perf_counter() - began)
    medians = sorted(statistics.median(taken[token]) for token in (right, wrong))
    return timed("a token's check, the slower of right and wrong", medians[1], "the faster",
                 medians[0], 1.05)  # fmt: skip
