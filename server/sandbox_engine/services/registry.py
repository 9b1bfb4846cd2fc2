"""The sandboxes that exist, in memory, and every step of their lives.

The lifecycle table (`model/machine.py`) decides.  A record changes in memory and in the
journal in one synchronous step, so two calls that race are ordered by who reaches the
table first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import structlog

from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    NoSpace,
    PermissionDenied,
    SandboxNotFound,
    StateConflict,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.machine import ENDED, Input, State, step
from sandbox_engine.model.sandbox import Sandbox, SandboxSpec
from sandbox_engine.model.size import EGRESS_NET
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.guest import GuestConnection
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.snapshots import SnapshotStore
from sandbox_engine.ports.templates import TemplatePins
from sandbox_engine.services.idle import IdleClock
from sandbox_engine.services.lanes import Network, NoNetwork
from sandbox_engine.services.live import Live
from sandbox_engine.services.vms import DISK, Vm
from sandbox_engine.services.watching import Watcher

_log = structlog.get_logger(__name__)
_STILL = (State.HIBERNATED, State.ARCHIVED)
_ASLEEP = (State.HIBERNATING, *_STILL, State.WAKING, State.UNARCHIVING, State.BOOTING)
_NEED_ALL = {Input.SAVE, Input.HIBERNATE, Input.WAKE}
"""A saved state holds no workspace and no volume: those would go on changing without it."""
_BEGIN = (Input.PAUSE, Input.RESUME, Input.SAVE, Input.HIBERNATE, Input.WAKE, Input.ARCHIVE)


class Registry:
    """What exists: found by who may see it, changed only through the table."""

    def __init__(
        self, *, journal: Journal, snapshots: SnapshotStore, pins: TemplatePins, clock: Clock
    ) -> None:
        self._journal, self._clock = journal, clock
        self._snapshots, self._pins = snapshots, pins
        self._live: dict[str, Live] = {}
        self._by_number: dict[int, Live] = {}
        self.on_lease: Callable[[], None] = lambda: None
        """Called when a deadline may have become the nearest one."""
        self.watchers: list[Watcher] = []
        self.network: Network = NoNetwork()
        self.waker: Callable[[Live], Awaitable[None]] = _no_waker
        """Wakes a hibernated sandbox."""
        self.on_failed: Callable[[Live], None] = self.gave_up
        """Called when a VM died, and everybody was told."""

    def track(self, sandbox: Sandbox, vm: Vm | None) -> None:
        """Know a sandbox (new, or adopted after a restart) and watch its VM."""
        self._snapshots.hold(sandbox.layers)
        self._pins.hold(sandbox.template_digest)
        live = Live(sandbox, vm, IdleClock(self._clock))
        self._live[sandbox.id] = self._by_number[sandbox.number] = live
        if vm is not None:
            self._watch(live, vm)
        self.on_lease()

    def _watch(self, live: Live, vm: Vm) -> None:
        vm.machine.when_exited(lambda: self._vm_exited(live, vm))

    def attach(self, live: Live, vm: Vm) -> None:
        """Its new VM; the step under way puts both into the journal."""
        sandbox = live.sandbox
        live.held, sandbox.vm, sandbox.disk = vm, vm.name, DISK
        sandbox.resumed_at = self._clock.now()
        self._watch(live, vm)
        self.network.configure(sandbox, vm, saved=True)

    # -- find --------------------------------------------------------------------

    def get(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """One sandbox.  Raises `SandboxNotFound`."""
        return self.find(caller, sandbox_id).sandbox

    def by_number(self, caller: Caller, number: int) -> Sandbox:
        """The sandbox a frame names.

        Raises `SandboxNotFound`, or `PermissionDenied` where another session owns it.
        """
        live = self._by_number.get(number)
        if live is None:
            raise SandboxNotFound(number)
        if caller.confined and live.sandbox.session != caller.session:
            raise PermissionDenied(f"sandbox {number} belongs to another session")
        return live.sandbox

    def visible(self, caller: Caller) -> list[Sandbox]:
        """What the caller may see, oldest first."""
        return [
            live.sandbox
            for live in self._live.values()
            if not caller.confined or live.sandbox.session == caller.session
        ]

    def find(self, caller: Caller, sandbox_id: str) -> Live:
        """One sandbox with its VM, for what changes it.  Raises `SandboxNotFound`."""
        live = self._live.get(sandbox_id)
        if live is None or (caller.confined and live.sandbox.session != caller.session):
            raise SandboxNotFound(sandbox_id)
        return live

    def channel(self, caller: Caller, sandbox_id: str, *, passive: bool = False) -> GuestConnection:
        """The guest channel, for an operation that the present state allows.

        A `passive` one is an operator's read: it is not taken for activity.

        Raises `SandboxNotFound`, `StateConflict`, `GuestUnavailable` (the VM died).
        """
        live = self.find(caller, sandbox_id)
        if live.sandbox.state is State.FAILED:
            raise GuestUnavailable(f"sandbox {sandbox_id} failed: {live.sandbox.failure}")
        step(live.sandbox.state, Input.USE)
        if not passive:
            live.idle.touch()
        return live.vm.channel

    async def awake(self, caller: Caller, sandbox_id: str) -> None:
        """Bring a hibernated sandbox back for whoever is about to use it, and wait for its
        workspace.

        One that boots is waited for.  Every other state it leaves to that use.  Raises
        `SandboxNotFound`, what a wake raises, and `GuestUnavailable` where the workspace
        cannot be mounted.
        """
        live = self.find(caller, sandbox_id)
        while live.sandbox.state in _ASLEEP:
            if live.sandbox.state in _STILL:
                await self.waker(live)
            else:
                await self.joined(live)
        if live.mounting is not None and not live.mounting.done:
            await live.mounting.wait()

    async def run_step(self, live: Live, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run the step that the table has begun to its end, whether or not its caller stays."""
        live.work = spawn(work, name=f"{name} {live.sandbox.id}")
        await asyncio.shield(live.work)

    async def joined(self, live: Live) -> None:
        """Wait for the step under way, however it ends."""
        if live.work is not None:
            await asyncio.wait((live.work,))

    def idle(self, caller: Caller, sandbox_id: str) -> IdleClock:
        """How long it has been left alone, and what holds that clock."""
        return self.find(caller, sandbox_id).idle

    # -- steps -------------------------------------------------------------------

    @asynccontextmanager
    async def finishing(self, live: Live, begun: State) -> AsyncIterator[None]:
        """Leave the state that its step began by how the step inside ended."""
        failure: EngineError | None = None
        try:
            yield
        except EngineError as error:
            failure = error
        sandbox = live.sandbox
        if sandbox.state in ENDED:  # its end is not this step's
            raise StateConflict(have=sandbox.state.value, given="finish this step of") from failure
        if sandbox.state is not begun:  # its VM died: what is now is not this step's either
            words = sandbox.failure or "its virtual machine died"
            raise GuestUnavailable(f"sandbox {sandbox.id} failed: {words}") from failure
        self.advance(live, Input.DONE if failure is None else Input.STEP_FAILED)
        if failure is not None:
            raise failure

    def keep(self, sandbox: Sandbox) -> None:
        """What was changed of its record is in the journal when this returns.  Raises `NoSpace`."""
        self._journal.sandbox_put(sandbox)

    def advance(self, live: Live, given: Input) -> State:
        """Feed the table; a change of state is in the journal when this returns.

        On a full disk nothing new is begun (`NoSpace`).  But what ended or died did so, and
        destroying frees space: then the journal stays behind, which the next start mends.
        """
        before = live.sandbox.state
        after = step(before, given)
        if after is before:
            return after
        if given in _NEED_ALL and (reason := unsaved(live.sandbox)):
            raise StateConflict(have=f"given {reason}", given=given.value)
        live.sandbox.state = after
        try:
            self._journal.sandbox_put(live.sandbox)
        except NoSpace as error:
            if given in _BEGIN:
                live.sandbox.state = before
                raise
            _log.error("the journal is behind", sandbox=live.sandbox.id, error=str(error))
        return after

    def _vm_exited(self, live: Live, vm: Vm) -> None:
        if live.held is not vm or live.sandbox.state in ENDED:
            return
        live.sandbox.failure = "its virtual machine died"
        self.advance(live, Input.VM_DIED)
        for watcher in self.watchers:
            watcher.vm_exited(live.sandbox)
        _log.warning("a virtual machine died", sandbox=live.sandbox.id, vm=vm.name)
        self.on_failed(live)

    def gave_up(self, live: Live) -> None:
        """A failed one stays so until somebody wakes it."""
        for watcher in self.watchers:
            watcher.gave_up(live.sandbox)

    # -- leases ------------------------------------------------------------------

    def all_live(self) -> list[Live]:
        """Every sandbox with its VM, oldest first."""
        return list(self._live.values())

    def expired(self, now: float) -> list[Live]:
        """Sandboxes whose lease has ended."""
        return [
            live
            for live in self._live.values()
            if live.sandbox.deadline is not None
            and live.sandbox.deadline <= now
            and live.sandbox.state is not State.DESTROYING
        ]

    def deadlines(self) -> Iterator[float]:
        """When leases end."""
        return (
            live.sandbox.deadline
            for live in self._live.values()
            if live.sandbox.deadline is not None and live.sandbox.state is not State.DESTROYING
        )


def others_disk(sandbox: Sandbox) -> str:
    """What it has that is not its own alone, in words; nothing for most."""
    return _wants_others_disk(sandbox.spec, sandbox.claim)


def _wants_others_disk(spec: SandboxSpec, claim: Claim | None) -> str:
    if spec.session_key is not None:
        return "a workspace"
    return "volumes" if claim is not None and claim.held_volumes else ""


def unsaved(sandbox: Sandbox) -> str:
    """What keeps it from being saved, in words; nothing for most.

    Claims of the egress lane are not saved by the node API's contract.
    """
    return would_be_unsaved(sandbox.spec, sandbox.claim)


def would_be_unsaved(spec: SandboxSpec, claim: Claim | None) -> str:
    """What would keep such a sandbox from being saved, in words; nothing for most."""
    if claim is not None and claim.net == EGRESS_NET:
        return "the egress lane"
    return _wants_others_disk(spec, claim)


async def _no_waker(live: Live) -> None:
    raise StateConflict(have=live.sandbox.state.value, given="wake")
