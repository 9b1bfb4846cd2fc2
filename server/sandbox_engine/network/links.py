"""`ports.links.Links` on Linux: a tap a VM, a /30 of its own, and nftables in front.

The kernel is the record: a tap's name says its addresses and its alias whose it is, so the
next engine finds what there is.  All of it is done by one thread, in order.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import structlog

from sandbox_engine.errors import VmmError
from sandbox_engine.model.link import (
    Link,
    block_of,
    blocks_in,
    free_block,
    is_locked,
    lock,
    tap_name,
)
from sandbox_engine.network.nft import Nft
from sandbox_engine.network.taps import Taps
from sandbox_engine.network.watch import RulesetWatch
from sandbox_engine.observe.tasks import spawn

_log = structlog.get_logger(__name__)
_T = TypeVar("_T")
_LOOK_S = 0.01


class KernelLinks:
    """The links of one engine, in the network namespace it runs in."""

    def __init__(self, data_dir: Path, port: int) -> None:
        """`port` is the broker's.  Engines on one host are told apart by their folders."""
        self._tag = hashlib.sha256(str(data_dir.resolve()).encode()).hexdigest()[:4]
        self.table = f"sandbox_{self._tag}"
        self._port = port
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="links")
        self._links: dict[str, Link] = {}
        self._last = int.from_bytes(os.urandom(2), "big")
        self._taps: Taps
        self._nft: Nft
        self._watch: RulesetWatch | None = None
        self._planned: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Find what an earlier engine left, lock it anew, and keep it so.  Raises `VmmError`."""
        self._watch = await self._do(self._start)
        asyncio.get_running_loop().add_reader(self._watch.fileno(), self._changed)

    async def make(
        self, vm: str, address: str = "", avoid: Collection[str] = ()
    ) -> tuple[Link, int]:
        """See `ports.links.Links`."""
        kept = {block for each in avoid if (block := block_of(each)) is not None}
        return await self._do(lambda: self._make(vm, address, kept))

    async def remove(self, link: Link) -> None:
        """See `ports.links.Links`."""
        await self._do(lambda: self._remove(link))

    def find(self, vm: str) -> Link | None:
        """See `ports.links.Links`."""
        return self._links.get(vm)

    async def sweep(self, keep: set[str]) -> list[str]:
        """See `ports.links.Links`."""
        gone = [link for vm, link in self._links.items() if vm not in keep]
        for link in gone:
            await self.remove(link)
        return [link.vm for link in gone]

    def unwatch(self) -> None:
        """Let the lock be taken away from now on.  Idempotent."""
        if self._planned is not None:
            self._planned.cancel()
        if self._watch is not None:
            asyncio.get_running_loop().remove_reader(self._watch.fileno())
            self._watch.close()
            self._watch = None

    async def close(self) -> None:
        """Leave everything to the next engine; where there is nothing, so is the table."""
        self.unwatch()
        await self._do(self._close)
        self._thread.shutdown(wait=False)

    async def _do(self, work: Callable[[], _T]) -> _T:
        # To its end also where the caller is cancelled: a half of it would be left.
        future = asyncio.get_running_loop().run_in_executor(self._thread, work)
        return await asyncio.shield(future)

    def _changed(self) -> None:
        """Look once for a burst of changes, most of which are this engine's own."""
        if self._watch is not None:
            self._watch.drain()
            if self._planned is None:
                self._planned = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def _look(self) -> None:
        self._planned = None
        spawn(self._keep_locked(), name="look at the lock")

    async def _keep_locked(self) -> None:
        try:
            if await self._do(self._lock_again):
                _log.error("the lock of links was taken away; it is there again")
        except VmmError as error:
            _log.error("the lock of links cannot be kept", error=str(error))
            self.unwatch()  # it would be tried for ever

    # -- in the thread -----------------------------------------------------------

    def _start(self) -> RulesetWatch:
        self._taps, self._nft = Taps(self._tag), Nft()
        for link in self._taps.mine():
            if link.vm:
                self._links[link.vm] = link
            else:  # its engine died before it said whose it is
                self._taps.delete(link.tap)
        watch = RulesetWatch()
        try:
            self._lock_all()
        except VmmError:
            watch.close()
            raise
        return watch

    def _lock_again(self) -> bool:
        """Whether that was needed."""
        if self._all_locked():
            return False
        self._lock_all()
        if not self._all_locked():
            raise VmmError("nftables lists other rules than it was given")
        return True

    def _all_locked(self) -> bool:
        try:
            listing = self._nft.run(f"list table netdev {self.table}")
        except VmmError:
            return False  # there is none
        return all(is_locked(listing, link) for link in self._there())

    def _lock_all(self) -> None:
        """In one transaction: there is no moment without a lock."""
        table = f"netdev {self.table}"
        commands = [f"add table {table}", f"delete table {table}", f"add table {table}"]
        commands += [lock(self.table, link, self._port) for link in self._there()]
        self._nft.run("\n".join(commands))

    def _there(self) -> list[Link]:
        """Those whose VMM has not ended: its tap, and the chain of that, went with it."""
        taps = {link.tap for link in self._taps.mine()}
        return [link for link in self._links.values() if link.tap in taps]

    def _lock(self, link: Link) -> None:
        """Raises `VmmError` unless nftables says itself that it is there."""
        self._nft.run(lock(self.table, link, self._port))
        if not is_locked(self._nft.run(f"list chain netdev {self.table} {link.tap}"), link):
            raise VmmError(f"nftables lists other rules for {link.tap} than it was given")

    def _make(self, vm: str, address: str, kept: set[int]) -> tuple[Link, int]:
        taken = {link.block for link in self._links.values()}
        taken.update(blocks_in(self._taps.networks()))
        wanted = block_of(address) if address else None
        block = free_block(self._last, taken, wanted, kept)
        if block is None:
            raise VmmError("every address of 169.254/16 is taken")
        if block != wanted:
            self._last = block
        mac = ":".join(("02", *(f"{byte:02x}" for byte in os.urandom(5))))
        link = Link(vm=vm, tap=tap_name(self._tag, block), block=block, mac=mac)
        fd = self._taps.open(link)
        try:
            self._lock(link)
            self._taps.up(link)
        except BaseException:
            os.close(fd)
            self._unlock(link)
            raise
        self._links[vm] = link
        return link, fd

    def _remove(self, link: Link) -> None:
        try:
            self._taps.delete(link.tap)
        except VmmError as error:
            # Locked as it is, and its address stays taken.
            _log.error("a tap is left", tap=link.tap, error=str(error))
            return
        self._unlock(link)
        self._links.pop(link.vm, None)

    def _unlock(self, link: Link) -> None:
        """A kernel takes the chain along with the device, or leaves it without one."""
        with suppress(VmmError):
            self._nft.run(
                f"flush chain netdev {self.table} {link.tap}\n"
                f"delete chain netdev {self.table} {link.tap}"
            )

    def _close(self) -> None:
        if not self._links:
            with suppress(VmmError):
                self._nft.run(f"delete table netdev {self.table}")
        self._nft.close()
        self._taps.close()
