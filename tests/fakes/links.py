"""Links without a kernel: `ports.links.Links`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection

from sandbox_engine.errors import VmmError
from sandbox_engine.model.link import Link, block_of, free_block, tap_name


class FakeHostLinks:
    """What a kernel holds of one engine: it goes on when the engine ends."""

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}
        self.foreign: set[int] = set()
        """Blocks that somebody else has."""


class FakeLinks:
    """`ports.links.Links`."""

    def __init__(self, host: FakeHostLinks | None = None) -> None:
        self.host = host or FakeHostLinks()
        self.broken = ""
        """Why none can be made."""
        self._last = 1000

    async def make(
        self, vm: str, address: str = "", avoid: Collection[str] = ()
    ) -> tuple[Link, int]:
        if self.broken:
            raise VmmError(self.broken)
        taken = {link.block for link in self.host.links.values()} | self.host.foreign
        wanted = block_of(address) if address else None
        kept = {block for each in avoid if (block := block_of(each)) is not None}
        block = free_block(self._last, taken, wanted, kept)
        if block is None:
            raise VmmError("every address of 169.254/16 is taken")
        self._last = block
        mac = "02:" + ":".join(f"{byte:02x}" for byte in os.urandom(5))
        link = Link(vm=vm, tap=tap_name("fake", block), block=block, mac=mac)
        self.host.links[vm] = link
        fd, path = tempfile.mkstemp()
        os.unlink(path)
        return link, fd

    async def remove(self, link: Link) -> None:
        self.host.links.pop(link.vm, None)

    def find(self, vm: str) -> Link | None:
        return self.host.links.get(vm)

    async def sweep(self, keep: set[str]) -> list[str]:
        gone = [vm for vm in self.host.links if vm not in keep]
        for vm in gone:
            del self.host.links[vm]
        return gone
