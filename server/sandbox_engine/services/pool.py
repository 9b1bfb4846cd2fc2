"""One warm pool: VMs of a template that are running, confirmed and waiting to be handed out.

A take never waits while a VM is warm; otherwise the caller queues, first come first
served, and what the refill brings up goes to the queue before it goes to the shelf.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from sandbox_engine.errors import EngineError, NoSpace, PoolExhausted, VmmError
from sandbox_engine.model.demand import Demand
from sandbox_engine.model.size import DEFAULT_NET, EGRESS_NET, Size
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.ports.templates import ReadyTemplate, TemplateVault
from sandbox_engine.services.vms import Vm, VmFactory, baked_size
from sandbox_engine.services.warmup import run_warmup

RETRY_S = 1.0
"""Pause after a failed creation that nobody waits for, so that a broken template does not spin."""
YIELD_S = 0.002
"""How long a refill waits for the rest of the burst that emptied the shelf."""
_log = structlog.get_logger(__name__)


class CreationBudget(contextlib.AbstractAsyncContextManager[None]):
    """How many VMs may be in creation at once, over every pool."""

    def __init__(self, concurrency: int = 0) -> None:
        self._slots = asyncio.Semaphore(concurrency or max(2, (os.cpu_count() or 1) * 2 // 3))

    async def __aenter__(self) -> None:
        """Wait for a slot."""
        await self._slots.acquire()

    async def __aexit__(self, *_: object) -> None:
        """Give it back."""
        self._slots.release()


class PoolStatus:
    """Counters of one pool, for node info and metrics."""

    def __init__(self) -> None:
        self.hits = 0
        self.misses = 0
        self.failures = 0
        self.full = ""
        """Why the node has no room for another VM; empty while it has."""


class Pool:
    """Keeps VMs of one template and size running, and `waiting` VMMs started.

    As many as `warm`, up to `warm_max` while they are taken faster than they are made
    (`model/demand.py`).

    Invariants
        A VM is in exactly one of: creation, the shelf, a waiter's hands.
        A VM that died warm, or whose template changed on disk since it was verified, is
        never handed out.
    """

    def __init__(
        self,
        template: str,
        size: Size | None = None,
        *,
        net: str = DEFAULT_NET,
        warm: int,
        waiting: int,
        vault: TemplateVault,
        factory: VmFactory,
        budget: CreationBudget,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.template, self.size, self.net = template, size, net
        self.warm, self.warm_max, self.waiting = warm, warm, waiting
        self.warmup: tuple[str, ...] = ()
        """A command run in each VM before it joins."""
        self.baked: Size | None = None
        """The size the template was baked with, once that is known."""
        self.label = ""
        """The size's name where somebody configured the pool by one."""
        self.suspended = False
        """Keeps nothing ready; whoever waits is still served."""
        self.status = PoolStatus()
        self.demand, self.now = Demand(), now
        self._vault, self._factory, self._budget = vault, factory, budget
        self._shelf: deque[Vm] = deque()
        self._prepared: deque[Vm] = deque()
        self._waiters: deque[asyncio.Future[Vm]] = deque()
        self._creating = 0
        self._preparing = 0
        self._closed = False
        self._kick_planned = False
        self._tasks: set[asyncio.Task[None]] = set()

    # -- taking ------------------------------------------------------------------

    def take_now(self) -> Vm | None:
        """A warm VM, or None.  Never waits."""
        self.demand.taken(self.now())
        vm = self._off_the_shelf()
        if vm is None:
            self.status.misses += 1
        else:
            self.status.hits += 1
        return vm

    async def take(self, wait_s: float) -> Vm:
        """The next VM to be brought up within `wait_s`, after a `take_now` that had none.

        Raises `PoolExhausted` when the wait ends, or the error of the creation that
        this caller was waiting for.
        """
        now = asyncio.get_running_loop().time
        limit = now() + wait_s
        while True:
            # One may have come to the shelf since the caller looked there.
            vm = self._off_the_shelf() or await self._delivered(limit - now(), wait_s)
            if vm.fresh:
                return vm
            self._discard(vm)

    async def _delivered(self, left_s: float, wait_s: float) -> Vm:
        """What is delivered to a waiter within `left_s` of its `wait_s`."""
        if self._closed:
            raise PoolExhausted("the pool is closing")
        if left_s <= 0:
            self.kick()
            raise PoolExhausted(self._nothing_within(wait_s))
        future: asyncio.Future[Vm] = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        self.kick()
        try:
            # Not `asyncio.timeout`: a door may run a create before there is a task for it.
            await asyncio.wait((future,), timeout=left_s)
            if not future.done():
                raise PoolExhausted(self._nothing_within(wait_s))
        except asyncio.CancelledError:
            # Delivered at the very moment the caller left: it belongs to the next one.
            if future.done() and future.exception() is None:
                self._deliver(future.result())
            raise
        finally:
            with contextlib.suppress(ValueError):
                self._waiters.remove(future)
            future.cancel()
        return future.result()

    def _nothing_within(self, wait_s: float) -> str:
        if wait_s <= 0:
            return f"no warm VM of template {self.template!r}"
        return f"no VM of template {self.template!r} became ready within {wait_s:g} s"

    def _off_the_shelf(self) -> Vm | None:
        while self._shelf:
            vm = self._shelf.popleft()
            self._kick_soon()
            if vm.fresh:
                return vm
            self._discard(vm)
        return None

    def give_back(self, vm: Vm) -> None:
        """A VM that was taken and not used after all goes to whoever is next."""
        self._deliver(vm)

    # -- filling -----------------------------------------------------------------

    @property
    def target(self) -> int:
        """How many VMs should wait now."""
        if self.suspended:
            return 0
        return self.demand.target(self.now(), self.warm, self.warm_max)

    def kick(self) -> None:
        """Start as many creations as are missing.  Never waits."""
        if self._closed:
            return
        wanted = self.target + len(self._waiters) - len(self._shelf) - self._creating
        for _ in range(wanted):
            self._creating += 1
            self._start(self._create(), "create")
        spare = self.waiting - len(self._prepared) - self._preparing
        if (
            not self._creating and not self.suspended
        ):  # a spare process must not delay a VM somebody wants
            for _ in range(spare):
                self._preparing += 1
                self._start(self._prepare_ahead(), "prepare")

    def _kick_soon(self) -> None:
        """Fill again a moment later: refilling yields to the burst that made it necessary."""
        if not self._kick_planned:
            self._kick_planned = True
            asyncio.get_running_loop().call_later(YIELD_S, self._planned_kick)

    def _planned_kick(self) -> None:
        self._kick_planned = False
        self.kick()

    def refresh(self) -> None:
        """Discard what was made of a template that has changed, and fill again."""
        for shelf in (self._shelf, self._prepared):
            stale = [vm for vm in shelf if vm.template is None or vm.template.changed()]
            for vm in stale:
                shelf.remove(vm)
                self._discard(vm)
        self.kick()

    def tend(self) -> None:
        """Give up what a burst long past left behind, and follow the demand.  Never waits."""
        if self.suspended or self.demand.spent(self.now()):
            while len(self._shelf) > self.target:
                self._discard(self._shelf.pop())
        if self.suspended:
            while self._prepared:
                self._discard(self._prepared.pop())
        self.kick()

    async def ready(self) -> None:
        """Wait until the shelf is full (tests, start-up).  Raises nothing."""
        while len(self._shelf) < self.target and not self._closed:
            self.kick()
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    async def close(self) -> None:
        """Stop filling and destroy every VM that was not handed out."""
        self._closed = True
        await cancel(*self._tasks)
        for future in self._waiters:
            if not future.done():
                future.set_exception(PoolExhausted("the pool is closing"))
        idle = [*self._shelf, *self._prepared]
        self._shelf.clear()
        self._prepared.clear()
        for vm in idle:
            await self._factory.destroy(vm)

    @property
    def golden(self) -> bool:
        """Whether its VMs are restored from a snapshot and not booted."""
        return self.size is None or self.size == self.baked

    def counts(self) -> tuple[int, int, int]:
        """(warm, in creation, waiting VMMs)."""
        return len(self._shelf), self._creating, len(self._prepared)

    def _start(self, work: Coroutine[Any, Any, None], verb: str) -> None:
        task = spawn(work, name=f"{verb} {self.template}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _create(self) -> None:
        try:
            async with self._budget:
                vm = await self._brought_up()
        except EngineError as error:
            await self._creation_failed(error)
        except Exception as error:  # noqa: BLE001 - a fault here neither spins nor goes untold
            _log.error("a VM's creation has a fault", template=self.template, exc_info=error)
            await self._creation_failed(VmmError(f"the engine has a fault: {error!r}"))
        else:
            self._deliver(vm)
        finally:
            self._creating -= 1
            if not self._closed:
                asyncio.get_running_loop().call_soon(self.kick)

    async def _brought_up(self) -> Vm:
        template = await self._vault.open(self.template)
        self.baked = baked_size(template.manifest)
        began = self.now()
        vm = self._take_prepared(template)
        if vm is None:
            vm = await self._factory.prepare(template, self.size)
        await self._factory.bring_up(vm)
        if self.net == EGRESS_NET and self._factory.links is not None:
            await self._connect(vm)
        if self.warmup:
            await self._warm_up(vm)
        self.demand.brought_up(self.now() - began)
        self.status.full = ""
        return vm

    async def _connect(self, vm: Vm) -> None:
        """Its interface, before anybody asks for it: a guest takes its time to show one."""
        try:
            await self._factory.connect(vm)
        except BaseException:
            await self._factory.destroy(vm)
            raise

    async def _warm_up(self, vm: Vm) -> None:
        try:
            await run_warmup(vm.channel, self.warmup)
        except BaseException:
            await self._factory.destroy(vm)
            raise

    async def _prepare_ahead(self) -> None:
        try:
            async with self._budget:
                template = await self._vault.open(self.template)
                self._put_by(self._prepared, await self._factory.prepare(template, self.size))
        except EngineError as error:
            _log.warning("cannot start a VMM ahead", template=self.template, error=str(error))
            await asyncio.sleep(RETRY_S)
        finally:
            self._preparing -= 1

    def _take_prepared(self, template: ReadyTemplate) -> Vm | None:
        while self._prepared:
            vm = self._prepared.popleft()
            if vm.template is template and not vm.machine.exited.is_set():
                return vm
            self._discard(vm)
        return None

    def _deliver(self, vm: Vm) -> None:
        if self._closed or not vm.fresh:
            self._discard(vm)
            self.kick()
            return
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(vm)
                return
        self._put_by(self._shelf, vm)

    def _put_by(self, shelf: deque[Vm], vm: Vm) -> None:
        """Keep `vm` on `shelf`; its death there is noticed when it happens."""
        shelf.append(vm)
        vm.machine.when_exited(lambda: self._died(shelf, vm))

    def _died(self, shelf: deque[Vm], vm: Vm) -> None:
        if vm in shelf:
            shelf.remove(vm)
            self._discard(vm)
            _log.warning("a VM died before it was handed out", template=self.template, vm=vm.name)
            # Not at once: a template whose VMs all die must not spin.
            asyncio.get_running_loop().call_later(RETRY_S, self.kick)

    async def _creation_failed(self, error: EngineError) -> None:
        """Tell one waiter; pause where nobody waits."""
        self.status.failures += 1
        self.status.full = str(error) if isinstance(error, NoSpace) else ""
        _log.warning("cannot create a VM", template=self.template, error=str(error))
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(error)
                break
        if not self._waiters:
            await asyncio.sleep(RETRY_S)

    def _discard(self, vm: Vm) -> None:
        spawn(self._factory.destroy(vm), name=f"discard {vm.name}")
