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
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import structlog

from sandbox_engine.errors import (
    EngineError,
    InvalidArgument,
    NotOffered,
    ProvisioningFailed,
    VmmError,
)
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.volume import Entry, Grant, VolumeWish, grants
from sandbox_engine.ports.volumes import VolumeImages
from sandbox_engine.services.vms import Vm

MOUNT_TIMEOUT_S = 60.0
"""A journal to replay may take long."""
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

    def hold(self, grants: Sequence[Grant]) -> None:
        """Take volumes, all or none.  Raises `NotOffered` where others have them."""
        for grant in grants:
            self._check(grant)
        for grant in grants:
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

    async def attach(self, grants: Sequence[Grant], vm: Vm, present: Collection[str] = ()) -> None:
        """Attach what is held and mount what is to be mounted; disks `present` have theirs.

        On a raise the VM of a claim is of no more use, and a writer's marker stays.  Raises
        `InvalidArgument` for a template without disks for them, `VmmError`,
        `ProvisioningFailed`, `NoSpace`.
        """
        if not grants:
            return
        if vm.template is not None and not vm.template.manifest.volumes:
            raise InvalidArgument("volumes", "this template takes none: build it with `volumes`")
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        if marked := [self._path(grant) for grant in grants if grant.writable]:
            await asyncio.to_thread(self._mark, marked)
        await self._insert([grant for grant in grants if grant.disk not in present], vm)
        call = {"op": "mount_volumes", "volumes": [_disk(grant) for grant in grants]}
        if not any(grant.mount for grant in grants):
            vm.channel.notify(call)  # who mounts it himself looks for it himself
            return
        try:
            await vm.channel.call(call, timeout_s=MOUNT_TIMEOUT_S)
        except EngineError as error:
            raise ProvisioningFailed(f"provisioning failed: volumes: {error}") from error

    def _mark(self, paths: list[str]) -> None:
        for path in paths:
            self._images.mark(path)

    async def _insert(self, grants: Sequence[Grant], vm: Vm) -> None:
        with ExitStack() as stack:
            works = []
            for grant in grants:
                fd = self._images.open(self._path(grant), writable=grant.writable)
                stack.callback(os.close, fd)
                works.append(vm.machine.attach_disk(grant.disk, fd))
            for result in await asyncio.gather(*works, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result

    def _path(self, grant: Grant) -> str:
        if grant.name not in self.catalog:
            raise VmmError(f"volume {grant.name!r} is not in the catalog any more")
        return self.catalog[grant.name].path

    async def unmount(self, sandbox: Sandbox, vm: Vm) -> bool:
        """Have the guest let go of all it mounted, for good; whether it did.  Never raises."""
        disks = [_disk(grant) for grant in held_by(sandbox.claim) if grant.mount]
        if not disks or vm.machine.exited.is_set():
            return not disks
        try:
            async with asyncio.timeout(UNMOUNT_TIMEOUT_S):
                await vm.machine.resume()  # a guest that stands still writes nothing out
                await vm.channel.call({"op": "unmount_volumes", "volumes": disks, "end": True})
        except (EngineError, TimeoutError) as error:
            _log.warning("volumes were not unmounted", sandbox=sandbox.id, error=str(error))
            return False
        return True

    async def remove(self, grant: Grant, vm: Vm) -> None:
        """Unmount one volume and take its image away while the guest goes on.  Idempotent.

        Raises `GuestIo` while something in the guest uses it, `GuestUnavailable`, `VmmError`.
        """
        await vm.channel.call({"op": "unmount_volumes", "volumes": [_disk(grant)]})
        await vm.machine.detach_disk(grant.disk)

    def release(self, grants: Iterable[Grant], *, clean: bool) -> None:
        """Nobody has them any more; a writer that left cleanly takes its marker along.

        One that was attached only is judged by its filesystem alone.
        """
        for grant in grants:
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
            for grant in held_by(sandbox.claim):
                self._take(grant)


def held_by(claim: Claim | None) -> tuple[Grant, ...]:
    """What a claim keeps others from having; nothing for no claim."""
    return () if claim is None else claim.held_volumes


def _disk(grant: Grant) -> dict[str, Any]:
    return {
        "disk": grant.disk,
        "name": grant.name,
        "mount": grant.mount,
        "writable": grant.writable,
    }
