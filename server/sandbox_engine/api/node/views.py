"""What the node API shows of sandboxes, pools and the node: records in, JSON values out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import DESTROY, Created, Sandbox, SandboxStatus
from sandbox_engine.model.size import Key, Size
from sandbox_engine.model.snapshot import Record
from sandbox_engine.model.volume import Grant
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.pool import Pool
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.promotions import Promotions
from sandbox_engine.services.targets import PoolTargets

Value = dict[str, Any]


def moment(at: float) -> str:
    """RFC 3339, in UTC, whole seconds: never later than it is."""
    return datetime.fromtimestamp(int(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def key_view(key: Key) -> Value:
    """A key."""
    return {"template": key.template, "net": key.net, "size": key.size}


def granted(created: Created, owner_addr: str) -> Value:
    """The answer to a claim."""
    sandbox = created.sandbox
    assert sandbox.deadline is not None  # a claim is held by a lease
    view: Value = {"id": sandbox.id, "token": created.token, "deadline": moment(sandbox.deadline)}
    if owner_addr:
        view["owner_addr"] = owner_addr
    view["net_route"] = sandbox.net_route
    if sandbox.claim is not None and sandbox.claim.template_digest:
        view["template_digest"] = sandbox.claim.template_digest
    if sandbox.from_checkpoint:
        view["from_checkpoint"] = sandbox.from_checkpoint
    if sandbox.claim is not None and sandbox.claim.volumes:
        view["volumes"] = volumes(sandbox)
    return view


def volumes(sandbox: Sandbox) -> list[Value]:
    """What was granted, in the request's shape: a mode only where it is rw."""
    return volume_list(() if sandbox.claim is None else sandbox.claim.volumes)


def volume_list(grants: Sequence[Grant]) -> list[Value]:
    """Volumes in the request's shape."""
    return [
        {"name": one.name}
        | ({"mount": one.mount} if one.mount else {})
        | ({"mode": one.mode} if one.writable else {})
        for one in grants
    ]


def row(claims: Claims, sandbox: Sandbox) -> Value:
    """One claim in the index."""
    assert sandbox.deadline is not None
    view: Value = {
        "id": sandbox.id,
        "key": key_view(claims.key(sandbox)),
        "deadline": moment(sandbox.deadline),
        "claimed_at": moment(sandbox.created_at),
        "hibernated": sandbox.state is State.HIBERNATED,
        "cpu_count": sandbox.vcpus,
        "mem_total_bytes": sandbox.memory_mib << 20,
    }
    claim = sandbox.claim
    restarted = sandbox.restarted_at
    optional: Value = {
        "archived": sandbox.state is State.ARCHIVED,
        "tenant": claim.tenant if claim is not None else None,
        "from_checkpoint": sandbox.from_checkpoint,
        "restarts": sandbox.restarts,
        "restarted_at": "" if restarted is None else moment(restarted),
        "claim_ref": sandbox.spec.claim_ref,
        "metadata": sandbox.spec.metadata,
        "volumes": volumes(sandbox),
        "on_expire": sandbox.on_expire if sandbox.on_expire != DESTROY else "",
        "failed": sandbox.failure if sandbox.state is State.FAILED else "",
    }
    return view | {name: value for name, value in optional.items() if value}


def checkpoint(claims: Claims, record: Record) -> Value:
    """One checkpoint."""
    size = record.size or claims.sizes.name_of(
        Size(cpus=record.origin.vcpus, memory_mib=record.origin.memory_mib)
    )
    view: Value = {
        "id": record.id,
        "name": record.name,
        "sandbox_id": record.sandbox_id,
        "key": key_view(Key(record.promoted or record.origin.template, record.net, size)),
        "created_at": moment(record.created_at),
    }
    if record.tenant is not None:
        view["tenant"] = record.tenant
    return view


def stats(status: SandboxStatus, now: float) -> Value:
    """What one sandbox uses."""
    sandbox = status.sandbox
    measured = status.memory_rss_bytes > 0
    return {
        "id": sandbox.id,
        "cpu_count": sandbox.vcpus,
        "mem_total_bytes": sandbox.memory_mib << 20,
        "mem_used_bytes": status.memory_rss_bytes,
        "mem_used_measured": measured,
        "hibernated": sandbox.state in (State.HIBERNATED, State.ARCHIVED),
        "measured_at": moment(now),
    }


def _template(record: Record) -> Value:
    """One promoted template."""
    view: Value = {
        "key": key_view(record.key),
        "content_digest": record.content_digest,
        "created_at": moment(record.created_at),
        "cpu_count": record.origin.vcpus,
        "mem_total_bytes": record.origin.memory_mib << 20,
    }
    if record.labels:
        view["labels"] = record.labels
    if record.tenant is not None:
        view["tenant"] = record.tenant
    return view


class NodeView:
    """The node as `GET /v1/info` shows it."""

    def __init__(
        self,
        *,
        pools: Pools,
        targets: PoolTargets,
        claims: Claims,
        admission: Admission,
        promotions: Promotions,
        advertise: str,
    ) -> None:
        self._pools, self._targets = pools, targets
        self._claims, self._admission = claims, admission
        self._promotions, self._advertise = promotions, advertise

    def info(self) -> Value:
        """Pools, claims and whether it has room."""
        states = [sandbox.state for sandbox in self._claims.all()]
        view: Value = {
            "pools": [self._pool(pool) for pool in self._pools.all()],
            "templates": self._templates(),
            "claimed": len(states),
            "hibernated": states.count(State.HIBERNATED),
            "archived": states.count(State.ARCHIVED),
        }
        if failed := states.count(State.FAILED):
            view["failed"] = failed
        full = next((pool.status.full for pool in self._pools.all() if pool.status.full), "")
        if full:
            view |= {"at_capacity": True, "at_capacity_reason": full}
        if self._admission.draining:
            view["draining"] = True
        if self._advertise:
            view["advertise_addr"] = self._advertise
        return view | {"peers": []}

    def _templates(self) -> list[Value]:
        """The promoted ones, but for keys that a pool has by now."""
        found = self._promotions.all()
        keys = [one.key for one in found]
        return [
            _template(one)
            for one, key in zip(found, keys, strict=True)
            if not self._targets.holds(key)
        ]

    def _pool(self, pool: Pool) -> Value:
        warm, creating, _ = pool.counts()
        return {
            "key": key_view(self._targets.key(pool)),
            "warm": warm,
            "refilling": creating,
            "target": pool.target,
            "golden": pool.golden,
        }
