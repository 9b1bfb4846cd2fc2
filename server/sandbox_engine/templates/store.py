"""The published templates on disk; `ports.templates.TemplateShelf`."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from sandbox_engine.errors import (
    TemplateBusy,
    TemplateCorrupt,
    TemplateIncompatible,
    TemplateNotFound,
)
from sandbox_engine.model.template import (
    NAME,
    ManifestInvalid,
    ManifestUnknown,
    decode_manifest,
    file_to_name,
    manifest_digest,
)
from sandbox_engine.templates.layout import CURRENT, MANIFEST, Layout, TemplateFiles, files_of
from sandbox_engine.templates.work import exclusive


class TemplateStore:
    """Every template below one data folder.

    Reads need no lock: a template is replaced by turning one symbolic link.
    """

    def __init__(self, data: Path) -> None:
        self.layout = Layout(data)

    def names(self) -> list[str]:
        """Every published template, sorted; readable or not."""
        links = self.layout.templates.glob(f"[!.]*/{CURRENT}")
        return sorted(file_to_name(link.parent.name) for link in links)

    def find(self, name: str) -> TemplateFiles:
        """Files and manifest, not yet verified.

        Raises `TemplateNotFound`, `TemplateCorrupt`, `TemplateIncompatible` (a manifest of
        another format).
        """
        if NAME.fullmatch(name) is None:
            raise TemplateNotFound(name)
        link = self.layout.template(name) / CURRENT
        try:
            generation = link.readlink()
        except OSError as error:
            raise TemplateNotFound(name) from error
        try:
            data = (link.parent / generation / MANIFEST).read_bytes()
        except OSError as error:
            if not link.is_symlink() or link.readlink() != generation:
                return self.find(name)  # replaced or removed between the two reads
            problem = f"{MANIFEST}: {error.strerror}"
            raise TemplateCorrupt(name, [problem]) from error
        try:
            manifest = decode_manifest(data)
        except ManifestUnknown as error:
            raise TemplateIncompatible(name, [f"{MANIFEST}: {error}"]) from error
        except ManifestInvalid as error:
            raise TemplateCorrupt(name, [f"{MANIFEST}: {error}"]) from error
        if manifest.name != name:
            raise TemplateCorrupt(name, [f"{MANIFEST} is that of template {manifest.name!r}"])
        folder = link.parent / generation
        return files_of(self.layout, folder, manifest, manifest_digest(data))

    def remove(self, name: str) -> None:
        """Unpublish, then delete.  Raises `TemplateNotFound`, `TemplateBusy`.

        VMs hold their files open and run on.
        """
        if NAME.fullmatch(name) is None:
            raise TemplateNotFound(name)
        folder = self.layout.template(name)
        with exclusive(self.layout.lock(name), f"template {name!r}"):
            try:
                (folder / CURRENT).unlink()
            except OSError as error:
                raise TemplateNotFound(name) from error
            self.sweep_generations(name)

    def newest_kernel(self) -> Path | None:
        """The kernel of the latest build, None before the first."""
        return _if_there(self.layout.newest_kernel)

    def newest_initramfs(self) -> Path | None:
        """The initramfs of the latest build, None before the first."""
        return _if_there(self.layout.newest_initramfs)

    def sweep(self) -> None:
        """Delete the generations of every template that were replaced.

        Templates that are being built or removed at this moment are left alone.
        """
        for folder in self.layout.templates.glob("[!.]*"):
            name = file_to_name(folder.name)
            with contextlib.suppress(TemplateBusy), exclusive(self.layout.lock(name), name):
                self.sweep_generations(name)

    def sweep_generations(self, name: str) -> None:
        """Delete the generations of `name` that were replaced and not pinned.

        The caller holds its lock.

        VMs hold their files open and run on.
        """
        folder = self.layout.template(name)
        link = folder / CURRENT
        current = link.readlink().name if link.is_symlink() else ""
        for path in folder.glob("*"):
            if path.name not in (CURRENT, current) and not self._pinned(path):
                shutil.rmtree(path, ignore_errors=True)
        with contextlib.suppress(OSError):
            folder.rmdir()  # only where nothing is left of it

    def find_generation(self, name: str, digest: str) -> TemplateFiles:
        """One generation of `name`, replaced or not.  Raises `TemplateNotFound`."""
        for path in self.layout.template(name).glob(f"[!.]*/{MANIFEST}"):
            with contextlib.suppress(OSError, ManifestInvalid):
                data = path.read_bytes()
                if path.parent.name != CURRENT and manifest_digest(data) == digest:
                    return files_of(self.layout, path.parent, decode_manifest(data), digest)
        raise TemplateNotFound(name)

    def _pinned(self, generation: Path) -> bool:
        try:
            digest = manifest_digest((generation / MANIFEST).read_bytes())
        except OSError:
            return False
        return (self.layout.pins / digest).exists()


def _if_there(path: Path) -> Path | None:
    return path if path.exists() else None
