"""What the engine needs of its templates: verified contents to clone from."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from sandbox_engine.model.template import FileDigest, Manifest
from sandbox_engine.ports.vmm import Snapshot


class ReadyTemplate(Protocol):
    """A template whose files were verified against its manifest.

    It stays usable until `close()`, whatever happens to the files meanwhile; `changed()`
    says whether they are still those that were verified.
    """

    @property
    def name(self) -> str:
        """What it is asked for by."""

    @property
    def manifest(self) -> Manifest:
        """What it was baked from and with."""

    @property
    def digest(self) -> str:
        """Of its manifest: `sha256:` and 64 hex digits; names this very generation."""

    @property
    def snapshot(self) -> Snapshot:
        """Sealed memory and device state."""

    @property
    def overlay(self) -> Path:
        """An empty qcow2 over the root filesystem; copied for every clone."""

    @property
    def rootfs(self) -> Path:
        """The root filesystem under it."""

    @property
    def kernel(self) -> Path:
        """The kernel it was baked with."""

    @property
    def initramfs(self) -> Path:
        """The initramfs it was baked with."""

    @property
    def agent_disk(self) -> Path:
        """The agent disk it was baked with."""

    def changed(self) -> bool:
        """Whether a file on disk is no longer the one that was verified (a few stats)."""


class TemplateFiles(Protocol):
    """A published template: its files on disk and its manifest."""

    @property
    def manifest(self) -> Manifest:
        """What it was baked from and with."""

    @property
    def digest(self) -> str:
        """Of its manifest."""

    def expected(self) -> list[tuple[str, Path, FileDigest]]:
        """Every file a clone is made of: what to call it, where it is, what it must be."""


class TemplateShelf(Protocol):
    """The published templates on disk."""

    def names(self) -> list[str]:
        """Every published template."""

    def find(self, name: str) -> TemplateFiles:
        """Files and manifest.  Raises `TemplateNotFound`, `TemplateCorrupt`."""

    def remove(self, name: str) -> None:
        """Unpublish.  Raises `TemplateNotFound`, `TemplateBusy`."""


class TemplatePins(Protocol):
    """Keeps generations of templates from being deleted while something stands on them."""

    def hold(self, digest: str) -> None:
        """Keep the generation of this digest until it is released as often."""

    def release(self, digest: str) -> None:
        """Give it back: it goes with the next build or removal of its template."""

    def sweep(self) -> None:
        """Forget what an earlier engine held and this one does not."""


class TemplateVault(Protocol):
    """Verifies templates once and keeps what was verified."""

    async def open(self, name: str) -> ReadyTemplate:
        """The verified template, at once when nothing changed since it was verified.

        Raises `TemplateNotFound`, `TemplateCorrupt`, `TemplateIncompatible`.
        """

    async def generation(self, name: str, digest: str) -> ReadyTemplate:
        """The same for one generation, which may have been replaced since."""
