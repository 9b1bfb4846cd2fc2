"""Create, find, pause, resume, inspect, renew and destroy sandboxes.

The lifecycle table (`model/machine.py`) decides; this file feeds it and performs what
it decided.  A record changes in memory and in the journal in one synchronous step, so
two calls that race are ordered by who reaches the table first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

import structlog

from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    StateConflict,
    VmmError,
    WorkspaceDamaged,
)
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.egress import check_ceiling
from sandbox_engine.model.machine import ENDED, Input, State, step
from sandbox_engine.model.sandbox import (
    ARCHIVE,
    DESTROY,
    Created,
    Sandbox,
    SandboxSpec,
    SandboxStatus,
    Tier,
    lease_length,
)
from sandbox_engine.model.size import Size
from sandbox_engine.model.workspace import Workspace
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.snapshots import SnapshotStore
from sandbox_engine.ports.templates import TemplatePins
from sandbox_engine.ports.vmm import MachineStats
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.live import Birth, Live, NothingPromoted, Promoted, check_fit
from sandbox_engine.services.pool import Pool
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.registry import Registry, others_disk, unsaved, would_be_unsaved
from sandbox_engine.services.requests import Requests
from sandbox_engine.services.vms import Vm, VmFactory, baked_size
from sandbox_engine.services.volumes import Volumes, held_by
from sandbox_engine.services.watching import End, Shelf
from sandbox_engine.services.workspaces import Mounting, Workspaces

_log = structlog.get_logger(__name__)


_NOTHING = MachineStats(rss_bytes=0, page_faults=0)


def _check_archivable(caller: Caller, disk: str) -> None:
    if caller.session is not None:
        raise InvalidArgument("on_expire", "a sandbox of a session ends with it")
    if disk:
        raise InvalidArgument("on_expire", f"a sandbox with {disk} cannot be archived")


class Sandboxes(Registry):
    """Every sandbox of the node, and what can be done with it."""

    def __init__(
        self,
        *,
        pools: Pools,
        factory: VmFactory,
        admission: Admission,
        journal: Journal,
        snapshots: SnapshotStore,
        pins: TemplatePins,
        requests: Requests,
        clock: Clock,
        mint: TokenMint,
        allowed_services: tuple[str, ...],
        default_lease_s: int,
        workspaces: Workspaces,
    ) -> None:
        super().__init__(journal=journal, snapshots=snapshots, pins=pins, clock=clock)
        self._pools, self._factory, self._admission = pools, factory, admission
        self.requests = requests
        """Of every creating call."""
        self._mint, self._workspaces = mint, workspaces
        self._default_lease_s = default_lease_s
        self.allowed_services = allowed_services
        """The ceiling of what a create may ask to reach."""
        self.release_delay_s = 0.0
        """How long a destroyed sandbox's VM stands still before it is taken apart."""
        self._hurry = asyncio.Event()
        self.promoted: Promoted = NothingPromoted()
        self.volumes = Volumes((), None)
        """The catalog; empty until a node has one."""
        self.settle_volumes: Callable[[Sandbox], Awaitable[None]] = _settled
        """Ends a change of a claim's volumes that is under way."""

    # -- create ------------------------------------------------------------------

    async def create(
        self,
        caller: Caller,
        spec: SandboxSpec,
        *,
        ttl_s: int = 0,
        request_id: str = "",
        claim: Claim | None = None,
        on_expire: str = "",
    ) -> Created:
        """A new sandbox of `spec`, running, its identity confirmed.

        Held by the caller's session where it has one, else by a lease of `ttl_s`
        (0 is the node's default), at whose end `on_expire` is done.  Does not wait at all
        when a warm VM is there.  A `claim` may ask for another size than the template's; it
        is then booted.

        Raises `InvalidArgument`, `TemplateNotFound`, `TemplateCorrupt`,
        `TemplateIncompatible`, `PoolExhausted`, `LimitReached`, `Draining`,
        `RequestConflict`.  Cancelling leaves nothing behind.
        """
        spec.check()
        self.network.check(spec)
        check_ceiling(spec.egress_allow, self.allowed_services)
        lease_s = lease_length(ttl_s, self._default_lease_s)
        if on_expire == ARCHIVE:
            _check_archivable(caller, would_be_unsaved(spec, claim))
        birth = Birth(
            caller=caller,
            spec=spec,
            lease_s=lease_s,
            claim=claim,
            on_expire=on_expire or DESTROY,
        )

        async def work() -> str:
            return (await self._create(birth)).sandbox.id

        if not request_id:
            return await self._create(birth)
        # What was in the request of an older engine comes first, as it was.
        key = (spec, lease_s, caller.session, *filter(None, [on_expire]))
        sandbox_id = await self.requests.once(caller.name, request_id, key, work)
        return self.told(self.get(caller, sandbox_id))

    def told(self, sandbox: Sandbox) -> Created:
        """With its tokens, which the same sandbox always has."""
        return Created(
            sandbox=sandbox,
            token=self._mint.token(sandbox.id),
            session_token=self._mint.session_token(sandbox.id),
        )

    async def _create(self, birth: Birth) -> Created:
        caller, spec, claim = birth.caller, birth.spec, birth.claim
        promoted = self.promoted.chosen(birth)
        if promoted is not None:
            return await self.promoted.create(birth, promoted)
        began = time.monotonic()
        self._admission.enter(caller, claim=claim)
        vm: Vm | None = None
        workspace: Workspace | None = None
        mounting: Mounting | None = None
        held = False
        try:
            self.volumes.hold(held_by(claim))
            held = True
            workspace = await self._workspaces.acquire_for(caller, spec)
            size = None if claim is None else Size(cpus=spec.vcpus, memory_mib=spec.memory_mib)
            key = spec.template, size, self.network.pool(spec, claim)
            pool = self._pools.find(*key) or await self._pools.of(*key)
            vm, tier = pool.take_now(), Tier.WARM
            if vm is None:
                tier = Tier.CLONE if pool.size is None else Tier.COLD
                vm = await self._wait_for_vm(pool, spec)
            self._check_size(spec, vm)
            await self.volumes.attach(held_by(claim), vm)
            await self.network.connect(vm, spec, claim)
            if workspace is not None:
                mounting = self._workspaces.begin(workspace, vm)
            created = self._hand_out(birth, vm)
            self._live[created.sandbox.id].mounting = mounting
        except BaseException as error:
            self._admission.leave(caller.session, caller.uid, claim=claim)
            holds = claim if held else None
            if vm is not None and workspace is None and isinstance(error, InvalidArgument):
                pool.give_back(vm)  # the request was wrong, the VM is not
                self._give_back(None, holds)
            elif vm is not None:
                spawn(self._undo(vm, workspace, holds), name=f"undo create {vm.name}")
            else:
                self._give_back(workspace, holds)
            raise
        created.tier = tier
        for watcher in self.watchers:
            watcher.created(created, time.monotonic() - began)
        return created

    async def _undo(self, vm: Vm, workspace: Workspace | None, holds: Claim | None) -> None:
        """A disk is free again only when the VM that may have it is gone."""
        await self._factory.destroy(vm)
        self._give_back(workspace, holds)

    def _give_back(self, workspace: Workspace | None, holds: Claim | None) -> None:
        if workspace is not None:
            self._workspaces.release(workspace.owner, workspace.key)
        self.volumes.release(held_by(holds), clean=False)

    async def _wait_for_vm(self, pool: Pool, spec: SandboxSpec) -> Vm:
        template = await self._pools.verified(spec.template)
        if pool.size is None:
            check_fit(spec, template.memory_mib, template.vcpus)
        return await pool.take(spec.pool_wait_ms / 1000)

    @staticmethod
    def _check_size(spec: SandboxSpec, vm: Vm) -> None:
        assert vm.template is not None  # only an adopted VM has none, and pools hold none
        size = vm.size or baked_size(vm.template.manifest)
        check_fit(spec, size.memory_mib, size.cpus)

    def _hand_out(self, birth: Birth, vm: Vm) -> Created:
        if birth.spec.env:
            # Ahead of any operation in channel order, so it need not be waited for.
            vm.channel.notify({"op": "configure", "env": birth.spec.env})
        return self.register(birth, vm)

    def register(self, birth: Birth, vm: Vm) -> Created:
        """See `register_all`."""
        (created,) = self.register_all([(birth, vm)])
        return created

    def register_all(self, births: Sequence[tuple[Birth, Vm]]) -> list[Created]:
        """VMs, their identities confirmed, become sandboxes: all of them or, on a raise, none.

        The caller took their places.  Raises `NoSpace`.
        """
        made = [(self._sandbox(birth, vm), vm) for birth, vm in births]
        self._journal.sandbox_put(*(sandbox for sandbox, _ in made))
        for sandbox, vm in made:
            self.network.configure(sandbox, vm, saved=bool(sandbox.layers))
            self.track(sandbox, vm)
        return [self.told(sandbox) for sandbox, _ in made]

    def _sandbox(self, birth: Birth, vm: Vm) -> Sandbox:
        caller, spec, claim = birth.caller, birth.spec, birth.claim
        assert vm.template is not None
        size = vm.size or baked_size(vm.template.manifest)
        now = self._clock.now()
        sandbox = Sandbox(
            id=vm.sandbox_id,
            number=self._journal.next_number(),
            spec=spec,
            state=State.RUNNING,
            owner=caller.name,
            uid=caller.uid,
            session=caller.session,
            deadline=None if caller.session is not None else now + birth.lease_s,
            lease_s=birth.lease_s,
            on_expire=birth.on_expire,
            memory_mib=size.memory_mib,
            vcpus=size.cpus,
            created_at=now,
            resumed_at=now,
            vm=vm.name,
            template_digest=vm.template.digest,
            claim=claim,
            layers=birth.layers,
            booted=birth.booted if birth.booted is not None else vm.size is not None,
            parent=birth.parent,
            from_checkpoint=birth.from_checkpoint,
            volume_disks=vm.template.manifest.volumes,
        )
        self.network.settle(sandbox, vm)
        return sandbox

    def mount_again(self) -> None:
        """After a restart: have the workspaces of adopted sandboxes mounted where they are not.

        A paused one was not paused before that was done.
        """
        for live in self._live.values():
            sandbox = live.sandbox
            key = sandbox.spec.session_key
            if key is not None and live.held is not None and sandbox.state is State.RUNNING:
                try:
                    live.mounting = self._workspaces.again(sandbox.owner, key, live.held)
                except WorkspaceDamaged as error:
                    _log.error("a workspace is lost", sandbox=sandbox.id, error=str(error))

    # -- change ------------------------------------------------------------------

    async def pause(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """Stop the virtual CPUs; memory stays.  Idempotent.  Raises `StateConflict`."""
        live = self.find(caller, sandbox_id)
        if live.mounting is not None:
            with suppress(GuestUnavailable):  # one that stands still mounts nothing
                await live.mounting.wait()
        if self.advance(live, Input.PAUSE) is State.PAUSING:
            await self.run_step(live, self._pause(live), "pause")
        return live.sandbox

    async def _pause(self, live: Live) -> None:
        async with self.finishing(live, State.PAUSING):
            await live.vm.machine.pause()

    async def resume(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """Run the virtual CPUs again, the guest's clock set first.  Idempotent."""
        live = self.find(caller, sandbox_id)
        if self.advance(live, Input.RESUME) is State.RESUMING:
            await self.run_step(live, self._resume(live), "resume")
        return live.sandbox

    async def _resume(self, live: Live) -> None:
        async with self.finishing(live, State.RESUMING):
            await live.vm.machine.resume()
            try:
                if live.vm.guest is None:  # adopted while it was paused
                    await self._factory.reconnect(live.vm)
                await live.vm.channel.set_clock()
            except EngineError:
                with suppress(VmmError):
                    await live.vm.machine.pause()  # a failed step leaves it as it was
                raise
            live.sandbox.resumed_at = self._clock.now()

    def inspect(self, caller: Caller, sandbox_id: str) -> SandboxStatus:
        """What the kernel counts of it now."""
        live = self.find(caller, sandbox_id)
        sandbox = live.sandbox
        stats = _NOTHING if live.held is None else live.held.machine.stats()
        running = sandbox.state in (State.RUNNING, State.SAVING)
        return SandboxStatus(
            sandbox=sandbox,
            is_running=running,
            uptime_ms=max(0, int((self._clock.now() - sandbox.resumed_at) * 1000)) * running,
            memory_rss_bytes=stats.rss_bytes,
            page_faults=stats.page_faults,
        )

    def renew(self, caller: Caller, sandbox_id: str, ttl_s: int, *, on_expire: str = "") -> Sandbox:
        """Set the lease to end `ttl_s` from now (0 is the default, clamped to the cap).

        `on_expire` changes what its end does; empty leaves it.  Raises `StateConflict`, and
        `InvalidArgument` for one that cannot be archived.
        """
        live = self.find(caller, sandbox_id)
        sandbox = live.sandbox
        if sandbox.deadline is None:
            raise StateConflict(have="held by a session", given="renew")
        if sandbox.state in (*ENDED, State.ARCHIVED, State.UNARCHIVING):
            raise StateConflict(have=sandbox.state.value, given="renew")
        if live.archiving:
            raise StateConflict(have="being archived", given="renew")
        if on_expire == ARCHIVE:
            _check_archivable(caller, unsaved(sandbox))
        before = sandbox.deadline, sandbox.lease_s, sandbox.on_expire
        sandbox.lease_s = lease_length(ttl_s, self._default_lease_s)
        sandbox.deadline = self._clock.now() + sandbox.lease_s
        sandbox.on_expire = on_expire or sandbox.on_expire
        try:
            self._journal.sandbox_put(sandbox)
        except NoSpace:  # a lease that a restart would not know is none
            sandbox.deadline, sandbox.lease_s, sandbox.on_expire = before
            raise
        self.on_lease()
        return sandbox

    # -- destroy -----------------------------------------------------------------

    async def destroy(self, caller: Caller, sandbox_id: str) -> None:
        """End the VM and everything it held; returns once nothing is left.

        Cancelling the call does not stop the destruction.
        """
        await self.end(self.find(caller, sandbox_id))

    async def end(self, live: Live, end: End = End.RELEASE) -> None:
        """Destroy, by whatever decided so; a second call waits for the first.

        With a release delay the VM stands still that long, its guest out of reach and its
        place given free at once, and only then is taken apart; the call does not wait.
        """
        first = live.sandbox.state is not State.DESTROYING
        archived = live.sandbox.state in (State.ARCHIVED, State.UNARCHIVING)
        self.advance(live, Input.DESTROY)
        if first:
            for watcher in self.watchers:
                if archived:
                    watcher.shelved(live.sandbox, Shelf.DELETE)
                watcher.ended(live.sandbox, end)
            # A workspace or a volume is waited for, as by its session's next sandbox.
            if self.release_delay_s and not others_disk(live.sandbox):
                await self._leave_standing(live)
                return
            spawn(self._end(live), name=f"destroy {live.sandbox.id}")
        await live.gone.wait()

    async def _leave_standing(self, live: Live) -> None:
        self._forget(live)
        if live.held is not None and live.held.guest is not None:
            await live.held.guest.close()
        spawn(self._end_later(live), name=f"destroy later {live.sandbox.id}")

    async def _end_later(self, live: Live) -> None:
        with suppress(VmmError, GuestUnavailable):
            await live.vm.machine.pause()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.release_delay_s):
                await self._hurry.wait()
        await self._stop_vm(live)
        self._strike_off(live.sandbox)

    def hurry(self) -> None:
        """The engine stops: take apart now what stands still."""
        self._hurry.set()

    async def _end(self, live: Live) -> None:
        try:
            await self._stop_vm(live)
        finally:
            self._strike_off(live.sandbox)
            self._forget(live)

    def _strike_off(self, sandbox: Sandbox) -> None:
        try:
            self._journal.sandbox_gone(sandbox)
        except NoSpace as error:  # the next start finds it gone
            _log.error("a sandbox stays on record", sandbox=sandbox.id, error=str(error))

    async def _stop_vm(self, live: Live) -> None:
        """End the VM, its workspace unmounted before and free after."""
        clean = False
        await self.settle_volumes(live.sandbox)
        if live.held is not None:
            await self._workspaces.detach(live.sandbox, live.held, live.mounting)
            clean = await self.volumes.unmount(live.sandbox, live.held)
            await self._factory.stop(live.held)
        self._workspaces.release(live.sandbox.owner, live.sandbox.spec.session_key)
        self.volumes.release(held_by(live.sandbox.claim), clean=clean)

    def _forget(self, live: Live) -> None:
        sandbox = live.sandbox
        sandbox.state = step(sandbox.state, Input.DONE)
        self._snapshots.remove(sandbox.id)
        self._snapshots.release(sandbox.layers)
        self._pins.release(sandbox.template_digest)
        del self._live[sandbox.id], self._by_number[sandbox.number]
        self._admission.leave(sandbox.session, sandbox.uid, claim=sandbox.claim)
        live.gone.set()

    async def end_session(self, session: str) -> None:
        """Destroy what lived with a connection or attach stream that ended."""
        mine = [live for live in self._live.values() if live.sandbox.session == session]
        await asyncio.gather(*(self.end(live, End.REAP) for live in mine))


async def _settled(_: Sandbox) -> None:
    """Nothing is under way."""
