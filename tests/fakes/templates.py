"""Templates without files: what pools clone from, changed and broken by the test."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sandbox_engine.errors import TemplateNotFound
from sandbox_engine.model.template import FileDigest, Manifest, Platform
from sandbox_engine.ports.vmm import Snapshot

from tests.fakes.steps import Steps

PLATFORM = Platform(vmm="fake 1", machine="fake/1", cpu="fake")
MEMORY_MIB, VCPUS = 256, 1
_DIGEST = FileDigest(sha256="0" * 64, size=0)


def manifest(name: str, *, memory_mib: int = MEMORY_MIB, vcpus: int = VCPUS) -> Manifest:
    """The manifest of a template that holds nothing."""
    return Manifest(
        name=name,
        memory=_DIGEST,
        vmstate=_DIGEST,
        rootfs=_DIGEST,
        overlay=_DIGEST,
        kernel=_DIGEST,
        initramfs=_DIGEST,
        agent_disk=_DIGEST,
        platform=PLATFORM,
        kernel_release="6.1.0",
        kernel_package="6.1.0-1",
        agent_protocol=1,
        agent_version="1",
        memory_mib=memory_mib,
        vcpus=vcpus,
        disk_mib=64,
        source="dir:/nowhere",
        include=(),
        warmup=(),
        inputs="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


class FakeTemplate:
    """`ports.templates.ReadyTemplate`."""

    snapshot = Snapshot(memory_fd=-1, state_fd=-1)

    def __init__(self, name: str, folder: Path, generation: int = 1) -> None:
        self.name = name
        self.manifest = manifest(name)
        self.digest = f"sha256:{generation:064x}"
        empty = folder / "empty"
        empty.touch()
        self.overlay = self.rootfs = self.kernel = self.initramfs = self.agent_disk = empty
        self.replaced = False

    def changed(self) -> bool:
        return self.replaced


class FakeVault:
    """`ports.templates.TemplateVault`; step `open`."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.steps = Steps()
        self._folder = folder
        self._generation = 0
        self._templates: dict[str, FakeTemplate] = {}
        self._generations: dict[tuple[str, str], FakeTemplate] = {}
        for name in names:
            self.publish(name)

    def publish(self, name: str) -> FakeTemplate:
        """Build `name`, anew if it is there already: what was verified of it has changed then."""
        self.remove(name)
        self._generation += 1
        template = FakeTemplate(name, self._folder, self._generation)
        self._templates[name] = self._generations[name, template.digest] = template
        return template

    def remove(self, name: str) -> None:
        """Unpublish."""
        if (old := self._templates.pop(name, None)) is not None:
            old.replaced = True

    async def open(self, name: str) -> FakeTemplate:
        await self.steps.reach("open")
        if name not in self._templates:
            raise TemplateNotFound(name)
        return self._templates[name]

    async def generation(self, name: str, digest: str) -> FakeTemplate:
        await self.steps.reach("open")
        if (name, digest) not in self._generations:
            raise TemplateNotFound(name)
        return self._generations[name, digest]
