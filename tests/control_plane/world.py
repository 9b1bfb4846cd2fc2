"""The control plane in this process: its real door and gRPC client, the engine's real gRPC door
and services, and fakes below those (VMs, guests, volumes).  A test may hold or fail any step.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import socket
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self, TypeVar

import aiohttp
import msgspec
from sandbox_api import openapi
from sandbox_api.app import _listen
from sandbox_api.calls import Api
from sandbox_api.door import Door
from sandbox_api.engine import Engine
from sandbox_api.principals import Principal, Tokens
from sandbox_api.replay import Replays
from sandbox_api.sessions import Session, Sessions
from sandbox_api.tasks import cancel, guard
from sandbox_engine.api.rpc.server import RpcServer
from sandbox_engine.observe.tasks import settle, spawn

from tests.engine.api.fakes import FakeStates
from tests.engine.api.fakes import World as Rest
from tests.fakes.guest import FakeGuest
from tests.fakes.services import OPERATOR, Services
from tests.support.node import Answer

_T = TypeVar("_T")
LIMITED = Principal(name="limited", max_sessions=2, templates=frozenset({"base"}))
CROWD = Principal(name="crowd", max_sessions=1000)
PRINCIPALS = [Principal(name="one"), Principal(name="two"), LIMITED, CROWD]


class Monotonic:
    """The control plane's clock."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


class Plane:
    """Everything, and a client of it."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self._options = folder, options
        self._stack = AsyncExitStack()
        self.clock = Monotonic()
        self.services = Services(folder)
        self.socket = folder / "api.sock"

    async def __aenter__(self) -> Self:
        self.services.pool(warm=0)
        await self.start_engine()
        options = self._options
        self.engine = Engine(str(self.folder / "grpc.sock"), pool_wait_s=options.get("wait", 30))
        self._stack.push_async_callback(self.engine.close)
        self.sessions = Sessions(
            self.engine,
            default_template="base",
            max_running=options.get("max_running", 64),
            idle_s=options.get("idle_s", 600),
            clock=self.clock,
        )
        self.replays = Replays(self.clock)
        self.api = Api(self.engine, self.sessions, self.replays)
        self.api.document = openapi.text()
        entries = {
            each.name: (hashlib.sha256(each.name.encode()).hexdigest(), each) for each in PRINCIPALS
        }
        self.door = Door(
            self.api,
            tokens=Tokens(entries),
            max_connections=options.get("max_connections", 128),
            max_sessions=options.get("max_sessions", 16),
        )
        tcp, unix = socket.create_server(("127.0.0.1", 0)), socket.socket(socket.AF_UNIX)
        unix.bind(str(self.socket))
        unix.listen()
        self.port = tcp.getsockname()[1]
        await _listen(self._stack, self.door, [tcp, unix])
        self._stack.push_async_callback(cancel, guard(self.engine.run(), name="engine"))
        await self.engine.wait_attached()
        self.http = aiohttp.ClientSession(f"http://127.0.0.1:{self.port}")
        self._stack.push_async_callback(self.http.close)
        return self

    async def start_engine(self) -> None:
        """The engine's gRPC door."""
        rest, services = Rest(), self.services
        self.rpc = RpcServer(
            sandboxes=services.sandboxes,
            execs=services.execs,
            files=services.files,
            sessions=services.sessions,
            templates=rest.templates,
            states=FakeStates(),
            node=rest.node,
            path=self.folder / "grpc.sock",
            workspaces=services.workspaces,
        )
        await self.rpc.start()

    async def __aexit__(self, *_: object) -> None:
        self.services.steps.release_all()
        await self._stack.aclose()
        await self.rpc.stop()
        for live in list(self.services.sandboxes._live.values()):  # end with their session
            await live.gone.wait()
        await self.services.close()
        await settle()
        assert self.services.left() == {}

    # -- asking it ---------------------------------------------------------------

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        /,
        *,
        token: str = "one",
        headers: Any = None,
        **query: str,
    ) -> Answer:
        """One request; `bytes` go out as they are."""
        raw = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        data = None if raw is None else io.BytesIO(raw)
        sent = ({"Authorization": f"Bearer {token}"} if token else {}) | (headers or {})
        async with self.http.request(method, path, data=data, headers=sent, params=query) as reply:
            names = {name.lower(): value for name, value in reply.headers.items()}
            return Answer(reply.status, names, await reply.read())

    async def open(self, *, token: str = "one", **fields: Any) -> str:
        """The path of a session, new or attached."""
        answer = await self.call("POST", "/v1/sessions", fields, token=token)
        assert answer.status in (200, 201), answer
        return f"/v1/sessions/{answer.json['id']}"

    async def exec(self, session: str, *argv: str, **fields: Any) -> Answer:
        """Run a program of the fake guest."""
        headers = fields.pop("headers", None)
        return await self.call("POST", f"{session}/exec", {"argv": argv, **fields}, headers=headers)

    def known(self, session: str) -> Session:
        """The session of a path."""
        return self.sessions._all[session.rsplit("/", 1)[1]]

    def guest(self, session: str) -> FakeGuest:
        """The guest of its VM."""
        machine = self.known(session).machine
        assert machine is not None
        return self.services.guest(self.services.sandboxes.get(OPERATOR, machine.id))

    async def state(self, session: str) -> str:
        """As its owner sees it."""
        return str((await self.call("GET", session)).json["state"])


def begin(work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """Start `work` beside the test."""
    return spawn(work, name="a test's")


def code(answer: Answer) -> str:
    """The code of an error, whose shape is checked."""
    ((name, facts),) = answer.json.items()
    assert name == "error"
    assert set(facts) == {"code", "message"} and facts["message"]
    assert answer.headers["content-type"] == "application/json"
    assert ("retry-after" in answer.headers) == (answer.status in (429, 503)), answer
    return str(facts["code"])


async def gone(plane: Plane, session: str) -> None:
    """Wait until what was begun about a session's VM is over."""
    async with plane.known(session).lock:
        await asyncio.sleep(0)
