"""Promoted templates: states of sandboxes, published under a name and a key (seed "promote").

A claim of such a key goes on from the state as a branch of a checkpoint does.  Nothing is
kept warm for it, and what it stands on is kept for as long as the record or a clone is.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from sandbox_engine.errors import (
    DigestMismatch,
    InvalidArgument,
    NotOffered,
    TemplateNotFound,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim_request import check_metadata
from sandbox_engine.model.sandbox import Created, SandboxSpec
from sandbox_engine.model.size import DEFAULT_NET, Key
from sandbox_engine.model.snapshot import CHUNK_BYTES, Kind, Origin, Record, content_digest
from sandbox_engine.model.template import check_name
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.snapshots import Files, SnapshotStore
from sandbox_engine.services.forks import Hatchery
from sandbox_engine.services.live import Birth, check_fit
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.saving import Saved, Saver
from sandbox_engine.services.volumes import held_by
from sandbox_engine.services.watching import Copy


class Promotions:
    """Publishes, lists, clones and removes promoted templates."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        saver: Saver,
        hatchery: Hatchery,
        store: SnapshotStore,
        clock: Clock,
    ) -> None:
        self._sandboxes, self._saver, self._hatchery = sandboxes, saver, hatchery
        self._store, self._clock = store, clock
        self._publishing = asyncio.Lock()
        """Whose a name is must not change between the look and the writing."""
        self.is_pooled: Callable[[Key], bool] = lambda _: False
        """Whether a configured pool has this key."""
        self.is_built: Callable[[str], bool] = lambda _: False
        """Whether a template of this name was built here."""

    # -- publishing --------------------------------------------------------------

    async def promote(
        self,
        caller: Caller,
        sandbox_id: str,
        name: str,
        *,
        size: str = "",
        tenant: str | None = None,
        request_id: str = "",
    ) -> Record:
        """Publish the state of a sandbox as `name`, in place of an earlier one of its key.

        The sandbox runs on, or sleeps on.  Durable when it returns.  Raises
        `InvalidArgument`, `SandboxNotFound`, `StateConflict`, `NotOffered` (the name is
        taken), `RequestConflict`, `NoSpace`, `GuestUnavailable`.
        """
        check_name(name)
        if not request_id:
            return await self._promote(caller, sandbox_id, name, size, tenant)

        async def work() -> str:
            record = await self._promote(caller, sandbox_id, name, size, tenant)
            return msgspec.json.encode(record).decode()

        # The record itself: a later promote may have replaced it, and the digest is the answer.
        request = ("promote", sandbox_id, name, size, tenant)
        told = await self._sandboxes.requests.once(caller.name, request_id, request, work)
        return msgspec.json.decode(told, type=Record)

    async def _promote(
        self, caller: Caller, sandbox_id: str, name: str, size: str, tenant: str | None
    ) -> Record:
        sandbox = self._sandboxes.get(caller, sandbox_id)
        net = DEFAULT_NET if sandbox.claim is None else sandbox.claim.net
        key = Key(name, net, size if sandbox.claim is None else sandbox.claim.size)
        self._check_free(key, tenant)
        with (
            await self._saver.saved(caller, sandbox_id) as saved,
            self._store.copy(saved.files) as draft,
        ):
            digest = await asyncio.to_thread(self._digest, draft, saved.origin)
            record = self._saver.record(
                sandbox,
                draft,
                saved.origin,
                record_id=_record_id(key),
                kind=Kind.TEMPLATE,
                name=name,
                tenant=tenant,
            )
            record = replace(record, net=key.net, size=key.size, content_digest=digest)
            async with self._publishing:
                self._check_free(key, tenant)
                await self._store.publish(draft, record)
        for watcher in self._sandboxes.watchers:
            watcher.copied(sandbox, Copy.PROMOTE, name)
        return record

    def _check_free(self, key: Key, tenant: str | None) -> None:
        if self.is_pooled(key):
            raise NotOffered(f"template {key.template!r} is the name of a configured pool")
        if self.is_built(key.template):
            raise NotOffered(f"template {key.template!r} was built on this node")
        before = self._store.find(_record_id(key))
        if before is not None and before.tenant != tenant and tenant is not None:
            raise NotOffered(f"template {key.template!r} is owned by another tenant")

    def _digest(self, files: Files, origin: Origin) -> str:
        """Blocks: every byte is read."""
        base = msgspec.json.encode(replace(origin, layers=()), order="sorted")
        parts = [
            ("base.json", len(base), _hashes(iter([base]))),
            ("devices", os.fstat(files.state_fd).st_size, _hashes(_chunks(files.state_fd))),
            ("memory", os.fstat(files.memory_fd).st_size, _hashes(_chunks(files.memory_fd))),
        ]
        fds: list[int] = []
        try:
            for number, name in enumerate(origin.layers):
                fds.append(os.open(self._store.layer(name), os.O_RDONLY | os.O_CLOEXEC))
                size = os.fstat(fds[-1]).st_size
                parts.append((f"disk/{number:04d}.qcow2", size, _hashes(_chunks(fds[-1]))))
            return content_digest(parts)
        finally:
            for fd in fds:
                os.close(fd)

    # -- cloning -----------------------------------------------------------------

    def has(self, key: Key) -> bool:
        """Whether claims of this key go on from one; where a pool has the key they do not."""
        return self._claimable(key) is not None

    def _claimable(self, key: Key) -> Record | None:
        return None if self.is_pooled(key) else self._store.find(_record_id(key))

    def chosen(self, birth: Birth) -> Record | None:
        """What a create of `birth` clones; None where its name is not a promoted one.

        Raises `InvalidArgument` for memory or vCPUs that it was not saved with.
        """
        spec, claim = birth.spec, birth.claim
        if claim is not None:
            return self._claimable(Key(spec.template, claim.net, claim.size))
        named = [one for one in self._store.all(Kind.TEMPLATE) if one.name == spec.template]
        if not named:
            return None
        found = next((one for one in named if _fits(spec, one)), named[0])
        check_fit(spec, found.origin.memory_mib, found.origin.vcpus)
        return found

    async def create(self, birth: Birth, record: Record) -> Created:
        """A sandbox that goes on from `record`.

        Raises `SnapshotNotFound`, `SnapshotCorrupt`, `NotOffered` where another claim has a
        volume, and as `Hatchery.hatch`.
        """
        claim = birth.claim
        if birth.spec.session_key is not None:
            raise InvalidArgument("session_key", "a promoted template takes no workspace")
        if claim is not None:
            claim = replace(claim, promoted=record.name, template_digest=record.content_digest)
        spec = replace(birth.spec, template=record.origin.template)
        own = replace(birth, spec=spec, claim=claim)
        volumes = held_by(claim)
        self._sandboxes.volumes.hold(volumes)
        try:
            (created,) = await self._hatchery.hatch([own], self._open(record.id))
        except BaseException:
            self._sandboxes.volumes.release(volumes, clean=False)
            raise
        return created

    async def _open(self, record_id: str) -> Saved:
        return self._saver.opened(record_id)

    # -- keeping -----------------------------------------------------------------

    def all(self) -> list[Record]:
        """Every promoted template, newest first."""
        return self._store.all(Kind.TEMPLATE)

    def named(self, name: str) -> Record | None:
        """The newest of a name, whatever its size."""
        return next((one for one in self.all() if one.name == name), None)

    def delete(self, key: Key, *, digest: str = "", tenant: str | None = None) -> None:
        """Remove one; its clones run on.

        Raises `TemplateNotFound`, also for another tenant's; `NotOffered` for a pool's;
        `DigestMismatch` where it has not that digest any more.
        """
        self._store.remove(self._own(key, digest, tenant).id)

    def label(
        self, key: Key, labels: dict[str, str], *, digest: str = "", tenant: str | None = None
    ) -> Record:
        """Replace its labels.  Raises `InvalidArgument`, `NoSpace`, and as `delete`."""
        try:
            check_metadata(labels)
        except InvalidArgument as error:
            raise InvalidArgument("labels", error.problem) from error
        record = replace(self._own(key, digest, tenant), labels=labels)
        self._store.amend(record)
        return record

    def _own(self, key: Key, digest: str, tenant: str | None) -> Record:
        if self.is_pooled(key):
            raise NotOffered(f"template {key.template!r} is the name of a configured pool")
        record = self._store.find(_record_id(key))
        if record is None or (tenant is not None and record.tenant != tenant):
            raise TemplateNotFound(key.template)
        if digest and digest != record.content_digest:
            raise DigestMismatch(key.template, digest)
        return record


def _record_id(key: Key) -> str:
    text = f"{key.template}\0{key.net}\0{key.size}"
    return f"tp_{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def _fits(spec: SandboxSpec, record: Record) -> bool:
    origin = record.origin
    return spec.memory_mib in (0, origin.memory_mib) and spec.vcpus in (0, origin.vcpus)


def _chunks(fd: int) -> Iterator[bytes]:
    at = 0
    while data := os.pread(fd, CHUNK_BYTES, at):
        yield data
        at += len(data)


def _hashes(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return (hashlib.sha256(chunk).digest() for chunk in chunks)
