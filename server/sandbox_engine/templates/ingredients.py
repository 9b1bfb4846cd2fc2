"""What a template is made of, before a guest boots: kernel, initramfs, agent disk, root."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from sandbox_engine.model.template import BuildRequest
from sandbox_engine.templates import agentdisk, initramfs, kernel, rootfs
from sandbox_engine.templates.apt import Apt
from sandbox_engine.templates.kernel import Kernel
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.rootfs import Rootfs

OnLine = Callable[[str], None]


class Ingredients(Protocol):
    """Makes what is missing and keeps it; each answer says whether it was here already.

    Raises what `build._as_engine_error` turns into words.
    """

    async def kernel(self, on_line: OnLine) -> tuple[Kernel, bool]:
        """The guests' kernel."""

    async def initramfs(self, kernel: Kernel) -> tuple[Path, bool]:
        """The initramfs for it."""

    async def agent_disk(self, on_line: OnLine) -> tuple[Path, bool]:
        """The agent's read-only disk."""

    async def rootfs(self, request: BuildRequest, on_line: OnLine) -> tuple[Rootfs, bool]:
        """The root file system; with `request.force`, of packages fetched anew."""


class DebianIngredients:
    """`Ingredients` from the packages of a Debian host."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._apt = Apt(layout.cache / "apt")

    async def kernel(self, on_line: OnLine) -> tuple[Kernel, bool]:
        """See `Ingredients`."""
        # One question for both steps: apt takes half a second to answer any.
        await self._apt.offered((kernel.META_PACKAGE, *agentdisk.PACKAGES))
        return await kernel.obtain(self._layout, self._apt, on_line)

    async def initramfs(self, kernel: Kernel) -> tuple[Path, bool]:
        """See `Ingredients`."""
        return await asyncio.to_thread(initramfs.obtain, self._layout, kernel)

    async def agent_disk(self, on_line: OnLine) -> tuple[Path, bool]:
        """See `Ingredients`."""
        digest, cached = await agentdisk.obtain(self._layout, self._apt, on_line)
        return self._layout.agent_disk(digest), cached

    async def rootfs(self, request: BuildRequest, on_line: OnLine) -> tuple[Rootfs, bool]:
        """See `Ingredients`."""
        if request.force:
            rootfs.forget(self._layout, request)
        return await rootfs.obtain(self._layout, request, on_line)
