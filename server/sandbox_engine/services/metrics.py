"""The node in numbers: counted as things happen, the rest looked at when asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Created, Sandbox, Tier
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.targets import PoolTargets
from sandbox_engine.services.watching import Copy, End, Shelf

STEPS = (
    "hibernates", "wakes", "forks", "checkpoints", "promotes", "archives", "unarchives",
    "archive_deletes", "vmm_restarts",
)  # fmt: skip
_POOL = ("template", "net", "size")


class Metrics(Collector):
    """A `Watcher` that counts, and what renders the page."""

    def __init__(
        self, *, pools: Pools, targets: PoolTargets, claims: Claims, admission: Admission
    ) -> None:
        self._pools, self._targets = pools, targets
        self._claims, self._admission = claims, admission
        self._tiers: Counter[Tier] = Counter()
        self._ends: Counter[End] = Counter()
        self._claim_seconds = 0.0
        self._vmm_exits = 0
        self._wake_seconds = 0.0
        self._steps: Counter[str] = Counter()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def created(self, created: Created, took_s: float) -> None:
        """See `Watcher`."""
        self._tiers[created.tier] += 1
        self._claim_seconds += took_s

    def ended(self, sandbox: Sandbox, end: End) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._ends[end] += 1

    def hibernated(self, sandbox: Sandbox) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._steps["hibernates"] += 1

    def woke(self, sandbox: Sandbox, took_s: float) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._steps["wakes"] += 1
        self._wake_seconds += took_s

    def shelved(self, sandbox: Sandbox, shelf: Shelf) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._steps[f"{shelf.value}s"] += 1

    def restarted(self, sandbox: Sandbox) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._steps["vmm_restarts"] += 1

    def copied(self, sandbox: Sandbox, copy: Copy, what: str, children: int = 0) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._steps[f"{copy.value}s"] += 1

    def vm_exited(self, sandbox: Sandbox) -> None:  # noqa: ARG002 - of the protocol
        """See `Watcher`."""
        self._vmm_exits += 1

    def gave_up(self, sandbox: Sandbox) -> None:
        """See `Watcher`."""

    def render(self) -> bytes:
        """Everything, in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Every family."""
        yield from self._pool_families()
        yield from self._state_families()
        claims = CounterMetricFamily("sandboxd_claims", "claims served", labels=("tier",))
        for tier in Tier:
            claims.add_metric((tier.value,), self._tiers[tier])
        yield claims
        for end in End:
            name = f"sandboxd_{end.value}s"
            yield CounterMetricFamily(name, f"sandboxes that ended by {end.value}", self._ends[end])
        yield CounterMetricFamily("sandboxd_vmm_exits", "VMMs that died", self._vmm_exits)
        for name in STEPS:
            yield CounterMetricFamily(f"sandboxd_{name}", f"{name} done", self._steps[name])
        yield CounterMetricFamily("sandboxd_wake_seconds", "time spent waking", self._wake_seconds)
        yield CounterMetricFamily(
            "sandboxd_claim_seconds", "time spent serving claims", self._claim_seconds
        )

    def _pool_families(self) -> Iterator[Metric]:
        warm = GaugeMetricFamily("sandboxd_pool_warm", "VMs ready", labels=_POOL)
        target = GaugeMetricFamily("sandboxd_pool_target", "VMs wanted ready", labels=_POOL)
        hits = CounterMetricFamily("sandboxd_pool_hits", "takes served at once", labels=_POOL)
        misses = CounterMetricFamily("sandboxd_pool_misses", "takes that had to wait", labels=_POOL)
        failures = CounterMetricFamily(
            "sandboxd_pool_failures", "VMs that could not be made", labels=_POOL
        )
        for pool in self._pools.all():
            key = self._targets.key(pool)
            labels = (key.template, key.net, key.size)
            warm.add_metric(labels, pool.counts()[0])
            target.add_metric(labels, pool.target)
            hits.add_metric(labels, pool.status.hits)
            misses.add_metric(labels, pool.status.misses)
            failures.add_metric(labels, pool.status.failures)
        yield from (warm, target, hits, misses, failures)

    def _state_families(self) -> Iterator[Metric]:
        claimed = failed = hibernated = archived = 0
        tenants: Counter[str] = Counter()
        for sandbox in self._claims.all():
            claimed += 1
            if sandbox.claim is not None and sandbox.claim.tenant is not None:
                tenants[sandbox.claim.tenant] += 1
            failed += sandbox.state is State.FAILED
            hibernated += sandbox.state is State.HIBERNATED
            archived += sandbox.state is State.ARCHIVED
        for name, words, value in (
            ("claimed", "live claims", claimed),
            ("hibernated", "claims whose VM is hibernated", hibernated),
            ("archived", "claims in the store", archived),
            ("failed", "claims whose VM died", failed),
            ("draining", "1 while the node takes no claims", int(self._admission.draining)),
        ):
            yield GaugeMetricFamily(f"sandboxd_{name}", words, value)
        family = GaugeMetricFamily(
            "sandboxd_tenant_claims", "live claims of tenants that hold any", labels=("tenant",)
        )
        for tenant, count in sorted(tenants.items()):
            family.add_metric((tenant,), count)
        yield family
