"""Where templates and what they are made of lie below the engine's data folder.

    templates/NAME/GENERATION/   a published template; NAME quoted, `current` links to one
    templates/.locks/NAME        held while NAME is built or removed
    store/kernels/RELEASE/VERSION/{vmlinuz,modules/}
    store/initramfs/DIGEST/initramfs.cpio
    store/agents/DIGEST/agent.ext4
    store/vmlinuz, store/initramfs.cpio   links to the newest, to probe the accelerator with
    cache/                       what a build can do without, and resumes from
    pins/DIGEST                  generations that must stay though they were replaced
    work/                        unfinished work, each folder locked by the process at it

All of it is one filesystem: work is published by renaming it.  Everything is root's and
readable by all, because each VMM runs as a user of its own and opens these files itself.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from sandbox_engine.model.template import FileDigest, Manifest, name_to_file

MEMORY = "memory.snap"
VMSTATE = "vmstate"
ROOTFS = "rootfs.ext4"
OVERLAY = "overlay.qcow2"
MANIFEST = "manifest.bin"
CURRENT = "current"


class Layout(Struct, frozen=True):
    """Paths below one data folder.  Creates nothing."""

    data: Path

    @property
    def templates(self) -> Path:
        """Published templates."""
        return self.data / "templates"

    @property
    def cache(self) -> Path:
        """Results of build steps, each named by a digest of its inputs."""
        return self.data / "cache"

    @property
    def pins(self) -> Path:
        """A file for each generation that must stay though it was replaced."""
        return self.data / "pins"

    @property
    def work(self) -> Path:
        """Unfinished work."""
        return self.data / "work"

    @property
    def newest_kernel(self) -> Path:
        """A link to the kernel of the latest build; absent before the first."""
        return self.data / "store" / "vmlinuz"

    @property
    def newest_initramfs(self) -> Path:
        """A link to the initramfs of the latest build; absent before the first."""
        return self.data / "store" / "initramfs.cpio"

    def template(self, name: str) -> Path:
        """The folder of every generation of one template."""
        return self.templates / name_to_file(name)

    def lock(self, name: str) -> Path:
        """The file that is locked while a template is built or removed."""
        return self.templates / ".locks" / name_to_file(name)

    def kernel(self, release: str, package: str) -> Path:
        """The folder of one kernel build; `package` is its package's version."""
        return self.data / "store" / "kernels" / release / name_to_file(package)

    def initramfs(self, digest: str) -> Path:
        """An initramfs by its SHA-256."""
        return self.data / "store" / "initramfs" / digest / "initramfs.cpio"

    def agent_disk(self, digest: str) -> Path:
        """An agent disk by its SHA-256."""
        return self.data / "store" / "agents" / digest / "agent.ext4"


class TemplateFiles(Struct, frozen=True, kw_only=True):
    """One generation of a template: where its files are, and what they must be."""

    directory: Path
    manifest: Manifest
    digest: str
    """Of `manifest.bin`: what this very generation is called."""
    kernel: Path
    initramfs: Path
    agent_disk: Path

    @property
    def memory(self) -> Path:
        """The guest's RAM."""
        return self.directory / MEMORY

    @property
    def vmstate(self) -> Path:
        """The devices' state."""
        return self.directory / VMSTATE

    @property
    def rootfs(self) -> Path:
        """The root disk as it was when the snapshot was taken; raw, never written again."""
        return self.directory / ROOTFS

    @property
    def overlay(self) -> Path:
        """An empty qcow2 over `rootfs`; a clone's disk is a copy of this small file."""
        return self.directory / OVERLAY

    def expected(self) -> list[tuple[str, Path, FileDigest]]:
        """See `ports.templates.TemplateFiles`."""
        manifest = self.manifest
        return [
            (MEMORY, self.memory, manifest.memory),
            (VMSTATE, self.vmstate, manifest.vmstate),
            (ROOTFS, self.rootfs, manifest.rootfs),
            (OVERLAY, self.overlay, manifest.overlay),
            ("kernel", self.kernel, manifest.kernel),
            ("initramfs", self.initramfs, manifest.initramfs),
            ("agent disk", self.agent_disk, manifest.agent_disk),
        ]


def files_of(layout: Layout, directory: Path, manifest: Manifest, digest: str) -> TemplateFiles:
    """The files of the generation in `directory`."""
    return TemplateFiles(
        directory=directory,
        manifest=manifest,
        digest=digest,
        kernel=layout.kernel(manifest.kernel_release, manifest.kernel_package) / "vmlinuz",
        initramfs=layout.initramfs(manifest.initramfs.sha256),
        agent_disk=layout.agent_disk(manifest.agent_disk.sha256),
    )
