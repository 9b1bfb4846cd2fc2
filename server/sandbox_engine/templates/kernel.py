"""The guests' kernel: Debian's cloud kernel package, unpacked and never installed."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from sandbox_engine.templates.apt import Apt, PackageMissing, version_of
from sandbox_engine.templates.commands import run
from sandbox_engine.templates.digests import digest_file
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.work import publish, work_folder

META_PACKAGE = "linux-image-cloud-amd64"
_SUM = "vmlinuz.sha256"
_IMAGE = re.compile(r"\blinux-image-(\S+-cloud-amd64) \(= ([^)]+)\)")


class Kernel(Struct, frozen=True):
    """One kernel build in the store."""

    release: str
    package: str
    """Version of its package."""
    folder: Path

    @property
    def image(self) -> Path:
        """What the VMM boots."""
        return self.folder / "vmlinuz"

    @property
    def modules(self) -> Path:
        """Its `/lib/modules/RELEASE`, with `modules.dep`."""
        return self.folder / "modules"


async def obtain(
    layout: Layout, apt: Apt, on_line: Callable[[str], None] | None = None
) -> tuple[Kernel, bool]:
    """The newest cloud kernel the host's sources offer, and whether it was here already.

    Raises `PackageMissing`, `CommandFailed`, `OSError`.
    """
    meta = (await apt.offered([META_PACKAGE]))[META_PACKAGE]
    match = _IMAGE.search(meta.depends)
    if match is None:
        raise PackageMissing(f"{META_PACKAGE} {meta.version} names no kernel: {meta.depends!r}")
    release, package = match.groups()
    kernel = Kernel(release, package, layout.kernel(release, package))
    if await asyncio.to_thread(_is_intact, kernel):
        return kernel, True
    shutil.rmtree(kernel.folder, ignore_errors=True)
    return await _fetch(layout, apt, release, on_line), False


def _is_intact(kernel: Kernel) -> bool:
    """A damaged one is fetched anew, or no rebuild could ever mend a template."""
    try:
        return digest_file(kernel.image).sha256 == (kernel.folder / _SUM).read_text()
    except OSError:
        return False


async def _fetch(
    layout: Layout, apt: Apt, release: str, on_line: Callable[[str], None] | None
) -> Kernel:
    name = f"linux-image-{release}"
    with work_folder(layout.work) as work:
        deb = (await apt.fetch([name], work, on_line))[name]
        package = await version_of(deb)
        tree, finished = work / "tree", work / "kernel"
        await run(["dpkg-deb", "--extract", deb, tree])
        await run(["depmod", "-b", tree, release])
        finished.mkdir()
        (tree / f"boot/vmlinuz-{release}").rename(finished / "vmlinuz")
        (tree / f"lib/modules/{release}").rename(finished / "modules")
        (finished / "vmlinuz").chmod(0o644)
        (finished / _SUM).write_text(digest_file(finished / "vmlinuz").sha256)
        finished.chmod(0o755)
        target = layout.kernel(release, package)
        publish(finished, target)
    return Kernel(release, package, target)
