"""The state of a sandbox, taken: what it is copied from, put to sleep in, or goes on from.

A sandbox that runs stands still only from `quiesce` to `resume`: its workload is frozen,
its changed pages and its devices are copied, and its disk is frozen under a new one.
Everything else (making the new disk, publishing, deleting) happens outside of that.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from sandbox_engine.errors import EngineError, StateConflict
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.machine import Input, State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.size import Size
from sandbox_engine.model.snapshot import Kind, Origin, Record
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.guest import Identity
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.snapshots import Files, SnapshotStore
from sandbox_engine.ports.templates import TemplateVault
from sandbox_engine.ports.vmm import Platform
from sandbox_engine.services import vms
from sandbox_engine.services.live import Live
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.vms import Vm, VmFactory

_log = structlog.get_logger(__name__)


class Saved:
    """A state that others can go on from.  A context manager: it keeps what it is made of."""

    def __init__(self, store: SnapshotStore, files: Files, origin: Origin) -> None:
        self.files, self.origin = files, origin
        self._store = store
        store.hold(origin.layers)

    def __enter__(self) -> Self:
        """Keep it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give it back."""
        self.files.close()
        self._store.release(self.origin.layers)


class Saver:
    """Takes states, and makes VMs that go on from them."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        factory: VmFactory,
        journal: Journal,
        store: SnapshotStore,
        vault: TemplateVault,
        platform: Platform,
        clock: Clock,
    ) -> None:
        self._sandboxes, self._factory, self._journal = sandboxes, factory, journal
        self._store, self._vault = store, vault
        self._platform, self._clock = platform, clock

    # -- taking ------------------------------------------------------------------

    async def saved(self, caller: Caller, sandbox_id: str) -> Saved:
        """The state of a sandbox now; one that is hibernated is not woken for it.

        Raises `SandboxNotFound`, `StateConflict`, `GuestUnavailable`, `NoSpace`; the
        sandbox is as it was.
        """
        live = self._sandboxes.find(caller, sandbox_id)
        if self._sandboxes.advance(live, Input.SAVE) is State.HIBERNATED:
            return self.opened(sandbox_id)
        made: list[Saved] = []
        await self._sandboxes.run_step(live, self._save(live, made), "save")
        return made[0]

    def opened(self, record_id: str) -> Saved:
        """A state from the store.  Raises `SnapshotNotFound`, `SnapshotCorrupt`."""
        files = self._store.open(record_id)
        record = self._store.find(record_id)
        assert record is not None
        return Saved(self._store, files, record.origin)

    async def _save(self, live: Live, made: list[Saved]) -> None:
        async with self._sandboxes.finishing(live, State.SAVING):
            files = self._store.draft()
            try:
                await self._copy(live, files)
                _check(live.sandbox, State.SAVING, "save")
                made.append(Saved(self._store, files, origin_of(live.sandbox)))
            except BaseException:
                files.close()
                raise

    async def _copy(self, live: Live, files: Files) -> None:
        vm, sandbox = live.vm, live.sandbox
        template = await self._vault.generation(sandbox.spec.template, sandbox.template_digest)
        _check(sandbox, State.SAVING, "save")  # whose end took its disk along
        layer = _layer_name()
        disk = vms.new_disk(vm, template, f"disk-{layer}.qcow2")
        self._store.add_layer(layer, _disk(vm, sandbox))
        # On record before the VM does it: its disk is then what the record says, whether or
        # not it came to that, since an empty disk more or less changes nothing.
        sandbox.layers, sandbox.disk = (*sandbox.layers, layer), disk.name
        self._journal.sandbox_put(sandbox)
        try:
            await stand_still(vm, files)
            await vm.machine.freeze_disk(disk)
        finally:
            await go_on(vm)
        _check(sandbox, State.SAVING, "save")
        self._seal(sandbox.layers)

    async def put_to_sleep(self, live: Live) -> Vm:
        """Save a sandbox durably; its VM, which stands still and is not needed any more.

        Raises `GuestUnavailable`, `NoSpace`, `VmmError`; then it runs on.
        """
        vm, sandbox = live.vm, live.sandbox
        layer = _layer_name()
        with self._store.draft() as files:
            try:
                await stand_still(vm, files)
                _check(sandbox, State.HIBERNATING, "hibernate")
                self._store.add_layer(layer, _disk(vm, sandbox))
                layers = (*sandbox.layers, layer)
                await self._publish_sleep(sandbox, files, layers)
            except BaseException:
                self._store.release([layer])  # where it was not added, nothing holds it
                await go_on(vm)
                raise
        try:
            _check(sandbox, State.HIBERNATING, "hibernate")
        except StateConflict:
            self._store.remove(sandbox.id)
            self._store.release([layer])
            raise
        sandbox.layers = layers
        return vm

    async def _publish_sleep(self, sandbox: Sandbox, files: Files, layers: tuple[str, ...]) -> None:
        origin = origin_of(sandbox, layers)
        record = self.record(sandbox, files, origin, record_id=sandbox.id, kind=Kind.HIBERNATION)
        await self._store.publish(files, record)

    def record(
        self,
        sandbox: Sandbox,
        files: Files,
        origin: Origin,
        *,
        record_id: str,
        kind: Kind,
        name: str = "",
        tenant: str | None = None,
    ) -> Record:
        """What a state is kept as."""
        claim = sandbox.claim
        return Record(
            id=record_id,
            kind=kind,
            sandbox_id=sandbox.id,
            origin=origin,
            platform=self._platform,
            created_at=self._clock.now(),
            memory_bytes=os.fstat(files.memory_fd).st_size,
            name=name,
            tenant=tenant,
            net="none" if claim is None else claim.net,
            size="" if claim is None else claim.size,
            parent=sandbox.from_checkpoint,
            promoted="" if claim is None else claim.promoted,
        )

    # -- going on ----------------------------------------------------------------

    async def restored(
        self,
        origin: Origin,
        files: Files | None,
        *,
        sandbox_id: str = "",
        identity: Identity | None = None,
        env: dict[str, str] | None = None,
    ) -> Vm:
        """A VM that goes on from a state, running and its identity confirmed.

        It is `sandbox_id` with this `identity`, or somebody new with `env`; without files
        it boots from its disk.  Raises `TemplateNotFound`, `TemplateCorrupt`,
        `TemplateIncompatible`, `VmmError`, `GuestUnavailable`, `NoSpace`.
        """
        self._store.hold(origin.layers)  # its owner may end meanwhile
        try:
            template = await self._vault.generation(origin.template, origin.template_digest)
            self._seal(origin.layers)
            vm = await self._factory.prepare(
                template,
                Size(cpus=origin.vcpus, memory_mib=origin.memory_mib),
                sandbox_id=sandbox_id,
                state=vms.State(
                    layers=tuple(self._store.layer(name) for name in origin.layers),
                    files=files,
                    booted=origin.booted,
                ),
            )
            own = identity or vms.new_identity(vm.sandbox_id, env)
            await self._factory.bring_up(vm, own)
            return vm
        finally:
            self._store.release(origin.layers)

    def keep_disk(self, sandbox: Sandbox, directory: Path) -> None:
        """See `keep_disk`."""
        keep_disk(self._store, self._journal, sandbox, directory)

    def _seal(self, layers: tuple[str, ...]) -> None:
        for name in layers:
            self._store.seal_layer(name)


def origin_of(sandbox: Sandbox, layers: tuple[str, ...] | None = None) -> Origin:
    """What a sandbox's machine stands on."""
    return Origin(
        template=sandbox.spec.template,
        template_digest=sandbox.template_digest,
        memory_mib=sandbox.memory_mib,
        vcpus=sandbox.vcpus,
        booted=sandbox.booted,
        layers=sandbox.layers if layers is None else layers,
    )


def keep_disk(store: SnapshotStore, journal: Journal, sandbox: Sandbox, directory: Path) -> None:
    """The disk of a VM that died becomes a layer of its sandbox, which has none from then on.

    `directory` was the VM's.  Raises `NoSpace`; then nothing is changed.
    """
    before = sandbox.layers, sandbox.disk
    layer = _layer_name()
    store.add_layer(layer, directory / sandbox.disk)
    sandbox.layers, sandbox.disk = (*sandbox.layers, layer), ""
    try:
        journal.sandbox_put(sandbox)
    except EngineError:
        sandbox.layers, sandbox.disk = before
        store.release([layer])
        raise


def _check(sandbox: Sandbox, state: State, verb: str) -> None:
    """Raise `StateConflict` where it was destroyed, or its VM died, meanwhile."""
    if sandbox.state is not state:
        raise StateConflict(have=sandbox.state.value, given=verb)


async def stand_still(vm: Vm, files: Files) -> None:
    """From here the guest waits for `go_on`, also where this raises."""
    await vm.channel.quiesce()
    await vm.machine.pause()
    await vm.machine.save_state(files.state_fd)
    await vm.machine.save_memory(files.memory_fd)


async def go_on(vm: Vm) -> None:
    """Let the guest run on, its clock right again; a VM that is gone is another's to tell."""
    with suppress(EngineError):
        await vm.machine.resume()
        await vm.channel.resume()
        await vm.channel.set_clock()


def _disk(vm: Vm, sandbox: Sandbox) -> Path:
    return Path(vm.machine.ref.directory) / sandbox.disk


def _layer_name() -> str:
    return os.urandom(10).hex()
