"""Hibernate and wake: a sandbox without a process, and back.

Both are idempotent, and whatever else arrives meanwhile is answered by the lifecycle
table: a use of a hibernating or hibernated sandbox waits for it and wakes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path

from sandbox_engine.errors import EngineError, StateConflict
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.machine import Input, State
from sandbox_engine.model.sandbox import FOREVER, Sandbox
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.snapshots import SnapshotStore
from sandbox_engine.services import vms
from sandbox_engine.services.live import Live
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.saving import Saver, origin_of
from sandbox_engine.services.vms import Vm, VmFactory
from sandbox_engine.services.watching import Shelf

NODE = Caller(name="node")


class Hibernation:
    """Puts sandboxes to sleep, and is what `Sandboxes` wakes them with."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        saver: Saver,
        store: SnapshotStore,
        factory: VmFactory,
        clock: Clock,
    ) -> None:
        self._sandboxes, self._saver = sandboxes, saver
        self._store, self._factory, self._clock = store, factory, clock
        sandboxes.waker = self._wake_one
        self.check_unarchive: Callable[[Claim | None], None] = lambda _: None
        """Raises for a claim that may not leave the archive again."""

    async def hibernate(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """Save it durably, then end its VM.  Idempotent; joins one under way.

        Cancelling the call does not stop it.  Raises `SandboxNotFound`, `StateConflict`,
        `GuestUnavailable`, `NoSpace`, `VmmError`; but for a dead VM it then runs on.
        """
        live = self._sandboxes.find(caller, sandbox_id)
        if live.sandbox.state is State.HIBERNATING:
            await self._sandboxes.joined(live)
        if self._sandboxes.advance(live, Input.HIBERNATE) is State.HIBERNATING:
            await self._sandboxes.run_step(live, self._hibernate(live), "hibernate")
        return live.sandbox

    async def hibernate_idle(self, live: Live) -> None:
        """Hibernate one that nobody uses, unless somebody began to meanwhile."""
        if live.sandbox.state is State.RUNNING and live.idle.idle_s() > 0:
            await self.hibernate(NODE, live.sandbox.id)

    async def _hibernate(self, live: Live) -> None:
        async with self._sandboxes.finishing(live, State.HIBERNATING):
            vm = await self._saver.put_to_sleep(live)
            live.held = None
        for watcher in self._sandboxes.watchers:
            watcher.hibernated(live.sandbox)
        await self._factory.destroy(vm)

    async def wake(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """Bring it back and leave it running.  Idempotent; joins one under way.

        A failed one boots from its own disk: its memory is lost.  Raises
        `SandboxNotFound`, `StateConflict`, and what making a VM raises.
        """
        await self._sandboxes.awake(caller, sandbox_id)
        live = self._sandboxes.find(caller, sandbox_id)
        await self.boot(live, restarts_spent=0, slot=nullcontext())
        return live.sandbox

    async def boot(
        self, live: Live, *, restarts_spent: int, slot: AbstractAsyncContextManager[None]
    ) -> None:
        """Boot a failed one from its own disk, in a `slot` that may have to be waited for.

        Its budget is then spent as far as told.  One that runs is left alone.  Raises what
        making a VM raises.
        """
        if self._sandboxes.advance(live, Input.WAKE) is State.BOOTING:
            await self._sandboxes.run_step(live, self._boot(live, restarts_spent, slot), "boot")

    async def _wake_one(self, live: Live) -> None:
        if live.sandbox.state is State.ARCHIVED:
            self.check_unarchive(live.sandbox.claim)
        if self._sandboxes.advance(live, Input.WAKE) in (State.WAKING, State.UNARCHIVING):
            await self._sandboxes.run_step(live, self._wake(live), "wake")

    async def archive(self, live: Live, keep_s: float) -> None:
        """Leave it to the store for `keep_s`, 0 for ever; one that runs is put to sleep first.

        Raises as `hibernate` and `Sandboxes.resume`; then its lease is as it was.
        """
        live.archiving = True
        try:
            if live.sandbox.state is State.PAUSED:
                await self._sandboxes.resume(NODE, live.sandbox.id)
            if live.sandbox.state is not State.HIBERNATED:
                await self.hibernate(NODE, live.sandbox.id)
            sandbox = live.sandbox
            before = sandbox.deadline
            sandbox.deadline = self._clock.now() + keep_s if keep_s else FOREVER
            try:
                self._sandboxes.advance(live, Input.ARCHIVE)
            except EngineError:
                sandbox.deadline = before
                raise
        finally:
            live.archiving = False
        self._sandboxes.on_lease()
        for watcher in self._sandboxes.watchers:
            watcher.shelved(sandbox, Shelf.ARCHIVE)

    async def _wake(self, live: Live) -> None:
        began = time.monotonic()
        sandbox, state, deadline = live.sandbox, live.sandbox.state, live.sandbox.deadline
        async with self._sandboxes.finishing(live, state):
            with self._saver.opened(sandbox.id) as saved:
                identity = vms.same_identity(sandbox.spec.env)
                vm = await self._saver.restored(
                    saved.origin, saved.files, sandbox_id=sandbox.id, identity=identity
                )
            await self._take(live, vm, state)
            if state is State.UNARCHIVING:
                sandbox.deadline = self._clock.now() + sandbox.lease_s
        if sandbox.deadline != deadline:
            self._sandboxes.on_lease()
        self._store.remove(sandbox.id)
        for watcher in self._sandboxes.watchers:
            if state is State.UNARCHIVING:
                watcher.shelved(sandbox, Shelf.UNARCHIVE)
            watcher.woke(sandbox, time.monotonic() - began)

    async def _boot(
        self, live: Live, restarts_spent: int, slot: AbstractAsyncContextManager[None]
    ) -> None:
        sandbox = live.sandbox
        async with self._sandboxes.finishing(live, State.BOOTING):
            if live.held is not None:
                # Its disk is a layer from now on; what else it had goes.
                dead = live.held
                self._saver.keep_disk(sandbox, Path(dead.machine.ref.directory))
                live.held = None
                spawn(self._factory.destroy(dead), name=f"bury {dead.name}")
            identity = vms.same_identity(sandbox.spec.env)
            async with slot:
                vm = await self._saver.restored(
                    origin_of(sandbox), None, sandbox_id=sandbox.id, identity=identity
                )
            sandbox.booted, sandbox.failure = True, ""
            sandbox.restarts += 1
            sandbox.restarts_spent = restarts_spent
            sandbox.restarted_at = self._clock.now()
            await self._take(live, vm, State.BOOTING)
        for watcher in self._sandboxes.watchers:
            watcher.restarted(sandbox)

    async def _take(self, live: Live, vm: Vm, state: State) -> None:
        """Give a VM to its sandbox, unless that was destroyed while it was made."""
        sandbox = live.sandbox
        try:
            await self._sandboxes.network.connect(vm, sandbox.spec, sandbox.claim, sandbox)
        except BaseException:
            await self._factory.destroy(vm)
            raise
        if live.sandbox.state is not state:
            await self._factory.destroy(vm)
            raise StateConflict(have=live.sandbox.state.value, given="wake")
        self._sandboxes.attach(live, vm)
