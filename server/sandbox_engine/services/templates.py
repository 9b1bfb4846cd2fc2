"""Templates as callers see them: build, list, verify, remove; pools follow what changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from sandbox_engine.errors import DigestMismatch, TemplateCorrupt
from sandbox_engine.model.template import BuildRequest, Manifest, check_name
from sandbox_engine.ports.builder import BuildProgress, TemplateBuilder
from sandbox_engine.ports.templates import TemplateFiles, TemplateShelf
from sandbox_engine.services.pools import Pools


class Templates:
    """Every template of the node."""

    def __init__(
        self,
        *,
        shelf: TemplateShelf,
        builder: TemplateBuilder,
        pools: Pools,
        verify: Callable[[TemplateFiles], list[str]],
    ) -> None:
        self._shelf, self._builder, self._pools, self._verify = shelf, builder, pools, verify

    async def build(self, request: BuildRequest) -> AsyncGenerator[BuildProgress, None]:
        """Build and publish; what existed under the name is replaced at the end, at once.

        Running clones of the old one go on.  See `ports.builder` for errors.
        """
        async with aclosing(self._builder.build(request)) as steps:
            async for progress in steps:
                yield progress
        await self._pools.replaced(request.name)

    def all(self) -> list[Manifest]:
        """Every template that can be read, by name."""
        found = []
        for name in sorted(self._shelf.names()):
            try:
                found.append(self._shelf.find(name).manifest)
            except TemplateCorrupt:
                continue  # `verify` and every create say what is wrong with it
        return found

    def get(self, name: str) -> Manifest:
        """One template.  Raises `TemplateNotFound`, `TemplateCorrupt`."""
        return self._shelf.find(check_name(name)).manifest

    async def verify(self, name: str) -> list[str]:
        """What differs from the manifest, in words; empty when nothing does.

        Every byte is read again, whatever was verified before.
        Raises `TemplateNotFound`.
        """
        try:
            files = self._shelf.find(check_name(name))
        except TemplateCorrupt as error:
            return error.differences
        return await asyncio.to_thread(self._verify, files)

    async def remove(self, name: str, *, digest: str = "") -> None:
        """Unpublish, if it is still the build of `digest`; running clones go on.

        Raises `TemplateNotFound`, `TemplateBusy`, `DigestMismatch`.
        """
        if digest and self._shelf.find(check_name(name)).digest != digest:
            raise DigestMismatch(name, digest)
        self._shelf.remove(check_name(name))
        await self._pools.drop(name)
