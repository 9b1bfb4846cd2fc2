"""Volumes of claims that live: what is wanted is on record first, then made so.

Only what is read and mounted comes and goes; the rest is as the claim was made.  Wanted and
applied are apart while a step fails, as where something in the guest still uses a mount: the
step is tried again until it succeeds, the wish changes or the claim ends, also after a
restart of the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence

import structlog
from msgspec import Struct
from msgspec.structs import replace

from sandbox_engine.errors import (
    EngineError,
    InvalidArgument,
    NoSpace,
    NotOffered,
    StateConflict,
)
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.machine import ENDED, State
from sandbox_engine.model.sandbox import ARCHIVE, Sandbox
from sandbox_engine.model.volume import (
    Grant,
    VolumeWish,
    check_fits,
    exactly,
    kept,
    placed,
    together,
    without,
)
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.live import Live
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.volumes import Volumes

RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses between tries; the last one again and again."""
_log = structlog.get_logger(__name__)


class Change(Struct):
    """A change under way."""

    task: asyncio.Task[None]
    errors: dict[str, str]
    """Why a volume is not what it should be, by name."""
    tried: asyncio.Event
    """Every step was tried once."""


class LiveVolumes:
    """Changes the volumes of live claims."""

    def __init__(self, *, sandboxes: Sandboxes, volumes: Volumes, audit: Audit) -> None:
        self._sandboxes, self._volumes, self._audit = sandboxes, volumes, audit
        self._changes: dict[str, Change] = {}
        self.pauses: Sequence[float] = RETRY_S

    def errors(self, sandbox: Sandbox) -> dict[str, str]:
        """Why a volume of a claim is not what it should be, by name."""
        change = self._changes.get(sandbox.id)
        return {} if change is None else dict(change.errors)

    async def put(self, live: Live, asked: list[VolumeWish]) -> None:
        """Have these, beside what cannot go; returns once each step was tried.

        Raises `InvalidArgument`, `NotOffered` (held by others, needs recovery, is not to be
        changed), `StateConflict` where the guest does not run; nothing is changed then.
        """
        held = _claim(live).wanted_volumes
        new = exactly(held, asked)
        await self._change(live, kept(held, {wish.name for wish in asked}), new)

    async def patch(self, live: Live, add: list[VolumeWish], remove: list[str]) -> None:
        """Have some more and some less.  Raises as `put()`."""
        if both := {wish.name for wish in add} & set(remove):
            raise InvalidArgument("volumes", f"{min(both)!r} is in add and in remove")
        held = _claim(live).wanted_volumes
        new = exactly(held, add)
        await self._change(live, without(held, remove), new)

    async def _change(self, live: Live, stays: tuple[Grant, ...], new: list[VolumeWish]) -> None:
        sandbox, claim = live.sandbox, _claim(live)
        granted = self._volumes.grants(new, tenant=claim.tenant, mounted=True)
        check_fits((*stays, *granted))
        if granted and not sandbox.volume_disks:
            raise InvalidArgument("volumes", "this template takes none: build it with `volumes`")
        if granted and sandbox.on_expire == ARCHIVE:
            raise InvalidArgument("volumes", "a claim that is to be archived takes none")
        if tuple(stays) == claim.wanted_volumes and not granted:
            await self._tried(sandbox)
            return
        if sandbox.state is not State.RUNNING:
            raise StateConflict(have=sandbox.state.value, given="change the volumes of")
        await self._accept(live, stays, granted)

    async def _accept(
        self, live: Live, stays: tuple[Grant, ...], granted: tuple[Grant, ...]
    ) -> None:
        sandbox, claim = live.sandbox, _claim(live)
        # What is on its way out is still there: it is waited for, not taken twice.
        back = {one.name: one for one in claim.held_volumes}
        fresh = [replace(one, disk="") for one in granted if one.name not in back]
        again = [back[one.name] for one in granted if one.name in back]
        for one in granted:
            if one.name in back and one.mount != back[one.name].mount:
                raise NotOffered(f"volume {one.name!r} is being detached: try again")
        self._volumes.hold(fresh)
        want = (*stays, *again, *fresh)
        # A step may have come half way, to detach one or to attach one: each is done again.
        have = [one for one in claim.volumes if one not in again]
        given_up = [one for one in claim.held_volumes if one not in (*have, *want)]
        have += [one for one in given_up if one.disk]
        self._set(live, tuple(have), want)
        try:
            self._sandboxes.keep(sandbox)
        except EngineError:
            self._volumes.release(fresh, clean=True)
            sandbox.claim = claim
            raise
        self._volumes.release([one for one in given_up if not one.disk], clean=True)
        self._audit.call(sandbox.id, {"op": "volumes"})
        await self.stop(sandbox)
        if sandbox.id not in self._changes:  # another call's looks at the same record
            self._begin(live)
        await self._tried(sandbox)

    # -- towards what is wanted --------------------------------------------------

    def resume(self, all_live: Iterable[Live]) -> None:
        """After a restart: go on with what was under way."""
        for live in all_live:
            claim = live.sandbox.claim
            if claim is not None and claim.volumes_want is not None:
                self._begin(live)

    async def stop(self, sandbox: Sandbox) -> None:
        """No step of a change is under way when this returns, or will be.  Never raises."""
        if (change := self._changes.pop(sandbox.id, None)) is not None:
            await cancel(change.task)
            change.tried.set()

    def _begin(self, live: Live) -> None:
        errors: dict[str, str] = {}
        tried = asyncio.Event()
        task = spawn(self._converge(live, errors, tried), name=f"volumes {live.sandbox.id}")
        self._changes[live.sandbox.id] = Change(task=task, errors=errors, tried=tried)

    async def _tried(self, sandbox: Sandbox) -> None:
        if (change := self._changes.get(sandbox.id)) is not None:
            await change.tried.wait()

    async def _converge(self, live: Live, errors: dict[str, str], tried: asyncio.Event) -> None:
        pauses = iter(self.pauses)
        pause = 0.0
        try:
            while live.sandbox.state not in ENDED and not await self._try(live, errors):
                tried.set()
                pause = next(pauses, pause)
                await asyncio.sleep(pause)
        finally:
            tried.set()

    async def _try(self, live: Live, errors: dict[str, str]) -> bool:
        """One try of each step; whether all is as it should be."""
        before = _claim(live)
        for grant in before.volumes:
            if grant not in before.wanted_volumes and await _done(
                self._remove(live, grant), grant, errors
            ):
                self._removed(live, grant)
        self._place(live)
        for grant in _claim(live).wanted_volumes:
            if grant not in _claim(live).volumes and await _done(
                self._add(live, grant), grant, errors
            ):
                self._set(live, (*_claim(live).volumes, grant), _claim(live).wanted_volumes)
        claim = _claim(live)
        if claim.volumes_want is not None and set(claim.volumes) == set(claim.volumes_want):
            self._set(live, claim.volumes_want, None)
        if _claim(live) != before:
            self._note(live.sandbox)
        return _claim(live).volumes_want is None

    def _place(self, live: Live) -> None:
        """A disk for each that has none, on record before an image is there."""
        claim = _claim(live)
        want = placed(claim.wanted_volumes, {one.disk for one in claim.volumes})
        if want != claim.wanted_volumes:
            self._set(live, claim.volumes, want)
            self._note(live.sandbox)

    async def _add(self, live: Live, grant: Grant) -> None:
        if not grant.disk:
            raise NotOffered("every disk is in use")
        if live.sandbox.state is not State.RUNNING:
            raise StateConflict(have=live.sandbox.state.value, given="attach a volume to")
        # Attached by an engine that did not live to tell, or a try that came half way.
        present = await live.vm.machine.attached_disks()
        await self._volumes.attach((grant,), live.vm, present)

    async def _remove(self, live: Live, grant: Grant) -> None:
        if live.sandbox.state is not State.RUNNING:
            raise StateConflict(have=live.sandbox.state.value, given="detach a volume from")
        await self._volumes.remove(grant, live.vm)

    def _removed(self, live: Live, grant: Grant) -> None:
        claim = _claim(live)
        rest = tuple(one for one in claim.volumes if one != grant)
        self._set(live, rest, claim.wanted_volumes)
        if grant not in _claim(live).held_volumes:
            self._volumes.release((grant,), clean=True)

    def _set(self, live: Live, have: tuple[Grant, ...], want: tuple[Grant, ...] | None) -> None:
        live.sandbox.claim = replace(_claim(live), volumes=have, volumes_want=want)

    def _note(self, sandbox: Sandbox) -> None:
        """What happened did; with a full disk the next start does it again."""
        try:
            self._sandboxes.keep(sandbox)
        except NoSpace as error:
            _log.error("the journal is behind", sandbox=sandbox.id, error=str(error))


async def _done(step: Awaitable[None], grant: Grant, errors: dict[str, str]) -> bool:
    try:
        await step
    except EngineError as error:
        errors[grant.name] = str(error)
        return False
    errors.pop(grant.name, None)
    return True


def states(claim: Claim, errors: dict[str, str]) -> list[dict[str, str]]:
    """Where each volume of a claim is on its way."""
    found = []
    for grant in together(claim.wanted_volumes, claim.volumes):
        state = "attached"
        if grant not in claim.volumes:
            state = "pending"
        elif grant not in claim.wanted_volumes:
            state = "detaching"
        row = {"name": grant.name, "state": state}
        found.append(row | ({"error": errors[grant.name]} if grant.name in errors else {}))
    return found


def _claim(live: Live) -> Claim:
    if live.sandbox.claim is None:
        raise NotOffered("this sandbox was not claimed by this API: it has no volumes")
    return live.sandbox.claim
