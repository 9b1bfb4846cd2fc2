"""Workspaces: held by one sandbox at a time, kept between them, removed when their time is over.

A record is written before the volume is made and before a guest is given it, so whatever
dies in between, the next engine knows which volumes are nobody's and which need a check.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress

import structlog
from msgspec.structs import replace

from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    NoSpace,
    SessionBusy,
    SessionUnknown,
    WorkspaceDamaged,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.sandbox import Sandbox, SandboxSpec, check_session_key
from sandbox_engine.model.workspace import Workspace, attached, granted, renewed
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.vmm import WORKSPACE_DISK
from sandbox_engine.ports.workspaces import Volumes
from sandbox_engine.services.vms import Vm

ATTACH_TIMEOUT_S = 60.0
"""A guest may have a long journal to play back."""
ANSWER_FIRST_S = 0.005
"""A guest that mounts takes a processor: until nobody waits for the create any more, or somebody
for the mount.
"""
DETACH_TIMEOUT_S = 10.0
REAP_INTERVAL_S = 30.0
NOBODY_YET = "(being created)"
_log = structlog.get_logger(__name__)
_Name = tuple[str, str]


class Mounting:
    """A workspace on its way into a guest.

    A create does not wait for it: mounting costs a guest many times what a warm create does.
    Everything that uses the guest waits, and is told why where it failed.
    """

    def __init__(self, vm: Vm, fd: int, *, again: bool = False) -> None:
        self._failure: EngineError | None = None
        self._wanted = asyncio.Event()
        self._begun = False
        self._task = spawn(self._run(vm, fd, again=again), name=f"mount in {vm.name}")

    async def wait(self) -> None:
        """Return once it is mounted.  Raises `GuestUnavailable`, the same each time."""
        if not self._task.done():
            self._wanted.set()
            await asyncio.wait((self._task,))
        if self._failure is not None:
            raise GuestUnavailable(f"the workspace cannot be mounted: {self._failure}")

    async def abandon(self) -> bool:
        """End it before it begins; whether the VM got nothing of it."""
        if not self._begun:
            await cancel(self._task)
        return not self._begun

    @property
    def done(self) -> bool:
        """Whether it is mounted, and nobody need wait."""
        return self._task.done() and self._failure is None

    async def _run(self, vm: Vm, fd: int, *, again: bool) -> None:
        try:
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_FIRST_S):
                        await self._wanted.wait()
                self._begun = True
                if not again or WORKSPACE_DISK not in await vm.machine.attached_disks():
                    await vm.machine.attach_disk(WORKSPACE_DISK, fd)
            finally:
                os.close(fd)
            call = {"op": "configure", "workspace": {"serial": WORKSPACE_DISK}}
            await vm.channel.call(call, timeout_s=ATTACH_TIMEOUT_S)
        except EngineError as error:
            self._failure = error
            _log.warning("a workspace was not mounted", vm=vm.name, error=str(error))


class Workspaces:
    """Every workspace of the node."""

    def __init__(
        self, *, volumes: Volumes, journal: Journal, clock: Clock, size_bytes: int, max_ttl_s: int
    ) -> None:
        self._volumes, self._journal, self._clock = volumes, journal, clock
        self._size_bytes, self._max_ttl_s = size_bytes, max_ttl_s
        self._all: dict[_Name, Workspace] = {
            (each.owner, each.key): each for each in journal.workspaces()
        }
        self._held: set[_Name] = set()

    # -- for one sandbox ---------------------------------------------------------

    async def acquire_for(self, caller: Caller, spec: SandboxSpec) -> Workspace | None:
        """See `acquire()`; None for a sandbox of no session."""
        if spec.session_key is None:
            return None
        return await self.acquire(caller, spec.session_key, spec.workspace_ttl_s)

    async def acquire(self, caller: Caller, key: str, ttl_s: int) -> Workspace:
        """Take a workspace for a sandbox to come, made or repaired where it must be.

        Raises `SessionBusy`, `InvalidArgument`, `NoSpace`, `WorkspaceDamaged`.
        """
        check_session_key(key)
        granted(ttl_s, self._max_ttl_s)
        name = caller.name, key
        if name in self._held:
            raise SessionBusy(key, self._all[name].sandbox or NOBODY_YET)
        now = self._clock.now()
        found = self._all.get(name)
        if found is not None and found.expired(now):
            self._expire(found)
            found = None
        fresh = found is None
        if found is None:
            found = self._new(caller, key, now, ttl_s)
        found = attached(found, now, ttl_s, self._max_ttl_s)
        if fresh:
            self._put(found)
        else:
            self._all[name] = found  # on record with whom it is given to
        self._held.add(name)
        try:
            if fresh:
                await self._volumes.make(found.volume, found.size_bytes)
            elif not found.clean:
                await self._volumes.repair(found.volume)
                self._put(replace(self._all[name], clean=True))
        except BaseException:
            self._held.discard(name)
            if fresh:
                self._forget(found)
            raise
        return self._all[name]

    def _new(self, caller: Caller, key: str, now: float, ttl_s: int) -> Workspace:
        return Workspace(
            owner=caller.name,
            key=key,
            volume="ws-" + os.urandom(8).hex(),
            size_bytes=self._size_bytes,
            created_at=now,
            expires_at=now + granted(ttl_s, self._max_ttl_s),
        )

    def begin(self, workspace: Workspace, vm: Vm) -> Mounting:
        """Have what was acquired mounted in the guest of `vm`, which goes on meanwhile.

        When this returns the record says that a guest may have it: whatever dies from here on
        leaves a volume that is checked before its next use.  Raises `NoSpace`,
        `WorkspaceDamaged`.
        """
        self._put(replace(self._now(workspace), sandbox=vm.sandbox_id, clean=False))
        return Mounting(vm, self._volumes.open(workspace.volume))

    def again(self, owner: str, key: str, vm: Vm) -> Mounting:
        """After a restart: the engine that had it mounted may not have come to the end.

        Raises `WorkspaceDamaged`.
        """
        found = self._all.get((owner, key))
        if found is None:
            raise WorkspaceDamaged(f"the workspace of session {key!r} is gone")
        return Mounting(vm, self._volumes.open(found.volume), again=True)

    async def detach(self, sandbox: Sandbox, vm: Vm, mounting: Mounting | None) -> None:
        """Unmount, bounded in time; what could not be unmounted is checked before its next use.

        Never raises.  The volume stays held until `release()`: the VMM still has it.
        """
        found = self._all.get((sandbox.owner, sandbox.spec.session_key or ""))
        if found is None or vm.machine.exited.is_set():
            return
        try:
            async with asyncio.timeout(DETACH_TIMEOUT_S):
                if mounting is None or not await mounting.abandon():
                    await self._unmount(vm, mounting)
        except (EngineError, TimeoutError) as error:
            _log.warning("a workspace was not unmounted", sandbox=vm.sandbox_id, error=str(error))
            return
        self._note(replace(self._now(found), clean=True))

    async def _unmount(self, vm: Vm, mounting: Mounting | None) -> None:
        if mounting is not None:
            await mounting.wait()
        await vm.machine.resume()  # a guest that stands still writes nothing out
        await vm.channel.call({"op": "configure", "workspace": {}})

    def release(self, owner: str, key: str | None) -> None:
        """The VM is gone: another may have it.  Idempotent; never raises."""
        name = owner, key or ""
        if name not in self._held:
            return
        self._held.discard(name)
        found = replace(self._all[name], sandbox="")
        self._note(found)
        if found.expired(self._clock.now()):
            self._expire(found)

    def recover(self, running: Iterable[tuple[str, str]]) -> None:
        """After a restart: `running` sandboxes hold theirs, every other VM is gone."""
        self._held = {name for name in running if name in self._all}
        for name, each in list(self._all.items()):
            if name not in self._held and each.sandbox:
                self._put(replace(each, sandbox=""))
        known = {each.volume for each in self._all.values() if not each.gone}
        for volume in self._volumes.names():
            if volume not in known:
                self._volumes.remove(volume)
                _log.info("leftover removed", volume=volume)
        present = set(self._volumes.names())
        for each in list(self._all.values()):
            if not each.gone and each.volume not in present:
                self._forget(each)  # the engine died while it was being made

    # -- for their owners --------------------------------------------------------

    def renew(self, caller: Caller, key: str, extra_s: int) -> Workspace:
        """More time.  Raises `SessionUnknown`, `SessionExpired`, `SessionLimit`."""
        found = renewed(self._find(caller, key), self._clock.now(), extra_s, self._max_ttl_s)
        self._put(found)
        return found

    def get(self, caller: Caller, key: str) -> Workspace:
        """One that lives.  Raises `SessionUnknown`."""
        found = self._find(caller, key)
        if found.expired(self._clock.now()) and (caller.name, key) not in self._held:
            raise SessionUnknown(f"no workspace for session {key!r}")
        return found

    def all(self, caller: Caller) -> list[Workspace]:
        """The caller's, by key."""
        now = self._clock.now()
        mine = (each for (owner, _), each in self._all.items() if owner == caller.name)
        return sorted((each for each in mine if not each.expired(now)), key=lambda each: each.key)

    def used_bytes(self, workspace: Workspace) -> int:
        """The space it takes on the host."""
        return self._volumes.used_bytes(workspace.volume)

    def delete(self, caller: Caller, key: str) -> None:
        """Remove it, with its files.  Raises `SessionUnknown`, `SessionBusy`."""
        found = self.get(caller, key)
        if (caller.name, key) in self._held:
            raise SessionBusy(key, found.sandbox or NOBODY_YET)
        self._volumes.remove(found.volume)
        self._forget(found)

    # -- their end ---------------------------------------------------------------

    async def run(self) -> None:
        """Remove what is past its time, until cancelled."""
        while True:
            self.reap()
            await asyncio.sleep(REAP_INTERVAL_S)

    def reap(self) -> None:
        """Remove every volume past its time that no sandbox has, and records nobody asks for."""
        now = self._clock.now()
        for name, each in list(self._all.items()):
            if name in self._held or not each.expired(now):
                continue
            if not each.gone:
                self._expire(each)
            elif each.expires_at + self._max_ttl_s <= now:
                self._forget(each)

    def _expire(self, found: Workspace) -> None:
        self._volumes.remove(found.volume)
        self._note(replace(found, gone=True, sandbox="", clean=True))
        _log.info("workspace expired", owner=found.owner, key=found.key)

    # -- shared ------------------------------------------------------------------

    def _find(self, caller: Caller, key: str) -> Workspace:
        check_session_key(key)
        found = self._all.get((caller.name, key))
        if found is None:
            raise SessionUnknown(f"no workspace for session {key!r}")
        return found

    def _now(self, workspace: Workspace) -> Workspace:
        return self._all[workspace.owner, workspace.key]

    def _put(self, workspace: Workspace) -> None:
        self._journal.workspace_put(workspace)
        self._all[workspace.owner, workspace.key] = workspace

    def _note(self, workspace: Workspace) -> None:
        """Put what happened already: with a full disk the journal stays behind, and the next
        start takes the workspace for one that needs a check or is nobody's.
        """
        self._all[workspace.owner, workspace.key] = workspace
        try:
            self._journal.workspace_put(workspace)
        except NoSpace as error:
            _log.error("the journal is behind", volume=workspace.volume, error=str(error))

    def _forget(self, workspace: Workspace) -> None:
        self._all.pop((workspace.owner, workspace.key), None)
        try:
            self._journal.workspace_gone(workspace)
        except NoSpace as error:  # the next start finds no volume
            _log.error("a workspace stays on record", volume=workspace.volume, error=str(error))
