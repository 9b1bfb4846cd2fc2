"""Sessions: whose they are, which have a VM, and who must give theirs up.

The table is in memory; what lasts is the workspace, whose key follows from the same inputs
as the session's id.  A session's lock is held while its VM comes or goes, and `busy` counts
who needs it to stay: nothing is reclaimed while that is not 0.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import structlog

from sandbox_api import bodies, identity
from sandbox_api.engine import Engine, Machine, Wish
from sandbox_api.errors import ApiError
from sandbox_api.principals import Principal
from sandbox_api.tasks import guard, spawn

_log = structlog.get_logger(__name__)
_SUSPICIOUS = ("SANDBOX_NOT_FOUND", "GUEST_UNAVAILABLE", "STATE_CONFLICT")
"""Errors after which a VM may be of no more use."""


class Session:
    """One session."""

    def __init__(self, owner: str, key: str, wish: Wish, ttl_s: int) -> None:
        self.id = identity.session_id(owner, key)
        self.owner, self.key, self.wish, self.ttl_s = owner, key, wish, ttl_s
        self.workspace_key = identity.workspace_key(owner, key)
        self.created_at = int(time.time())
        self.expires_at = 0
        self.machine: Machine | None = None
        self.memory_mib, self.vcpus = wish.memory_mib, wish.vcpus
        self.occupied = False
        """It has a VM, or one comes or goes: it counts against --max-running."""
        self.closing = False
        self.busy = 0
        self.last_used = time.monotonic()
        self.lock = asyncio.Lock()
        self.opened = asyncio.Event()
        """Set once it is known what came of its creation."""

    @property
    def shown(self) -> bodies.Session:
        """As its owner sees it."""
        return bodies.Session(
            id=self.id,
            key=self.key,
            state="closing" if self.closing else "idle" if self.machine is None else "ready",
            template=self.wish.template,
            memory_mib=self.memory_mib,
            vcpus=self.vcpus,
            created_at=self.created_at,
            expires_at=self.expires_at,
        )


class Sessions:
    """Every session of this process."""

    def __init__(
        self,
        engine: Engine,
        *,
        default_template: str,
        max_running: int,
        idle_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine, self._clock = engine, clock
        self._default_template = default_template
        self._max_running, self._idle_s = max_running, idle_s
        self._all: dict[str, Session] = {}
        engine.on_lost = self.lost

    # -- find --------------------------------------------------------------------

    def find(self, principal: Principal, session_id: str) -> Session:
        """One of the caller's.  Raises 404."""
        found = self._all.get(session_id)
        if found is None or found.owner != principal.name:
            raise ApiError.no_session()
        return found

    def of(self, principal: Principal) -> list[Session]:
        """The caller's, oldest first."""
        return [each for each in self._all.values() if each.owner == principal.name]

    # -- create or attach --------------------------------------------------------

    async def open(self, principal: Principal, asked: bodies.CreateSession) -> tuple[Session, bool]:
        """The session of this key, and whether it is new.

        Raises 400, 403, 409 (other resources), 429 (too many), and what a create raises.
        """
        asked.check()
        key = identity.random_key() if asked.key is None else asked.key
        identity.check_key(key)
        session_id = identity.session_id(principal.name, key)
        while True:
            found = self._all.get(session_id)
            if found is None:
                return await self._new(principal, key, asked), True
            principal.check_template(asked.template or found.wish.template)
            await found.opened.wait()
            async with found.lock:  # on its way out: the answer is what comes of that
                pass
            if self._all.get(session_id) is found and not found.closing:
                _check_same(found, asked)
                return found, False

    async def _new(self, principal: Principal, key: str, asked: bodies.CreateSession) -> Session:
        wish = self._wish(asked)
        principal.check_template(wish.template)
        if len(self.of(principal)) >= principal.max_sessions:
            message = f"{principal.max_sessions} sessions are open; delete one first"
            raise ApiError(429, "too_many_sessions", message)
        session = Session(principal.name, key, wish, asked.ttl_seconds)
        self._all[session.id] = session
        try:
            async with self.use(session):
                return session
        except BaseException:
            if session.machine is None:
                self._drop(session)
            raise
        finally:
            session.opened.set()

    def _wish(self, asked: bodies.CreateSession) -> Wish:
        return Wish(
            template=asked.template or self._default_template,
            memory_mib=asked.memory_mib,
            vcpus=asked.vcpus,
            env=asked.env or {},
            egress_allow=tuple(asked.egress_allow or ()),
            egress_deny_all=bool(asked.egress_deny_all),
        )

    # -- use ---------------------------------------------------------------------

    @asynccontextmanager
    async def use(self, session: Session) -> AsyncIterator[Machine]:
        """A VM that stays while the block runs, made where there is none.

        Raises what a create raises.  A VM that turns out to be dead is let go, so that the
        next use makes another.
        """
        session.busy += 1
        try:
            while session.machine is None or session.closing:
                # Not by the caller, who may be cancelled halfway.
                await asyncio.shield(spawn(self._provide(session), name=f"provide {session.id}"))
            machine = session.machine
            try:
                yield machine
            except ApiError as error:
                if error.reason in _SUSPICIOUS:
                    guard(self._examine(session, machine), name=f"examine {session.id}")
                if error.reason == "SANDBOX_NOT_FOUND":
                    message = "the session's VM is gone; the next call gets another"
                    raise ApiError(503, "guest_unavailable", message) from error
                raise
        finally:
            session.busy -= 1
            session.last_used = self._clock()

    async def _provide(self, session: Session) -> None:
        async with session.lock:
            if session.closing or self._all.get(session.id) is not session:
                raise ApiError.no_session()
            if session.machine is not None:
                return
            await self._make_room()
            session.occupied = True
            try:
                machine = await self._engine.create(
                    session.wish, session.workspace_key, session.ttl_s
                )
                session.expires_at = await self._engine.expires_at(session.workspace_key)
            except BaseException:
                session.occupied = False
                raise
            session.memory_mib, session.vcpus = machine.memory_mib, machine.vcpus
            session.machine, session.last_used = machine, self._clock()

    async def _make_room(self) -> None:
        """Let go of the least recently used VM that nobody needs.  Raises 429."""
        while sum(each.occupied for each in self._all.values()) >= self._max_running:
            free = [each for each in self._all.values() if self._is_free(each)]
            if not free:
                message = f"{self._max_running} VMs are running and in use"
                raise ApiError(429, "too_many_running", message)
            await self._reclaim(min(free, key=lambda each: each.last_used))

    def _is_free(self, session: Session) -> bool:
        return session.machine is not None and not session.busy and not session.lock.locked()

    # -- letting go --------------------------------------------------------------

    async def _reclaim(self, session: Session) -> None:
        """End its VM; the workspace stays."""
        async with session.lock:
            await self._let_go(session)
        _log.info("session is idle", session=session.id)

    async def _let_go(self, session: Session) -> None:
        machine, session.machine = session.machine, None
        try:
            if machine is not None:
                await self._engine.destroy(machine)
        finally:
            session.occupied = False

    async def _examine(self, session: Session, machine: Machine) -> None:
        async with session.lock:
            if session.machine is machine and not await self._engine.lives(machine):
                await self._let_go(session)

    def lost(self) -> None:
        """The engine's session ended: no VM is left."""
        for each in self._all.values():
            if each.machine is not None:
                each.machine, each.occupied = None, False

    async def reclaim_idle(self) -> float:
        """End the VMs of those idle too long; s until the next may be."""
        now = self._clock()
        due = [
            each
            for each in self._all.values()
            if self._is_free(each) and each.last_used + self._idle_s <= now
        ]
        for result in await asyncio.gather(*map(self._reclaim, due), return_exceptions=True):
            if isinstance(result, Exception):
                _log.warning("an idle VM was not ended", error=str(result))
        waits = [each.last_used + self._idle_s - now for each in self._all.values()]
        return max(0.2, min([self._idle_s, 30.0, *(wait for wait in waits if wait > 0)]))

    async def run(self) -> None:
        """Reclaim what is idle, until cancelled."""
        while True:
            wait_s = await self.reclaim_idle()
            await asyncio.sleep(wait_s)

    async def close(self, session: Session, *, workspace: bool) -> None:
        """Release the VM and forget the session; with `workspace` its files too."""
        if session.closing:
            raise ApiError.no_session()
        session.closing = True
        await asyncio.shield(
            spawn(self._close(session, workspace=workspace), name=f"close {session.id}")
        )

    async def _close(self, session: Session, *, workspace: bool) -> None:
        async with session.lock:
            try:
                await self._let_go(session)
                if workspace:
                    await self._engine.delete_workspace(session.workspace_key)
            except BaseException:
                session.closing = False
                raise
            self._drop(session)

    async def renew(self, session: Session, extra_s: int) -> int:
        """More time for the workspace; when it ends now."""
        session.expires_at = await self._engine.renew(session.workspace_key, extra_s)
        return session.expires_at

    def _drop(self, session: Session) -> None:
        if self._all.get(session.id) is session:
            del self._all[session.id]


def _check_same(session: Session, asked: bodies.CreateSession) -> None:
    """Raise 409 where what is asked for by name is not what the session has."""
    wish = session.wish
    allow = None if asked.egress_allow is None else tuple(asked.egress_allow)
    for name, given, has in (
        ("template", asked.template, wish.template),
        ("memory_mib", asked.memory_mib or None, session.memory_mib),
        ("vcpus", asked.vcpus or None, session.vcpus),
        ("env", asked.env, wish.env),
        ("egress_allow", allow, wish.egress_allow),
        ("egress_deny_all", asked.egress_deny_all, wish.egress_deny_all),
    ):
        if given is not None and given != has:
            message = f"{name}: the session has another value; delete it first to change that"
            raise ApiError(409, "resources_differ", message)
