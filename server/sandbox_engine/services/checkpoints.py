"""Checkpoints: moments of sandboxes, kept, and sandboxes branched from them."""

from __future__ import annotations

import asyncio
import os
import re

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument, SnapshotNotFound
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.environment import EnvEntry
from sandbox_engine.model.sandbox import Created, SandboxSpec, lease_length
from sandbox_engine.model.snapshot import Kind, Record
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.snapshots import SnapshotStore
from sandbox_engine.services.forks import Hatchery
from sandbox_engine.services.live import Birth
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.saving import Saved, Saver
from sandbox_engine.services.watching import Copy

MAX_NAME = 128
SWEEP_S = 60.0
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Branch(Struct, frozen=True, kw_only=True):
    """What a branch is to be; nothing of it comes from the source."""

    ttl_s: int = 0
    env: dict[str, str] = {}
    metadata: dict[str, str] = {}
    claim_ref: str = ""
    on_expire: str = "destroy"
    claim: bool = False
    tenant: str | None = None
    egress_class: str = ""
    host_env: dict[str, EnvEntry] = {}


class Checkpoints:
    """Takes, lists, branches and removes checkpoints."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        saver: Saver,
        hatchery: Hatchery,
        store: SnapshotStore,
        clock: Clock,
        default_lease_s: int,
        ttl_s: float,
    ) -> None:
        self._sandboxes, self._saver, self._hatchery = sandboxes, saver, hatchery
        self._store, self._clock = store, clock
        self._requests = sandboxes.requests
        self._default_lease_s = default_lease_s
        self.ttl_s = ttl_s
        """How long a checkpoint is kept; 0 is for ever."""

    async def create(
        self,
        caller: Caller,
        sandbox_id: str,
        name: str = "",
        *,
        tenant: str | None = None,
        request_id: str = "",
    ) -> Record:
        """Keep the state of a sandbox, which runs on; one that is hibernated sleeps on.

        Durable when it returns.  Raises `InvalidArgument`, `SandboxNotFound`,
        `StateConflict`, `RequestConflict`, `NoSpace`, `GuestUnavailable`.
        """
        if len(name) > MAX_NAME or _CONTROL.search(name):
            raise InvalidArgument(
                "name", f"must be at most {MAX_NAME} characters, none of them a control character"
            )
        if not request_id:
            return await self._create(caller, sandbox_id, name, tenant)

        async def work() -> str:
            return (await self._create(caller, sandbox_id, name, tenant)).id

        request = ("checkpoint", sandbox_id, name, tenant)
        return self.get(await self._requests.once(caller.name, request_id, request, work))

    async def _create(
        self, caller: Caller, sandbox_id: str, name: str, tenant: str | None
    ) -> Record:
        sandbox = self._sandboxes.get(caller, sandbox_id)
        with (
            await self._saver.saved(caller, sandbox_id) as saved,
            self._store.copy(saved.files) as draft,
        ):
            record = self._saver.record(
                sandbox,
                draft,
                saved.origin,
                record_id=f"ck_{os.urandom(10).hex()}",
                kind=Kind.CHECKPOINT,
                name=name,
                tenant=tenant,
            )
            await self._store.publish(draft, record)
        for watcher in self._sandboxes.watchers:
            watcher.copied(sandbox, Copy.CHECKPOINT, record.id)
        return record

    async def branch(
        self, caller: Caller, checkpoint_id: str, branch: Branch, *, request_id: str = ""
    ) -> Created:
        """A sandbox that goes on from a checkpoint; whoever knows its id may.

        Raises `SnapshotNotFound`, `SnapshotCorrupt`, `InvalidArgument`, `RequestConflict`,
        and as `Hatchery.hatch`.
        """
        if not request_id:
            return await self._branch(caller, checkpoint_id, branch)

        async def work() -> str:
            return (await self._branch(caller, checkpoint_id, branch)).sandbox.id

        request = ("branch", checkpoint_id, branch)
        made = await self._requests.once(caller.name, request_id, request, work)
        return self._sandboxes.told(self._sandboxes.get(caller, made))

    async def _branch(self, caller: Caller, checkpoint_id: str, branch: Branch) -> Created:
        record = self.get(checkpoint_id)
        lease_s = lease_length(branch.ttl_s, self._default_lease_s)
        spec = SandboxSpec(
            template=record.origin.template,
            env=branch.env,
            metadata=branch.metadata,
            claim_ref=branch.claim_ref,
        )
        spec.check()
        claim = Claim(
            net=record.net,
            size=record.size,
            promoted=record.promoted,
            tenant=branch.tenant,
            egress_class=branch.egress_class,
            host_env=branch.host_env,
        )
        birth = Birth(
            caller=caller,
            spec=spec,
            lease_s=lease_s,
            claim=claim if branch.claim else None,
            on_expire=branch.on_expire,
            from_checkpoint=record.id,
        )
        (created,) = await self._hatchery.hatch([birth], self._open(record.id))
        return created

    async def _open(self, checkpoint_id: str) -> Saved:
        return self._saver.opened(checkpoint_id)

    def get(self, checkpoint_id: str) -> Record:
        """One checkpoint.  Raises `SnapshotNotFound`."""
        record = self._store.find(checkpoint_id)
        if record is None or record.kind is not Kind.CHECKPOINT:
            raise SnapshotNotFound(checkpoint_id)
        return record

    def all(self, *, tenant: str | None = None) -> list[Record]:
        """Every checkpoint, or a tenant's own, newest first."""
        found = self._store.all(Kind.CHECKPOINT)
        return [one for one in found if tenant is None or one.tenant == tenant]

    def delete(self, checkpoint_id: str, *, tenant: str | None = None) -> None:
        """Remove one; its branches run on.  Raises `SnapshotNotFound`, also for another's."""
        record = self.get(checkpoint_id)
        if tenant is not None and record.tenant != tenant:
            raise SnapshotNotFound(checkpoint_id)
        self._store.remove(checkpoint_id)

    def expires_at(self, record: Record) -> float | None:
        """When it is removed; None for never."""
        return record.created_at + self.ttl_s if self.ttl_s else None

    def sweep(self) -> None:
        """Remove what has outlived its time."""
        for record in self._store.all(Kind.CHECKPOINT):
            expires = self.expires_at(record)
            if expires is not None and expires <= self._clock.now():
                self._store.remove(record.id)

    async def run(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            self.sweep()
            await asyncio.sleep(SWEEP_S)
