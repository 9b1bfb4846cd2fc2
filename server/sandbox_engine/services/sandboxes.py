"""Create, find, pause, resume, inspect, renew and destroy sandboxes.

The lifecycle table (`model/machine.py`) decides; this file feeds it and performs what
it decided.  A record changes in memory and in the journal in one synchronous step, so
two calls that race are ordered by who reaches the table first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress

import structlog
from msgspec.structs import replace

from sandbox_engine.errors import (
    EngineError,
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    PermissionDenied,
    SandboxNotFound,
    StateConflict,
    Unimplemented,
    VmmError,
)
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.egress import check_ceiling
from sandbox_engine.model.machine import Input, State, step
from sandbox_engine.model.sandbox import (
    Created,
    Sandbox,
    SandboxSpec,
    SandboxStatus,
    Tier,
    lease_length,
)
from sandbox_engine.model.size import Size
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.guest import GuestConnection
from sandbox_engine.ports.journal import Journal
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.idle import IdleClock
from sandbox_engine.services.pool import Pool
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.requests import Requests
from sandbox_engine.services.vms import Vm, VmFactory, baked_size
from sandbox_engine.services.watching import End, Watcher

_log = structlog.get_logger(__name__)


class Live:
    """A sandbox and its VM, in memory."""

    __slots__ = ("gone", "idle", "sandbox", "vm")

    def __init__(self, sandbox: Sandbox, vm: Vm, idle: IdleClock) -> None:
        self.sandbox, self.vm, self.idle = sandbox, vm, idle
        self.gone = asyncio.Event()
        """Set once it is destroyed and nothing of it is left."""


class Sandboxes:
    """Every sandbox of the node."""

    def __init__(
        self,
        *,
        pools: Pools,
        factory: VmFactory,
        admission: Admission,
        journal: Journal,
        requests: Requests,
        clock: Clock,
        mint: TokenMint,
        allowed_services: tuple[str, ...],
        default_lease_s: int,
    ) -> None:
        self._pools, self._factory, self._admission = pools, factory, admission
        self._journal, self._requests, self._clock = journal, requests, clock
        self._mint = mint
        self._allowed_services, self._default_lease_s = allowed_services, default_lease_s
        self._live: dict[str, Live] = {}
        self._by_number: dict[int, Live] = {}
        self.on_lease: Callable[[], None] = lambda: None
        """Called when a deadline may have become the nearest one."""
        self.watchers: list[Watcher] = []
        self.release_delay_s = 0.0
        """How long a destroyed sandbox's VM stands still before it is taken apart."""
        self._hurry = asyncio.Event()

    # -- create ------------------------------------------------------------------

    async def create(
        self,
        caller: Caller,
        spec: SandboxSpec,
        *,
        ttl_s: int = 0,
        request_id: str = "",
        claim: Claim | None = None,
    ) -> Created:
        """A new sandbox of `spec`, running, its identity confirmed.

        Held by the caller's session where it has one, else by a lease of `ttl_s`
        (0 is the node's default).  Does not wait at all when a warm VM is there.  A
        `claim` may ask for another size than the template's; it is then booted.

        Raises `InvalidArgument`, `TemplateNotFound`, `TemplateCorrupt`,
        `TemplateIncompatible`, `PoolExhausted`, `LimitReached`, `Draining`,
        `RequestConflict`.  Cancelling leaves nothing behind.
        """
        spec.check()
        check_ceiling(spec.egress_allow, self._allowed_services)
        if spec.session_key is not None:
            raise Unimplemented("session_key: this engine serves no workspaces yet")
        lease_s = lease_length(ttl_s, self._default_lease_s)
        if not request_id:
            return await self._create(caller, spec, lease_s, claim)
        return await self._create_once(caller, spec, lease_s, request_id)

    async def _create_once(
        self, caller: Caller, spec: SandboxSpec, lease_s: int, request_id: str
    ) -> Created:
        async def work() -> str:
            return (await self._create(caller, spec, lease_s)).sandbox.id

        key = (spec, lease_s, caller.session)
        sandbox_id = await self._requests.once(caller.name, request_id, key, work)
        return Created(sandbox=self.get(caller, sandbox_id), token=self._mint.token(sandbox_id))

    async def _create(
        self, caller: Caller, spec: SandboxSpec, lease_s: int, claim: Claim | None = None
    ) -> Created:
        began = time.monotonic()
        self._admission.enter(caller, claim=claim is not None)
        vm: Vm | None = None
        try:
            size = None if claim is None else Size(cpus=spec.vcpus, memory_mib=spec.memory_mib)
            pool = self._pools.find(spec.template, size) or await self._pools.of(
                spec.template, size
            )
            vm, tier = pool.take_now(), Tier.WARM
            if vm is None:
                tier = Tier.CLONE if pool.size is None else Tier.COLD
                vm = await self._wait_for_vm(pool, spec)
            created = self._hand_out(caller, spec, lease_s, vm, claim)
        except BaseException as error:
            self._admission.leave(caller.session, caller.uid, claim=claim is not None)
            if vm is not None and isinstance(error, InvalidArgument):
                pool.give_back(vm)  # the request was wrong, the VM is not
            elif vm is not None:
                spawn(self._factory.destroy(vm), name=f"undo create {vm.name}")
            raise
        created.tier = tier
        for watcher in self.watchers:
            watcher.created(created, time.monotonic() - began)
        return created

    async def _wait_for_vm(self, pool: Pool, spec: SandboxSpec) -> Vm:
        template = await self._pools.verified(spec.template)
        if pool.size is None:
            check_fit(spec, template.memory_mib, template.vcpus)
        return await pool.take(spec.pool_wait_ms / 1000)

    def _hand_out(
        self, caller: Caller, spec: SandboxSpec, lease_s: int, vm: Vm, claim: Claim | None
    ) -> Created:
        assert vm.template is not None  # only an adopted VM has none, and pools hold none
        size = vm.size or baked_size(vm.template.manifest)
        check_fit(spec, size.memory_mib, size.cpus)
        if spec.env:
            # Ahead of any operation in channel order, so it need not be waited for.
            vm.channel.notify({"op": "configure", "env": spec.env})
        now = self._clock.now()
        sandbox = Sandbox(
            id=vm.sandbox_id,
            number=self._journal.next_number(),
            spec=spec,
            state=State.RUNNING,
            owner=caller.name,
            uid=caller.uid,
            session=caller.session,
            deadline=None if caller.session is not None else now + lease_s,
            memory_mib=size.memory_mib,
            vcpus=size.cpus,
            created_at=now,
            resumed_at=now,
            vm=vm.name,
            template_digest=vm.template.digest,
            claim=claim,
        )
        self._journal.sandbox_put(sandbox)
        self.track(sandbox, vm)
        return Created(sandbox=sandbox, token=self._mint.token(sandbox.id))

    def track(self, sandbox: Sandbox, vm: Vm) -> None:
        """Know a sandbox (new, or adopted after a restart) and watch its VM."""
        live = Live(sandbox, vm, IdleClock(self._clock))
        self._live[sandbox.id] = self._by_number[sandbox.number] = live
        vm.machine.when_exited(lambda: self._vm_exited(live))
        self.on_lease()

    # -- find --------------------------------------------------------------------

    def get(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """One sandbox.  Raises `SandboxNotFound`."""
        return self._find(caller, sandbox_id).sandbox

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

    def _find(self, caller: Caller, sandbox_id: str) -> Live:
        live = self._live.get(sandbox_id)
        if live is None or (caller.confined and live.sandbox.session != caller.session):
            raise SandboxNotFound(sandbox_id)
        return live

    def channel(self, caller: Caller, sandbox_id: str, *, passive: bool = False) -> GuestConnection:
        """The guest channel, for an operation that the present state allows.

        A `passive` one is an operator's read: it is not taken for activity.

        Raises `SandboxNotFound`, `StateConflict`, `GuestUnavailable` (the VM died).
        """
        live = self._find(caller, sandbox_id)
        if live.sandbox.state is State.FAILED:
            raise GuestUnavailable(f"sandbox {sandbox_id} failed: {live.sandbox.failure}")
        step(live.sandbox.state, Input.USE)
        if not passive:
            live.idle.touch()
        return live.vm.channel

    def idle(self, caller: Caller, sandbox_id: str) -> IdleClock:
        """How long it has been left alone, and what holds that clock."""
        return self._find(caller, sandbox_id).idle

    # -- change ------------------------------------------------------------------

    async def pause(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """Stop the virtual CPUs; memory stays.  Idempotent.  Raises `StateConflict`."""
        live = self._find(caller, sandbox_id)
        if self._step(live, Input.PAUSE) is State.PAUSING:
            await asyncio.shield(spawn(self._pause(live), name=f"pause {sandbox_id}"))
        return live.sandbox

    async def _pause(self, live: Live) -> None:
        async with self._finishing(live):
            await live.vm.machine.pause()

    async def resume(self, caller: Caller, sandbox_id: str) -> Sandbox:
        """Run the virtual CPUs again, the guest's clock set first.  Idempotent."""
        live = self._find(caller, sandbox_id)
        if self._step(live, Input.RESUME) is State.RESUMING:
            await asyncio.shield(spawn(self._resume(live), name=f"resume {sandbox_id}"))
        return live.sandbox

    async def _resume(self, live: Live) -> None:
        async with self._finishing(live):
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

    @asynccontextmanager
    async def _finishing(self, live: Live) -> AsyncIterator[None]:
        """Leave a transitional state by how the step inside ended."""
        failure: EngineError | None = None
        try:
            yield
        except EngineError as error:
            failure = error
        sandbox = live.sandbox
        if sandbox.state in (State.DESTROYING, State.DESTROYED):  # its end is not this step's
            raise StateConflict(have=sandbox.state.value, given="finish this step of") from failure
        self._step(live, Input.DONE if failure is None else Input.STEP_FAILED)
        if sandbox.state is State.FAILED:
            raise GuestUnavailable(f"sandbox {sandbox.id} failed: {sandbox.failure}") from failure
        if failure is not None:
            raise failure

    def inspect(self, caller: Caller, sandbox_id: str) -> SandboxStatus:
        """What the kernel counts of it now."""
        live = self._find(caller, sandbox_id)
        sandbox = live.sandbox
        stats = live.vm.machine.stats()
        running = sandbox.state is State.RUNNING
        return SandboxStatus(
            sandbox=sandbox,
            is_running=running,
            uptime_ms=max(0, int((self._clock.now() - sandbox.resumed_at) * 1000)) * running,
            memory_rss_bytes=stats.rss_bytes,
            page_faults=stats.page_faults,
        )

    def renew(self, caller: Caller, sandbox_id: str, ttl_s: int, *, on_expire: str = "") -> Sandbox:
        """Set the lease to end `ttl_s` from now (0 is the default, clamped to the cap).

        `on_expire` changes what a claim's end does; empty leaves it.
        """
        live = self._find(caller, sandbox_id)
        sandbox = live.sandbox
        if sandbox.deadline is None:
            raise StateConflict(have="held by a session", given="renew")
        if sandbox.state in (State.DESTROYING, State.DESTROYED):
            raise StateConflict(have=sandbox.state.value, given="renew")
        lease_s = lease_length(ttl_s, self._default_lease_s)
        before = sandbox.deadline, sandbox.claim
        sandbox.deadline = self._clock.now() + lease_s
        if (claim := sandbox.claim) is not None:
            sandbox.claim = replace(claim, ttl_s=lease_s, on_expire=on_expire or claim.on_expire)
        try:
            self._journal.sandbox_put(sandbox)
        except NoSpace:  # a lease that a restart would not know is none
            sandbox.deadline, sandbox.claim = before
            raise
        self.on_lease()
        return sandbox

    # -- destroy -----------------------------------------------------------------

    async def destroy(self, caller: Caller, sandbox_id: str) -> None:
        """End the VM and everything it held; returns once nothing is left.

        Cancelling the call does not stop the destruction.
        """
        await self.end(self._find(caller, sandbox_id))

    async def end(self, live: Live, end: End = End.RELEASE) -> None:
        """Destroy, by whatever decided so; a second call waits for the first.

        With a release delay the VM stands still that long, its guest out of reach and its
        place given free at once, and only then is taken apart; the call does not wait.
        """
        first = live.sandbox.state is not State.DESTROYING
        self._step(live, Input.DESTROY)
        if first:
            for watcher in self.watchers:
                watcher.ended(live.sandbox, end)
            if self.release_delay_s:
                await self._leave_standing(live)
                return
            spawn(self._end(live), name=f"destroy {live.sandbox.id}")
        await live.gone.wait()

    async def _leave_standing(self, live: Live) -> None:
        self._forget(live)
        if live.vm.guest is not None:
            await live.vm.guest.close()
        spawn(self._end_later(live), name=f"destroy later {live.sandbox.id}")

    async def _end_later(self, live: Live) -> None:
        with suppress(VmmError):
            await live.vm.machine.pause()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.release_delay_s):
                await self._hurry.wait()
        await self._factory.stop(live.vm)
        self._strike_off(live.sandbox)

    def hurry(self) -> None:
        """The engine stops: take apart now what stands still."""
        self._hurry.set()

    async def _end(self, live: Live) -> None:
        try:
            await self._factory.stop(live.vm)
        finally:
            self._strike_off(live.sandbox)
            self._forget(live)

    def _strike_off(self, sandbox: Sandbox) -> None:
        try:
            self._journal.sandbox_gone(sandbox)
        except NoSpace as error:  # the next start finds it gone
            _log.error("a sandbox stays on record", sandbox=sandbox.id, error=str(error))

    def _forget(self, live: Live) -> None:
        sandbox = live.sandbox
        sandbox.state = step(sandbox.state, Input.DONE)
        del self._live[sandbox.id], self._by_number[sandbox.number]
        self._admission.leave(sandbox.session, sandbox.uid, claim=sandbox.claim is not None)
        live.gone.set()

    async def end_session(self, session: str) -> None:
        """Destroy what lived with a connection or attach stream that ended."""
        mine = [live for live in self._live.values() if live.sandbox.session == session]
        await asyncio.gather(*(self.end(live, End.REAP) for live in mine))

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

    # -- shared ------------------------------------------------------------------

    def _step(self, live: Live, given: Input) -> State:
        """Feed the table; a change of state is in the journal when this returns.

        On a full disk nothing new is begun (`NoSpace`).  But what ended or died did so, and
        destroying frees space: then the journal stays behind, which the next start mends.
        """
        before = live.sandbox.state
        after = step(before, given)
        if after is before:
            return after
        live.sandbox.state = after
        try:
            self._journal.sandbox_put(live.sandbox)
        except NoSpace as error:
            if given in (Input.PAUSE, Input.RESUME):
                live.sandbox.state = before
                raise
            _log.error("the journal is behind", sandbox=live.sandbox.id, error=str(error))
        return after

    def _vm_exited(self, live: Live) -> None:
        if live.sandbox.state in (State.DESTROYING, State.DESTROYED):
            return
        live.sandbox.failure = "its virtual machine died"
        self._step(live, Input.VM_DIED)
        for watcher in self.watchers:
            watcher.vm_exited(live.sandbox)
        _log.warning("a virtual machine died", sandbox=live.sandbox.id, vm=live.vm.name)


def check_fit(spec: SandboxSpec, memory_mib: int, vcpus: int) -> None:
    """A request may repeat the template's memory and vCPUs, not change them."""
    if spec.memory_mib not in (0, memory_mib):
        raise InvalidArgument(
            "memory_mib",
            f"template {spec.template!r} was baked with {memory_mib} MiB, not {spec.memory_mib}",
        )
    if spec.vcpus not in (0, vcpus):
        raise InvalidArgument(
            "vcpu_count",
            f"template {spec.template!r} was baked with {vcpus} vCPUs, not {spec.vcpus}",
        )
