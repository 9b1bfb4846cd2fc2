"""What an earlier engine left, put right before the first call is served.

A leased sandbox whose VM still runs is adopted, with its deadline and identity as they
were; one whose VM died is kept, failed, with its disk.  Everything else this engine's
journal, process table and state folder speak of is removed: what died with its session,
what was being created, what was warm.  Nothing is removed because one probe was slow: only
what is gone, or was never handed out, goes.
"""

from __future__ import annotations

import structlog

from sandbox_engine.model.machine import ENDED, State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.snapshot import Kind
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.snapshots import SnapshotStore
from sandbox_engine.ports.templates import TemplatePins
from sandbox_engine.ports.vmm import MachineRef
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.registry import unsaved
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.saving import keep_disk
from sandbox_engine.services.vms import Vm, VmFactory
from sandbox_engine.services.workspaces import Workspaces

_log = structlog.get_logger(__name__)
_ARCHIVED = (State.ARCHIVED, State.UNARCHIVING)
_ASLEEP = (State.HIBERNATED, State.WAKING, *_ARCHIVED)


def _sessions(sandboxes: list[Sandbox]) -> list[tuple[str, str]]:
    """Who holds which workspace."""
    return [(each.owner, each.spec.session_key) for each in sandboxes if each.spec.session_key]


_ADOPTABLE = {
    State.RUNNING: State.RUNNING,
    State.PAUSING: State.PAUSED,
    State.PAUSED: State.PAUSED,
    State.RESUMING: State.RUNNING,
    State.SAVING: State.RUNNING,
    State.HIBERNATING: State.RUNNING,  # what it was saved as, if so, counts from its VM's end
}
"""What a sandbox found in a state becomes: a step under way is finished."""


class Recovery:
    """Runs once, at start."""

    def __init__(
        self,
        *,
        journal: Journal,
        factory: VmFactory,
        admission: Admission,
        sandboxes: Sandboxes,
        store: SnapshotStore,
        pins: TemplatePins,
        workspaces: Workspaces,
    ) -> None:
        self._store, self._pins = store, pins
        self._workspaces = workspaces
        self._journal, self._factory = journal, factory
        self._admission, self._sandboxes = admission, sandboxes

    async def run(self) -> None:
        """Adopt and remove."""
        refs = {row.name: row.ref for row in self._journal.vms()}
        kept: set[str] = set()
        for sandbox in self._journal.sandboxes():
            if sandbox.state in _ASLEEP and self._asleep(sandbox):
                continue
            vm = await self._adopted(sandbox, refs.get(sandbox.vm))
            if vm is None and sandbox.state is State.HIBERNATING and self._asleep(sandbox):
                continue  # it was saved before its VM ended
            if vm is None and self._failed(sandbox):
                continue
            if vm is None:
                self._journal.sandbox_gone(sandbox)
                _log.info("sandbox ended with the engine", sandbox=sandbox.id)
                continue
            kept.add(vm.name)
            self._admission.adopt(sandbox.session, sandbox.uid, claim=sandbox.claim)
            self._sandboxes.track(sandbox, vm)
            _log.info("sandbox adopted", sandbox=sandbox.id, state=sandbox.state.value)
        for name in await self._factory.clear(kept):
            _log.info("leftover removed", vm=name)
        self._sandboxes.volumes.recover(self._journal.sandboxes())
        self._workspaces.recover(_sessions(self._journal.sandboxes()))
        self._sandboxes.mount_again()
        self._forget_states()

    def _asleep(self, sandbox: Sandbox) -> bool:
        """Keep one that is hibernated; one that was waking still is."""
        saved = self._store.find(sandbox.id)
        if saved is None or sandbox.session is not None:
            return False
        archived = sandbox.state in _ARCHIVED
        sandbox.state = State.ARCHIVED if archived else State.HIBERNATED
        sandbox.layers = saved.origin.layers
        self._journal.sandbox_put(sandbox)
        self._admission.adopt(sandbox.session, sandbox.uid, claim=sandbox.claim)
        self._sandboxes.track(sandbox, None)
        return True

    def _failed(self, sandbox: Sandbox) -> bool:
        """Keep one whose VM is gone and whose disk is not: it can boot from that."""
        held_by_lease = sandbox.session is None and sandbox.deadline is not None
        if not held_by_lease or sandbox.state in ENDED or unsaved(sandbox):
            return False
        directory = self._factory.root / sandbox.vm
        if sandbox.disk and not (directory / sandbox.disk).is_file():
            return False
        news = sandbox.state not in (State.FAILED, State.BOOTING)
        sandbox.state = State.FAILED
        if news:
            sandbox.failure = "its virtual machine died"
        self._admission.adopt(sandbox.session, sandbox.uid, claim=sandbox.claim)
        self._sandboxes.track(sandbox, None)
        if sandbox.disk:
            keep_disk(self._store, self._journal, sandbox, directory)
        for watcher in self._sandboxes.watchers if news else ():
            watcher.vm_exited(sandbox)
        _log.warning("a virtual machine died meanwhile", sandbox=sandbox.id, vm=sandbox.vm)
        return True

    def _forget_states(self) -> None:
        """Saved states of sandboxes that are gone or awake, and what nobody holds."""
        asleep = {one.id for one in self._journal.sandboxes() if one.state in _ASLEEP}
        for record in self._store.all(Kind.HIBERNATION):
            if record.id not in asleep:
                self._store.remove(record.id)
        self._store.sweep()
        self._pins.sweep()

    async def _adopted(self, sandbox: Sandbox, ref: MachineRef | None) -> Vm | None:
        after = _ADOPTABLE.get(sandbox.state)
        if after is None or sandbox.session is not None or ref is None:
            return None
        vm = await self._factory.adopt(sandbox.id, ref, paused=after is State.PAUSED)
        if vm is not None:
            sandbox.state = after
            self._journal.sandbox_put(sandbox)
        return vm
