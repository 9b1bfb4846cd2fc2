"""Sandboxes made of a saved state: forks of another one, all of them or none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sandbox_engine.errors import EngineError, InvalidArgument
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.sandbox import Created, Tier, lease_length
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.live import Birth
from sandbox_engine.services.pool import CreationBudget
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.saving import Saved, Saver
from sandbox_engine.services.vms import Vm, VmFactory
from sandbox_engine.services.volumes import held_by
from sandbox_engine.services.watching import Copy


class Hatchery:
    """Makes sandboxes of a state."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        saver: Saver,
        factory: VmFactory,
        admission: Admission,
        budget: CreationBudget,
    ) -> None:
        self._sandboxes, self._saver = sandboxes, saver
        self._factory, self._admission, self._budget = factory, admission, budget

    async def hatch(self, births: Sequence[Birth], state: Awaitable[Saved]) -> list[Created]:
        """A sandbox a birth, that goes on from `state`, which is taken once there is room.

        All or none: raises `Draining`, `LimitReached`, what taking the state raises and
        what making a VM raises, and then there is none.  So does a cancelled call.
        """
        began = time.monotonic()
        entered: list[Birth] = []
        try:
            for birth in births:
                self._admission.enter(birth.caller, claim=birth.claim)
                entered.append(birth)
            with await state as saved:
                made = await self._register(births, await self._vms(saved, births), saved)
        except BaseException:
            for birth in entered:
                self._admission.leave(birth.caller.session, birth.caller.uid, claim=birth.claim)
            raise
        finally:
            if asyncio.iscoroutine(state):
                state.close()  # where it was never come to
        for created in made:
            created.tier = Tier.CLONE
            for watcher in self._sandboxes.watchers:
                watcher.created(created, time.monotonic() - began)
        return made

    async def _register(
        self, births: Sequence[Birth], vms: Sequence[Vm], saved: Saved
    ) -> list[Created]:
        children = [(_named(birth, vm, saved), vm) for birth, vm in zip(births, vms, strict=True)]
        try:
            return self._sandboxes.register_all(children)
        except EngineError:
            for vm in vms:
                await self._factory.destroy(vm)
            raise

    async def _vms(self, saved: Saved, births: Sequence[Birth]) -> list[Vm]:
        tasks = [spawn(self._vm(saved, birth), name="make a child") for birth in births]
        try:
            return list(await asyncio.gather(*tasks))
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for task in tasks:
                if not task.cancelled() and task.exception() is None:
                    await self._factory.destroy(task.result())
            raise

    async def _vm(self, saved: Saved, birth: Birth) -> Vm:
        async with self._budget:
            vm = await self._saver.restored(saved.origin, saved.files, env=birth.spec.env)
        try:
            await self._sandboxes.volumes.attach(held_by(birth.claim), vm)
            await self._sandboxes.network.connect(vm, birth.spec, birth.claim)
        except BaseException:
            await self._factory.destroy(vm)
            raise
        return vm


def _named(birth: Birth, vm: Vm, saved: Saved) -> Birth:
    """The birth with what is known of it only now."""
    spec = birth.spec
    if birth.ref_prefix:
        spec = replace(spec, claim_ref=birth.ref_prefix + vm.sandbox_id)
    origin = saved.origin
    return replace(birth, spec=spec, layers=origin.layers, booted=origin.booted)


class Fork(Struct, frozen=True, kw_only=True):
    """What is asked for."""

    parent: str
    count: int
    lease_s: int
    ref_prefix: str
    on_expire: str
    """Empty leaves the parent's."""


class Forks:
    """Forks sandboxes."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        saver: Saver,
        hatchery: Hatchery,
        default_lease_s: int,
        max_count: int,
    ) -> None:
        self._sandboxes, self._saver, self._hatchery = sandboxes, saver, hatchery
        self._default_lease_s = default_lease_s
        self.max_count = max_count

    async def fork(
        self,
        caller: Caller,
        sandbox_id: str,
        count: int,
        *,
        ttl_s: int = 0,
        ref_prefix: str = "",
        on_expire: str = "",
        request_id: str = "",
    ) -> list[Created]:
        """`count` sandboxes that share the parent's past and nothing after.

        They inherit its variables, labels and, unless it is given, what its end does; the
        lease is their own.  A hibernated parent is not woken.  Raises `InvalidArgument`,
        `SandboxNotFound`, `StateConflict`, `RequestConflict`, and as `Hatchery.hatch`.
        """
        if not 1 <= count <= self.max_count:
            raise InvalidArgument("count", f"must be 1 to {self.max_count}")
        wish = Fork(
            parent=sandbox_id,
            count=count,
            lease_s=lease_length(ttl_s, self._default_lease_s),
            ref_prefix=ref_prefix,
            on_expire=on_expire,
        )
        if not request_id:
            return await self._fork(caller, wish)

        async def work() -> str:
            return " ".join(child.sandbox.id for child in await self._fork(caller, wish))

        told = await self._sandboxes.requests.once(caller.name, request_id, ("fork", wish), work)
        return [self._sandboxes.told(self._sandboxes.get(caller, one)) for one in told.split()]

    async def _fork(self, caller: Caller, wish: Fork) -> list[Created]:
        parent = self._sandboxes.get(caller, wish.parent)
        birth = Birth(
            caller=Caller(name=caller.name, uid=caller.uid),
            spec=replace(parent.spec, claim_ref=""),
            lease_s=wish.lease_s,
            claim=_inherited(parent.claim),
            on_expire=wish.on_expire or parent.on_expire,
            parent=parent.id,
            ref_prefix=wish.ref_prefix,
        )
        children = await self._hatchery.hatch(
            [birth] * wish.count, self._saver.saved(caller, parent.id)
        )
        for watcher in self._sandboxes.watchers:
            watcher.copied(parent, Copy.FORK, "", wish.count)
        return children


def _inherited(claim: Claim | None) -> Claim | None:
    return None if claim is None else replace(claim, template_digest="")
