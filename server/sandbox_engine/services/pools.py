"""The node's warm pools: one per template and size, over one `CreationBudget`."""

from __future__ import annotations

import asyncio

from sandbox_engine.model.size import DEFAULT_NET, Size
from sandbox_engine.model.template import Manifest
from sandbox_engine.ports.templates import TemplateVault
from sandbox_engine.services.pool import CreationBudget, Pool
from sandbox_engine.services.vms import VmFactory, baked_size

TEND_S = 5.0


class Pools:
    """Every pool of the node, by template, size and network lane.

    Those of the egress lane have their network interface before anybody asks for them.

    A size of None is the one the template was baked with; whoever names that size in
    numbers means the same pool.
    """

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
        self._pools: dict[tuple[str, Size | None, str], Pool] = {}
        self._baked: dict[tuple[str, Size, str], Pool] = {}
        """Pools of the baked size, also found by that size."""
        self._suspended = False

    def configure(
        self,
        template: str,
        *,
        warm: int,
        waiting: int,
        size: Size | None = None,
        warm_max: int | None = None,
        warmup: tuple[str, ...] = (),
        net: str = DEFAULT_NET,
    ) -> Pool:
        """Make the pool of `template` in `size` for a lane, or change its targets."""
        pool = self._pools.get((template, size, net))
        if pool is None:
            pool = self._pools[template, size, net] = Pool(
                template,
                size,
                net=net,
                warm=warm,
                waiting=waiting,
                vault=self._vault,
                factory=self._factory,
                budget=self._budget,
            )
            pool.suspended = self._suspended
        pool.warm, pool.waiting, pool.warmup = warm, waiting, warmup
        pool.warm_max = warm if warm_max is None else warm_max
        pool.kick()
        return pool

    def find(self, template: str, size: Size | None = None, net: str = DEFAULT_NET) -> Pool | None:
        """The pool of `template` in `size` for a lane, if there is one already."""
        pool = self._pools.get((template, size, net))
        if pool is None and size is not None:
            pool = self._baked.get((template, size, net))
        return pool

    async def normal(self, template: str, size: Size | None) -> Size | None:
        """`size`, or None where that is what `template` was baked with.

        Raises for a template that cannot be served.
        """
        return None if size == baked_size(await self.verified(template)) else size

    async def of(self, template: str, size: Size | None = None, net: str = DEFAULT_NET) -> Pool:
        """As `find`; the first call verifies the template and makes the pool.

        One of another size than the baked one keeps nothing warm unless configured: its
        VMs are booted when they are asked for.
        """
        baked = baked_size(await self.verified(template))
        if size in (None, baked):
            pool = self._pools.get((template, None, net)) or self.configure(
                template, warm=self._default_warm, waiting=1, net=net
            )
            self._baked[template, baked, net] = pool
            pool.baked = baked
            return pool
        return self.find(template, size, net) or self.configure(
            template, warm=0, waiting=0, size=size, net=net
        )

    async def verified(self, template: str) -> Manifest:
        """What `template` was baked with.  Raises for one that cannot be served."""
        return (await self._vault.open(template)).manifest

    async def replaced(self, template: str) -> None:
        """A template was published anew: fill its pool from the new one.

        VMs of the old one notice by themselves that it changed, and are not handed out.
        """
        for key in [key for key in self._baked if key[0] == template]:
            del self._baked[key]  # it may have been baked in another size
        for pool in self._of_template(template):
            pool.refresh()

    async def drop(self, template: str) -> None:
        """Close the pools of a template that was removed."""
        for pool in self._of_template(template):
            await self.retire(pool)

    async def retire(self, pool: Pool) -> None:
        """Close one pool; a later take of its template makes a new one."""
        self._pools.pop((pool.template, pool.size, pool.net), None)
        for key in [key for key, one in self._baked.items() if one is pool]:
            del self._baked[key]
        await pool.close()

    def suspend(self, *, suspended: bool) -> None:
        """Keep nothing ready in any pool and destroy what is, or fill again."""
        self._suspended = suspended
        for pool in self.all():
            pool.suspended = suspended
            pool.tend()

    async def run(self) -> None:
        """Let the pools follow their demand, until cancelled."""
        while True:
            await asyncio.sleep(TEND_S)
            for pool in self.all():
                pool.tend()

    def all(self) -> list[Pool]:
        """Every pool, by template name, the baked size first."""
        return sorted(self._pools.values(), key=_order)

    def _of_template(self, template: str) -> list[Pool]:
        return [pool for pool in self.all() if pool.template == template]

    async def close(self) -> None:
        """Close every pool."""
        for pool in self.all():
            await pool.close()


def _order(pool: Pool) -> tuple[str, int, int, bool]:
    size = pool.size
    numbers = (0, 0) if size is None else (size.memory_mib, size.cpus)
    return pool.template, *numbers, pool.net != DEFAULT_NET
