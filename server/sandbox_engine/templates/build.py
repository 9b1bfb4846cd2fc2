"""Builds a template: steps that resume where an earlier build failed, then one publication.

Each step's result is kept under a digest of its inputs.  A build whose inputs are those of
the published template, with its files untouched, does nothing.  What is published appears
whole: a folder is renamed into place and one symbolic link turned to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from sandbox_engine.model.template import FORMAT, BuildRequest, FileDigest, Manifest
from sandbox_engine.ports.guest import GuestConnector
from sandbox_engine.ports.vmm import MachineDriver
from sandbox_engine.templates import bake
from sandbox_engine.templates.commands import run
from sandbox_engine.templates.digests import digest_file
from sandbox_engine.templates.ingredients import DebianIngredients, Ingredients
from sandbox_engine.templates.kernel import Kernel
from sandbox_engine.templates.layout import MEMORY, ROOTFS, VMSTATE, Layout, TemplateFiles
from sandbox_engine.templates.publish import (
    FACTS,
    already_published,
    make_overlay,
    new_generation,
    note_untouched,
    place,
)
from sandbox_engine.templates.rootfs import Rootfs
from sandbox_engine.templates.steps import Report, Step, step
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.work import exclusive, link, make_folders, publish, work_folder


class Machines(Struct, frozen=True, kw_only=True):
    """How to run the guest that is baked."""

    driver_for: Callable[[Path, Path], MachineDriver]
    """Given kernel and initramfs, which a driver may be chosen by a probe with."""
    connector: GuestConnector
    uid: int
    gid: int
    """Whose the VMM is: nobody else's on this host."""


class _Facts(Struct, frozen=True, kw_only=True):
    """What a bake found out; kept beside its files until they are published."""

    agent_protocol: int
    agent_version: str


class _Parts(Struct, frozen=True, kw_only=True):
    """Everything there is before the guest boots."""

    kernel: Kernel
    initramfs: Path
    agent_disk: Path
    rootfs: Rootfs
    kernel_digest: FileDigest
    initramfs_digest: FileDigest
    agent_digest: FileDigest


class Builder:
    """Builds templates below one data folder.  Owns nothing between builds."""

    def __init__(
        self,
        data: Path,
        machines: Machines,
        report: Report,
        ingredients: Ingredients | None = None,
    ) -> None:
        self._layout = Layout(data)
        self._store = TemplateStore(data)
        self._machines, self._report = machines, report
        self._ingredients = ingredients or DebianIngredients(self._layout)

    async def build(self, request: BuildRequest) -> TemplateFiles:
        """Build and publish `request`.

        Raises `TemplateBuildFailed`, `TemplateBusy`, `NoSpace`, `InvalidArgument`.  After a
        raise, or cancellation, the template is what it was before.
        """
        layout, name = self._layout, request.name
        with contextlib.ExitStack() as locks:
            locks.enter_context(exclusive(layout.lock(name), f"template {name!r}"))
            parts = await self._obtain(request)
            files = None
            with step("bake", self._report) as running:
                driver = self._machines.driver_for(parts.kernel.image, parts.initramfs)
                self._store.sweep_generations(name)
                await bake.sweep_work(layout.work, driver)
                inputs = _inputs(request, parts, driver)
                baked = layout.cache / "bakes" / inputs
                if not request.force:
                    files = await already_published(layout, self._store, name, inputs)
                running.cached = files is not None
                if files is None:
                    lock = layout.cache / "locks" / inputs
                    locks.enter_context(exclusive(lock, "a template of the same inputs"))
                    running.cached = await self._bake(request, parts, driver, baked, running)
            with step("publish", self._report) as running:
                running.cached = files is not None
                return files or await self._publish(request, parts, driver, inputs, baked)

    async def _obtain(self, request: BuildRequest) -> _Parts:
        layout, made = self._layout, self._ingredients
        with step("kernel", self._report) as running:
            make_folders(layout.cache)
            kernel, running.cached = await made.kernel(running.on_line)
        with step("initramfs", self._report) as running:
            initramfs, running.cached = await made.initramfs(kernel)
            link(kernel.image, layout.newest_kernel, layout.work)
            link(initramfs, layout.newest_initramfs, layout.work)
        with step("agent", self._report) as running:
            agent_disk, running.cached = await made.agent_disk(running.on_line)
        with step("rootfs", self._report) as running:
            rootfs, running.cached = await made.rootfs(request, running.on_line)
            return _Parts(
                kernel=kernel,
                initramfs=initramfs,
                agent_disk=agent_disk,
                rootfs=rootfs,
                kernel_digest=await asyncio.to_thread(digest_file, kernel.image),
                initramfs_digest=await asyncio.to_thread(digest_file, initramfs),
                agent_digest=await asyncio.to_thread(digest_file, agent_disk),
            )

    async def _bake(
        self,
        request: BuildRequest,
        parts: _Parts,
        driver: MachineDriver,
        baked: Path,
        running: Step,
    ) -> bool:
        """Leave the finished bake at `baked`; whether it was there already."""
        if request.force:
            shutil.rmtree(baked, ignore_errors=True)
        if baked.exists():
            return True
        machines = self._machines
        with work_folder(self._layout.work) as work:
            await _copy_sparse(parts.rootfs.image, work / ROOTFS)
            guest = bake.Guest(
                name=f"bake-{os.getpid()}-{baked.name[:8]}",
                memory_mib=request.memory_mib,
                vcpus=request.vcpus,
                kernel=parts.kernel.image,
                initramfs=parts.initramfs,
                agent_disk=parts.agent_disk,
                warmup=request.warmup,
                volumes=request.volumes,
                uid=machines.uid,
                gid=machines.gid,
            )
            welcome = await bake.bake(guest, work, driver, machines.connector, running.on_line)
            finished = work / "baked"
            finished.mkdir()
            for name in (MEMORY, VMSTATE, ROOTFS):
                (work / name).rename(finished / name)
            facts = _Facts(agent_protocol=welcome.protocol, agent_version=welcome.agent_version)
            (finished / FACTS).write_bytes(msgspec.json.encode(facts))
            publish(finished, baked)
        return False

    async def _publish(
        self, request: BuildRequest, parts: _Parts, driver: MachineDriver, inputs: str, baked: Path
    ) -> TemplateFiles:
        final = new_generation(self._layout, request.name, inputs)
        overlay = await make_overlay(baked, final, request.disk_mib)
        facts = msgspec.json.decode((baked / FACTS).read_bytes(), type=_Facts)
        manifest = Manifest(
            name=request.name,
            memory=await asyncio.to_thread(digest_file, baked / MEMORY),
            vmstate=await asyncio.to_thread(digest_file, baked / VMSTATE),
            rootfs=await asyncio.to_thread(digest_file, baked / ROOTFS),
            overlay=digest_file(overlay),
            kernel=parts.kernel_digest,
            initramfs=parts.initramfs_digest,
            agent_disk=parts.agent_digest,
            platform=driver.platform,
            kernel_release=parts.kernel.release,
            kernel_package=parts.kernel.package,
            agent_protocol=facts.agent_protocol,
            agent_version=facts.agent_version,
            memory_mib=request.memory_mib,
            vcpus=request.vcpus,
            disk_mib=request.disk_mib,
            source=request.source,
            include=_sorted(request.include),
            warmup=request.warmup,
            volumes=request.volumes,
            inputs=inputs,
            created_at=datetime.now(UTC),
        )
        await asyncio.to_thread(place, self._layout, baked, final, manifest)
        files = self._store.find(request.name)
        note_untouched(self._layout, files)
        return files


def _inputs(request: BuildRequest, parts: _Parts, driver: MachineDriver) -> str:
    """Digest of all that decides what the template will be, its name apart."""
    facts = (
        FORMAT,
        parts.rootfs.identity,
        _sorted(request.include),
        request.memory_mib,
        request.vcpus,
        request.disk_mib,
        request.warmup,
        request.volumes,
        parts.kernel.release,
        parts.kernel.package,
        parts.kernel_digest,
        parts.initramfs_digest,
        parts.agent_digest,
        driver.platform,
    )
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()


def _sorted(include: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(include)))


async def _copy_sparse(source: Path, target: Path) -> None:
    """Copy an image without writing its holes; shares its blocks where the disk can."""
    await run(["cp", "--reflink=auto", "--sparse=always", source, target])
