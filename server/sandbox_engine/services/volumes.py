"""Catalog volumes of live claims: admitted, attached, mounted, given back.

A writer excludes everybody else of the same name, readers exclude a writer.  Before the
first attach of a writer a marker is written durably beside the image; it goes only after
a clean unmount, once the VM is gone.  Whatever dies in between leaves the marker, and
while it stands nobody reads: the next writer replays the journal and clears it.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterable, Sequence

import structlog

from sandbox_engine.errors import EngineError, InvalidArgument, NotOffered, ProvisioningFailed
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.volume import Entry, Grant, VolumeWish, grants
from sandbox_engine.ports.volumes import VolumeImages
from sandbox_engine.services.vms import Vm

MOUNT_TIMEOUT_S = 60.0
"""The guest waits 2 s for a device; a journal to replay may take longer."""
UNMOUNT_TIMEOUT_S = 15.0
_log = structlog.get_logger(__name__)


class Volumes:
    """The catalog, and who holds what of it."""

    def __init__(self, entries: Iterable[Entry], images: VolumeImages | None) -> None:
        self.catalog = {entry.name: entry for entry in entries}
        assert images is not None or not self.catalog
        self._have = images
        self._readers: Counter[str] = Counter()
        self._writers: set[str] = set()

    @property
    def _images(self) -> VolumeImages:
        assert self._have is not None  # only a catalog leads here
        return self._have

    # -- the catalog -------------------------------------------------------------

    def grants(
        self, wishes: list[VolumeWish], *, tenant: str | None, mounted: bool
    ) -> tuple[Grant, ...]:
        """What a claim of these gets.  Raises `InvalidArgument`."""
        return grants(self.catalog, wishes, tenant=tenant, mounted=mounted)

    def permitted(self, tenant: str | None) -> list[tuple[Entry, int | None]]:
        """What a tenant (None: the operator) may use, by name, with each image's size."""
        return [
            (entry, self._images.size(entry.path))
            for _, entry in sorted(self.catalog.items())
            if entry.permits(tenant)
        ]

    # -- for one claim -----------------------------------------------------------

    def hold(self, claim: Claim | None) -> None:
        """Take a claim's volumes, all or none.  Raises `NotOffered` where others have them."""
        wanted = _of(claim)
        for grant in wanted:
            self._check(grant)
        for grant in wanted:
            self._take(grant)

    def _check(self, grant: Grant) -> None:
        name = grant.name
        if name in self._writers or (grant.writable and self._readers[name]):
            raise NotOffered(f"volume {name!r} is busy: claimed in a mode that excludes this one")
        entry = self.catalog.get(name)
        if entry is None:
            raise NotOffered(f"volume {name!r} is not in the catalog any more")
        if not grant.writable and self._images.is_dirty(entry.path):
            raise NotOffered(
                f"volume {name!r} needs recovery: a writer left it uncleanly; "
                "claim it rw once and release it"
            )

    def _take(self, grant: Grant) -> None:
        if grant.writable:
            self._writers.add(grant.name)
        else:
            self._readers[grant.name] += 1

    async def attach(self, claim: Claim | None, vm: Vm) -> None:
        """Attach what is held and, unless it is attached only, mount it.

        On a raise the VM is of no more use, and a writer's marker stays.  Raises
        `InvalidArgument` for a template without slots, `VmmError`, `ProvisioningFailed`,
        `NoSpace`.
        """
        wanted = _of(claim)
        if not wanted:
            return
        if vm.template is None or not vm.template.manifest.volumes:
            raise InvalidArgument("volumes", "this template takes none: build it with `volumes`")
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        for grant in wanted:
            if grant.writable:
                await asyncio.to_thread(self._images.mark, self.catalog[grant.name].path)
        for slot, grant in enumerate(wanted):
            await self._plug(vm, slot, grant)
        disks = [
            {"serial": grant.name, "mount": grant.mount, "writable": grant.writable}
            for grant in wanted
            if grant.mount
        ]
        if disks:
            call = {"op": "mount_volumes", "volumes": disks}
            try:
                await vm.channel.call(call, timeout_s=MOUNT_TIMEOUT_S)
            except EngineError as error:
                raise ProvisioningFailed(f"provisioning failed: volumes: {error}") from error

    async def _plug(self, vm: Vm, slot: int, grant: Grant) -> None:
        fd = self._images.open(self.catalog[grant.name].path, writable=grant.writable)
        try:
            await vm.machine.plug_disk(slot, grant.name, fd, read_only=not grant.writable)
        finally:
            os.close(fd)

    async def unmount(self, sandbox: Sandbox, vm: Vm) -> bool:
        """Have the guest let go of what it mounted; whether it did.  Never raises."""
        mounts = [grant.mount for grant in _of(sandbox.claim) if grant.mount]
        if not any(grant.writable and grant.mount for grant in _of(sandbox.claim)):
            return True  # nothing can be lost
        try:
            async with asyncio.timeout(UNMOUNT_TIMEOUT_S):
                await vm.machine.resume()  # a guest that stands still writes nothing out
                await vm.channel.call({"op": "unmount_volumes", "mounts": mounts})
        except (EngineError, TimeoutError) as error:
            _log.warning("volumes were not unmounted", sandbox=sandbox.id, error=str(error))
            return False
        return True

    def release(self, claim: Claim | None, *, clean: bool) -> None:
        """The VM is gone: others may have them; a writer that left cleanly takes its marker along.

        One that was attached only is judged by its filesystem alone.
        """
        for grant in _of(claim):
            if not grant.writable:
                self._readers[grant.name] -= 1
                continue
            self._writers.discard(grant.name)
            entry = self.catalog.get(grant.name)
            if entry is not None and (clean or not grant.mount):
                self._images.clear(entry.path)

    def recover(self, sandboxes: Iterable[Sandbox]) -> None:
        """After a restart: what adopted claims hold."""
        for sandbox in sandboxes:
            for grant in _of(sandbox.claim):
                self._take(grant)


def _of(claim: Claim | None) -> Sequence[Grant]:
    return () if claim is None else claim.volumes
