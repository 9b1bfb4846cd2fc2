"""The node itself: what it is, how full it is, and whether it takes new sandboxes."""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine import __version__
from sandbox_engine.model.idle_rule import NO_RULE, IdleRule
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.vmm import Platform
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.pools import Pools


class PoolInfo(Struct, frozen=True, kw_only=True):
    """One pool."""

    template: str
    target: int
    warm: int
    creating: int
    waiting: int
    hits: int
    misses: int
    failures: int
    idle: IdleRule = NO_RULE


class NodeInfo(Struct, frozen=True, kw_only=True):
    """What an operator asks first."""

    version: str
    platform: Platform
    accel: str
    accel_reason: str
    cgroups: str
    started_at: float
    """Unix seconds."""
    max_sandboxes: int
    sandboxes: int
    draining: bool
    pools: list[PoolInfo]


class Node:
    """Node info, drain and pool targets."""

    def __init__(
        self,
        *,
        pools: Pools,
        admission: Admission,
        platform: Platform,
        accel: str,
        accel_reason: str,
        cgroups: str,
        clock: Clock,
    ) -> None:
        self._pools, self._admission = pools, admission
        self._platform, self._accel, self._accel_reason = platform, accel, accel_reason
        self._cgroups = cgroups
        self._started_at = clock.now()
        self._rules: dict[str, IdleRule] = {}

    def info(self) -> NodeInfo:
        """The node now."""
        return NodeInfo(
            version=__version__,
            platform=self._platform,
            accel=self._accel,
            accel_reason=self._accel_reason,
            cgroups=self._cgroups,
            started_at=self._started_at,
            max_sandboxes=self._admission.node_limit,
            sandboxes=self._admission.total,
            draining=self._admission.draining,
            pools=self.pools(),
        )

    def pools(self) -> list[PoolInfo]:
        """Every pool, by template."""
        infos = []
        for pool in self._pools.all():
            warm, creating, waiting = pool.counts()
            infos.append(
                PoolInfo(
                    template=pool.template,
                    target=pool.warm,
                    warm=warm,
                    creating=creating,
                    waiting=waiting,
                    hits=pool.status.hits,
                    misses=pool.status.misses,
                    failures=pool.status.failures,
                    idle=self.idle_rule(pool.template),
                )
            )
        return infos

    async def set_pool(
        self, template: str, *, warm: int, waiting: int = 1, idle: IdleRule = NO_RULE
    ) -> None:
        """Set a pool's targets, and what becomes of its sandboxes that are left alone.

        Raises `TemplateNotFound` and what verification says.
        """
        await self._pools.verified(template)
        self._pools.configure(template, warm=warm, waiting=waiting)
        self._rules[template] = idle

    def idle_rule(self, template: str) -> IdleRule:
        """What a template's pool was last told here; says nothing where that is nothing."""
        return self._rules.get(template, NO_RULE)

    def drain(self, *, draining: bool) -> None:
        """Take no new sandboxes and keep none ready, or do both again.  What runs, runs on."""
        self._admission.draining = draining
        self._pools.suspend(suspended=draining)
