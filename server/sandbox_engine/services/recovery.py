"""What an earlier engine left, put right before the first call is served.

A leased sandbox whose VM still runs is adopted, with its deadline and identity as they
were.  Everything else this engine's journal, process table and state folder speak of is
removed: what died with its session, what was being created, what was warm.  Nothing is
removed because one probe was slow: only what is gone, or was never handed out, goes.
"""

from __future__ import annotations

import structlog

from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.vmm import MachineRef
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.vms import Vm, VmFactory

_log = structlog.get_logger(__name__)
_ADOPTABLE = {
    State.RUNNING: State.RUNNING,
    State.PAUSING: State.PAUSED,
    State.PAUSED: State.PAUSED,
    State.RESUMING: State.RUNNING,
}
"""What a sandbox found in a state becomes: a step under way is finished."""


class Recovery:
    """Runs once, at start."""

    def __init__(
        self, *, journal: Journal, factory: VmFactory, admission: Admission, sandboxes: Sandboxes
    ) -> None:
        self._journal, self._factory = journal, factory
        self._admission, self._sandboxes = admission, sandboxes

    async def run(self) -> None:
        """Adopt and remove."""
        refs = {row.name: row.ref for row in self._journal.vms()}
        kept: set[str] = set()
        for sandbox in self._journal.sandboxes():
            vm = await self._adopted(sandbox, refs.get(sandbox.vm))
            if vm is None:
                self._journal.sandbox_gone(sandbox)
                _log.info("sandbox ended with the engine", sandbox=sandbox.id)
                continue
            kept.add(vm.name)
            is_claim = sandbox.claim is not None
            self._admission.adopt(sandbox.session, sandbox.uid, claim=is_claim)
            self._sandboxes.track(sandbox, vm)
            _log.info("sandbox adopted", sandbox=sandbox.id, state=sandbox.state.value)
        for name in await self._factory.clear(kept):
            _log.info("leftover removed", vm=name)

    async def _adopted(self, sandbox: Sandbox, ref: MachineRef | None) -> Vm | None:
        after = _ADOPTABLE.get(sandbox.state)
        if after is None or sandbox.session is not None or ref is None:
            return None
        vm = await self._factory.adopt(sandbox.id, ref, paused=after is State.PAUSED)
        if vm is not None:
            sandbox.state = after
            self._journal.sandbox_put(sandbox)
        return vm
