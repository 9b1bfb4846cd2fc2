"""The endpoints: what each takes, does and answers.  `ROUTES` is the whole API.

Requests are validated by the types in `bodies`; the OpenAPI document is made from this table.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from aiohttp import web
from msgspec import Struct

from sandbox_api import bodies, execs
from sandbox_api.engine import Engine
from sandbox_api.errors import ApiError
from sandbox_api.principals import Principal
from sandbox_api.replay import Answer, Replays
from sandbox_api.sessions import Session, Sessions
from sandbox_api.tasks import cancel, guard, spawn

KEEPALIVE_S = 15.0
KEEPALIVE = b": keepalive\n\n"
IDEMPOTENCY_KEY = "Idempotency-Key"


class Call:
    """One request of a known principal."""

    def __init__(
        self, request: web.BaseRequest, principal: Principal, route: Route, session_id: str
    ) -> None:
        self.request, self.principal, self.route = request, principal, route
        self.session_id = session_id
        self.body = b""
        self._query: dict[str, str] | None = None

    def decoded(self, kind: type[Any]) -> Any:
        """The JSON body as a `kind`.  Raises 400."""
        return bodies.decode(kind, self.body)

    def query(self) -> dict[str, str]:
        """The query, each name known and given once.  Raises 400."""
        if self._query is None:
            self._query = self._parsed()
        return self._query

    def _parsed(self) -> dict[str, str]:
        text = self.request.rel_url.raw_query_string
        try:
            pairs = urllib.parse.parse_qsl(text, keep_blank_values=True, errors="strict")
        except (UnicodeDecodeError, ValueError) as error:
            raise ApiError.invalid("the query is not UTF-8") from error
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ApiError.invalid("the query names something twice")
        known = {each.name for each in self.route.query}
        if unknown := set(found) - known:
            raise ApiError.invalid(f"{min(unknown)}: no such query parameter")
        return found

    def path(self) -> str:
        """The query's `path`.  Raises 400."""
        path = self.query().get("path", "")
        check_path(path)
        return path

    def flag(self, name: str) -> bool:
        """A switch of the query: `1` or `true`, `0` or `false`."""
        value = self.query().get(name, "0")
        if value not in ("1", "true", "0", "false"):
            raise ApiError.invalid(f"{name}: must be 1 or 0")
        return value in ("1", "true")


def check_path(path: str) -> None:
    """Raise 400 `path_denied` for what cannot be below /workspace by its form.

    The guest resolves it beneath that directory; this spares it the nonsense.
    """
    parts = path.split("/")
    if parts[:2] != ["", "workspace"] or {".", ".."} & set(parts) or "\0" in path:
        raise ApiError(400, "path_denied", "path: must be absolute, below /workspace, without ..")


Handler = Callable[["Api", Call], Awaitable[web.StreamResponse]]


class Parameter(Struct, frozen=True, kw_only=True):
    """One of a query's."""

    name: str
    about: str
    kind: Literal["path", "flag", "word"] = "flag"


class Route(Struct, frozen=True, kw_only=True):
    """One endpoint."""

    method: str
    path: str
    """With `{id}` for a session."""
    name: str
    about: str
    handler: Handler
    body: Any = None
    """Type of the JSON body; None for none."""
    raw_body: bool = False
    query: tuple[Parameter, ...] = ()
    answers: dict[int, Any]
    """Successes: the type of the JSON body, `bytes`, or None for no body."""
    errors: tuple[int, ...] = ()
    public: bool = False

    @property
    def limit(self) -> int:
        """Most bytes of a body."""
        if self.raw_body:
            return bodies.MAX_FILE
        return bodies.MAX_JSON

    def pattern(self) -> re.Pattern[str]:
        """What its path looks like."""
        return re.compile(self.path.replace("{id}", r"(?P<id>[^/]+)"))


class Api:
    """The endpoints over sessions and the engine."""

    def __init__(self, engine: Engine, sessions: Sessions, replays: Replays) -> None:
        self._engine, self._sessions, self._replays = engine, sessions, replays
        self.keepalive_s = KEEPALIVE_S
        self.document = b""
        """The OpenAPI document."""

    def session(self, call: Call) -> Session:
        """The session of the path.  Raises 404."""
        return self._sessions.find(call.principal, call.session_id)

    # -- sessions ----------------------------------------------------------------

    async def health(self, _: Call) -> web.StreamResponse:
        """Liveness."""
        return _json(bodies.Health())

    async def openapi(self, _: Call) -> web.StreamResponse:
        """The document."""
        return web.Response(body=self.document, content_type="application/json")

    async def create(self, call: Call) -> web.StreamResponse:
        """Create or attach."""
        asked = call.decoded(bodies.CreateSession)
        session, created = await self._sessions.open(call.principal, asked)
        return _json(session.shown, status=201 if created else 200)

    async def list(self, call: Call) -> web.StreamResponse:
        """The caller's."""
        shown = [each.shown for each in self._sessions.of(call.principal)]
        return _json(bodies.SessionList(sessions=shown))

    async def get(self, call: Call) -> web.StreamResponse:
        """One of them."""
        return _json(self.session(call).shown)

    async def delete(self, call: Call) -> web.StreamResponse:
        """Release the VM, forget the session."""
        what = call.query().get("workspace", "keep")
        if what not in ("keep", "delete"):
            raise ApiError.invalid("workspace: must be keep or delete")
        await self._sessions.close(self.session(call), workspace=what == "delete")
        return web.Response(status=204)

    async def renew(self, call: Call) -> web.StreamResponse:
        """More time."""
        session = self.session(call)
        asked = call.decoded(bodies.Renew)
        ends = await self._sessions.renew(session, asked.ttl_seconds)
        return _json(bodies.Renewed(expires_at=ends))

    # -- files -------------------------------------------------------------------

    async def put_file(self, call: Call) -> web.StreamResponse:
        """Write."""
        path, append, exclusive = call.path(), call.flag("append"), call.flag("exclusive")
        async with self._sessions.use(self.session(call)) as machine:
            await self._engine.write_file(
                machine, path, call.body, append=append, exclusive=exclusive
            )
        return _json(bodies.Written(path=path, size=len(call.body)))

    async def get_file(self, call: Call) -> web.StreamResponse:
        """Read."""
        path = call.path()
        async with self._sessions.use(self.session(call)) as machine:
            content = await self._engine.read_file(machine, path)
        return web.Response(body=content, content_type="application/octet-stream")

    async def delete_file(self, call: Call) -> web.StreamResponse:
        """Remove."""
        path, recursive = call.path(), call.flag("recursive")
        async with self._sessions.use(self.session(call)) as machine:
            await self._engine.remove(machine, path, recursive=recursive)
        return web.Response(status=204)

    async def stat(self, call: Call) -> web.StreamResponse:
        """Describe."""
        path = call.path()
        async with self._sessions.use(self.session(call)) as machine:
            return _json(await self._engine.stat(machine, path))

    async def ls(self, call: Call) -> web.StreamResponse:
        """List."""
        path = call.path()
        async with self._sessions.use(self.session(call)) as machine:
            return _json(await self._engine.list(machine, path))

    async def mkdir(self, call: Call) -> web.StreamResponse:
        """Make a directory."""
        session = self.session(call)
        asked = call.decoded(bodies.Mkdir)
        check_path(asked.path)
        async with self._sessions.use(session) as machine:
            await self._engine.mkdir(machine, asked.path, parents=asked.parents)
        return _json(bodies.Written(path=asked.path))

    # -- commands ----------------------------------------------------------------

    async def exec(self, call: Call) -> web.StreamResponse:
        """Run a command.

        Without an `Idempotency-Key` it is killed when the client goes.  With one it runs to
        its end, whoever listens: its answer is there for the next request with the key.
        """
        session = self.session(call)
        asked: bodies.Exec = call.decoded(bodies.Exec)
        asked.check()
        asked.input()
        key = call.request.headers.get(IDEMPOTENCY_KEY)
        if key is None:
            answer = Answer()
            task = spawn(self._run(session, asked, answer), name="exec")
            try:
                return await self._send(call.request, answer)
            finally:
                await cancel(task)
        owner = call.principal.name
        answer, first = self._replays.find(owner, session.id, key, call.body)
        if first:
            work = self._run_kept(session, asked, answer, key)
            guard(work, name=f"exec for {session.id}")
        return await self._send(call.request, answer)

    async def _run_kept(
        self, session: Session, asked: bodies.Exec, answer: Answer, key: str
    ) -> None:
        whole = False
        try:
            whole = await self._run(session, asked, answer)
        finally:
            # What failed on this side did not count; what was refused for now may be tried.
            keep = whole and answer.status < 500 and answer.status != 429
            self._replays.finished(session.owner, session.id, key, keep=keep)

    async def _run(self, session: Session, asked: bodies.Exec, answer: Answer) -> bool:
        """Fill `answer`, an error included; whether it came to its end."""
        try:
            async with self._sessions.use(session) as machine:
                await execs.run(self._engine, machine, asked, answer)
        except ApiError as error:
            if answer.status:
                return False
            _refuse(answer, error)
        finally:
            if not answer.status:  # a fault, or cancelled: who joined must not wait for ever
                _refuse(answer, ApiError(500, "internal", "internal error"))
            answer.end()
        return True

    async def _send(self, request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
        await answer.begun()
        if not answer.headers["Content-Type"].startswith("text/event-stream"):
            body = b"".join([piece async for piece in answer.read(self.keepalive_s)])
            return web.Response(status=answer.status, headers=answer.headers, body=body)
        response = web.StreamResponse(status=answer.status, headers=answer.headers)
        await response.prepare(request)
        async for piece in answer.read(self.keepalive_s):
            await response.write(piece or KEEPALIVE)
        await response.write_eof()
        return response


def _refuse(answer: Answer, error: ApiError) -> None:
    answer.begin(error.status, execs.JSON | error.headers)
    answer.write(bodies.error_body(error))


def _json(body: Struct, status: int = 200) -> web.Response:
    return web.Response(status=status, body=bodies.encode(body), content_type="application/json")


PATH = Parameter(name="path", about="Absolute, below /workspace.", kind="path")
_VM_ERRORS = (400, 404, 409, 429, 503)
ROUTES = (
    Route(
        method="GET", path="/v1/health", name="health", about="Liveness; needs no credentials.",
        handler=Api.health, answers={200: bodies.Health}, public=True,
    ),
    Route(
        method="GET", path="/v1/openapi.json", name="openapi", about="This document.",
        handler=Api.openapi, answers={200: dict[str, Any]},
    ),
    Route(
        method="POST", path="/v1/sessions", name="create_session",
        about="Create a session, or attach to the one of this key.", handler=Api.create,
        body=bodies.CreateSession, answers={201: bodies.Session, 200: bodies.Session},
        errors=(400, 403, 409, 413, 429, 503),
    ),
    Route(
        method="GET", path="/v1/sessions", name="list_sessions", about="The caller's sessions.",
        handler=Api.list, answers={200: bodies.SessionList},
    ),
    Route(
        method="GET", path="/v1/sessions/{id}", name="get_session", about="One session.",
        handler=Api.get, answers={200: bodies.Session}, errors=(404,),
    ),
    Route(
        method="DELETE", path="/v1/sessions/{id}", name="delete_session",
        about="Release the VM and forget the session.  The workspace stays until its time is "
        "over, unless it is to be deleted.",
        handler=Api.delete, answers={204: None}, errors=(400, 404, 409, 503),
        query=(
            Parameter(name="workspace", about="`keep` (the default) or `delete`.", kind="word"),
        ),
    ),
    Route(
        method="POST", path="/v1/sessions/{id}/renew", name="renew_session",
        about="Give the workspace more time.", handler=Api.renew, body=bodies.Renew,
        answers={200: bodies.Renewed}, errors=(400, 404, 409, 413, 503),
    ),
    Route(
        method="POST", path="/v1/sessions/{id}/exec", name="exec",
        about="Run a command; with `stream`, answer server-sent events while it runs.",
        handler=Api.exec, body=bodies.Exec, answers={200: bodies.ExecResult},
        errors=(*_VM_ERRORS, 413, 500, 504),
    ),
    Route(
        method="PUT", path="/v1/sessions/{id}/files", name="write_file",
        about="Write a file of at most 4 MiB.", handler=Api.put_file, raw_body=True,
        query=(
            PATH,
            Parameter(name="append", about="Add to the end."),
            Parameter(name="exclusive", about="Fail where the file exists."),
        ),
        answers={200: bodies.Written}, errors=(*_VM_ERRORS, 413, 500, 504),
    ),
    Route(
        method="GET", path="/v1/sessions/{id}/files", name="read_file",
        about="Read a file of at most 4 MiB.", handler=Api.get_file, query=(PATH,),
        answers={200: bytes}, errors=(*_VM_ERRORS, 413, 500, 504),
    ),
    Route(
        method="DELETE", path="/v1/sessions/{id}/files", name="remove_file",
        about="Remove a file or a directory.", handler=Api.delete_file,
        query=(PATH, Parameter(name="recursive", about="A directory with all it holds.")),
        answers={204: None}, errors=(*_VM_ERRORS, 500, 504),
    ),
    Route(
        method="GET", path="/v1/sessions/{id}/stat", name="stat",
        about="Describe a path; a final symbolic link is not followed.", handler=Api.stat,
        query=(PATH,), answers={200: bodies.Stat}, errors=(*_VM_ERRORS, 500, 504),
    ),
    Route(
        method="GET", path="/v1/sessions/{id}/ls", name="list_directory",
        about="List a directory.", handler=Api.ls, query=(PATH,),
        answers={200: bodies.Listing}, errors=(*_VM_ERRORS, 500, 504),
    ),
    Route(
        method="POST", path="/v1/sessions/{id}/mkdir", name="make_directory",
        about="Make a directory.", handler=Api.mkdir, body=bodies.Mkdir,
        answers={200: bodies.Written}, errors=(*_VM_ERRORS, 413, 500, 504),
    ),
)  # fmt: skip
