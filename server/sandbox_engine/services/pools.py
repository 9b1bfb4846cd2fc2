"""Warm pools: VMs of a template that are running, confirmed and waiting to be handed out.

One `Pool` per template, one `CreationBudget` over all of them.  A take never waits while
a VM is warm; otherwise the caller queues, first come first served, and what the refill
brings up goes to the queue before it goes to the shelf.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Coroutine
from typing import Any

import structlog

from sandbox_engine.errors import EngineError, PoolExhausted
from sandbox_engine.model.template import Manifest
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.ports.templates import ReadyTemplate, TemplateVault
from sandbox_engine.services.vms import Vm, VmFactory

RETRY_S = 1.0
"""Pause after a failed creation that nobody waits for, so that a broken template does not spin."""
_log = structlog.get_logger(__name__)


class CreationBudget:
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


class Pool:
    """Keeps `warm` VMs of one template running and `waiting` VMMs started.

    Invariants
        A VM is in exactly one of: creation, the shelf, a waiter's hands.
        A VM that died warm, or whose template changed on disk since it was verified, is
        never handed out.
    """

    def __init__(
        self,
        template: str,
        *,
        warm: int,
        waiting: int,
        vault: TemplateVault,
        factory: VmFactory,
        budget: CreationBudget,
    ) -> None:
        self.template, self.warm, self.waiting = template, warm, waiting
        self.status = PoolStatus()
        self._vault, self._factory, self._budget = vault, factory, budget
        self._shelf: deque[Vm] = deque()
        self._prepared: deque[Vm] = deque()
        self._waiters: deque[asyncio.Future[Vm]] = deque()
        self._creating = 0
        self._preparing = 0
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()

    # -- taking ------------------------------------------------------------------

    def take_now(self) -> Vm | None:
        """A warm VM, or None.  Never waits."""
        while self._shelf:
            vm = self._shelf.popleft()
            if vm.machine.exited.is_set() or vm.template is None or vm.template.changed():
                self._discard(vm)
                continue
            self.status.hits += 1
            self.kick()
            return vm
        self.status.misses += 1
        return None

    async def take(self, wait_s: float) -> Vm:
        """The next VM to be brought up within `wait_s`, after a `take_now` that had none.

        Raises `PoolExhausted` when the wait ends, or the error of the creation that
        this caller was waiting for.
        """
        if wait_s <= 0:
            self.kick()
            raise PoolExhausted(f"no warm VM of template {self.template!r}")
        future: asyncio.Future[Vm] = asyncio.get_running_loop().create_future()
        self._waiters.append(future)
        self.kick()
        try:
            # Not `asyncio.timeout`: a door may run a create before there is a task for it.
            await asyncio.wait((future,), timeout=wait_s)
            if not future.done():
                raise PoolExhausted(
                    f"no VM of template {self.template!r} became ready within {wait_s:g} s"
                )
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

    # -- filling -----------------------------------------------------------------

    def kick(self) -> None:
        """Start as many creations as are missing.  Never waits."""
        if self._closed:
            return
        wanted = self.warm + len(self._waiters) - len(self._shelf) - self._creating
        for _ in range(wanted):
            self._creating += 1
            self._start(self._create(), "create")
        spare = self.waiting - len(self._prepared) - self._preparing
        if not self._creating:  # a spare process must not delay a VM somebody wants
            for _ in range(spare):
                self._preparing += 1
                self._start(self._prepare_ahead(), "prepare")

    def refresh(self) -> None:
        """Discard what was made of a template that has changed, and fill again."""
        for shelf in (self._shelf, self._prepared):
            stale = [vm for vm in shelf if vm.template is None or vm.template.changed()]
            for vm in stale:
                shelf.remove(vm)
                self._discard(vm)
        self.kick()

    async def ready(self) -> None:
        """Wait until the shelf is full (tests, start-up).  Raises nothing."""
        while len(self._shelf) < self.warm and not self._closed:
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
            self._creation_failed(error)
            if not self._waiters:
                await asyncio.sleep(RETRY_S)
        else:
            self._deliver(vm)
        finally:
            self._creating -= 1
            if not self._closed:
                asyncio.get_running_loop().call_soon(self.kick)

    async def _brought_up(self) -> Vm:
        template = await self._vault.open(self.template)
        vm = self._take_prepared(template)
        if vm is None:
            vm = await self._factory.prepare(template)
        await self._factory.bring_up(vm)
        return vm

    async def _prepare_ahead(self) -> None:
        try:
            async with self._budget:
                template = await self._vault.open(self.template)
                self._prepared.append(await self._factory.prepare(template))
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
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(vm)
                return
        self._shelf.append(vm)

    def _creation_failed(self, error: EngineError) -> None:
        self.status.failures += 1
        _log.warning("cannot create a VM", template=self.template, error=str(error))
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(error)
                return

    def _discard(self, vm: Vm) -> None:
        spawn(self._factory.destroy(vm), name=f"discard {vm.name}")


class Pools:
    """Every pool of the node."""

    def __init__(
        self,
        *,
        vault: TemplateVault,
        factory: VmFactory,
        budget: CreationBudget,
        default_warm: int,
    ) -> None:
        self._vault, self._factory, self._budget = vault, factory, budget
        self._default_warm = default_warm
        self._pools: dict[str, Pool] = {}

    def configure(self, template: str, *, warm: int, waiting: int) -> Pool:
        """Make the pool of `template`, or change its targets."""
        pool = self._pools.get(template)
        if pool is None:
            pool = self._pools[template] = Pool(
                template,
                warm=warm,
                waiting=waiting,
                vault=self._vault,
                factory=self._factory,
                budget=self._budget,
            )
        pool.warm, pool.waiting = warm, waiting
        pool.kick()
        return pool

    def find(self, template: str) -> Pool | None:
        """The pool of `template`, if it has one already."""
        return self._pools.get(template)

    async def of(self, template: str) -> Pool:
        """The pool of `template`; the first call verifies the template and makes it."""
        pool = self._pools.get(template)
        if pool is None:
            await self._vault.open(template)  # raises for a template that cannot be served
            pool = self._pools.get(template) or self.configure(
                template, warm=self._default_warm, waiting=1
            )
        return pool

    async def verified(self, template: str) -> Manifest:
        """What `template` was baked with.  Raises for one that cannot be served."""
        return (await self._vault.open(template)).manifest

    async def replaced(self, template: str) -> None:
        """A template was published anew: fill its pool from the new one.

        VMs of the old one notice by themselves that it changed, and are not handed out.
        """
        if (pool := self._pools.get(template)) is not None:
            pool.refresh()

    async def drop(self, template: str) -> None:
        """Close the pool of a template that was removed or replaced."""
        if (pool := self._pools.pop(template, None)) is not None:
            await pool.close()

    def all(self) -> list[Pool]:
        """Every pool, by template name."""
        return [self._pools[name] for name in sorted(self._pools)]

    async def close(self) -> None:
        """Close every pool."""
        for pool in self.all():
            await pool.close()
