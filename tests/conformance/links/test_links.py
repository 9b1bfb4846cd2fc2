"""What links promise (`ports.links`), asked of the kernel, in a namespace, and of the fake."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Collection, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from pyroute2 import netns
from sandbox_engine.model.link import BLOCKS, Link, guest_of, usable
from sandbox_engine.network.links import KernelLinks
from sandbox_engine.ports.links import Links

from tests.fakes.links import FakeHostLinks, FakeLinks
from tests.support.namespaces import ip, namespace

PORT = 8080


class Host(Protocol):
    """A host, and the engines on it one after another."""

    async def engine(self) -> Links:
        """The links of one that starts now."""

    def foreign(self, address: str) -> None:
        """Somebody else's link has this address."""


class Real:
    def __init__(self, ns: str, folder: Path) -> None:
        self._ns, self._folder = ns, folder
        self.engines: list[KernelLinks] = []

    async def engine(self) -> Links:
        made = KernelLinks(self._folder, PORT)
        await made._do(lambda: netns.setns(self._ns))
        await made.start()
        self.engines.append(made)
        return made

    def foreign(self, address: str) -> None:
        ip("link", "add", "other", "type", "veth", "peer", "name", "end", ns=self._ns)
        ip("addr", "add", f"{address}/30", "dev", "other", ns=self._ns)


class MadeUp:
    def __init__(self) -> None:
        self.host = FakeHostLinks()

    async def engine(self) -> Links:
        return FakeLinks(self.host)

    def foreign(self, address: str) -> None:
        from sandbox_engine.model.link import block_of

        block = block_of(address)
        assert block is not None
        self.host.foreign.add(block)


@pytest.fixture(params=["kernel", "fake"])
async def host(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Host]:
    if request.param == "fake":
        yield MadeUp()
        return
    with namespace("links") as ns:
        real = Real(ns, tmp_path)
        yield real
        for engine in real.engines:
            await engine.sweep(set())
            await engine.close()


async def made(links: Links, vm: str, address: str = "", avoid: Collection[str] = ()) -> Link:
    """A link whose descriptor stays open, as in a VMM."""
    link, fd = await links.make(vm, address, avoid)
    assert os.fstat(fd)
    HELD.append(fd)
    return link


HELD: list[int] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while HELD:
        os.close(HELD.pop())


async def test_each_vm_has_a_link_of_its_own(host: Host) -> None:
    links = await host.engine()
    one, two = await made(links, "vm-1"), await made(links, "vm-2")
    assert one.block != two.block
    assert one.tap != two.tap
    assert one.mac != two.mac
    assert links.find("vm-1") == one
    assert links.find("vm-3") is None


async def test_an_address_that_is_free_can_be_had_again(host: Host) -> None:
    links = await host.engine()
    one = await made(links, "vm-1")
    await links.remove(one)
    await links.remove(one)
    assert links.find("vm-1") is None
    again = await made(links, "vm-1-again", one.guest)
    assert again.guest == one.guest
    other = await made(links, "vm-2", one.guest)
    assert other.guest != one.guest


async def test_what_is_kept_for_who_sleeps_only_who_wants_it_gets(host: Host) -> None:
    links = await host.engine()
    first = await made(links, "vm-1")
    ahead = [guest_of(block) for block in range(first.block + 1, BLOCKS) if usable(block)][:5]
    ahead = ahead or [guest_of(700)]
    other = await made(links, "vm-2", avoid=ahead)
    assert other.guest not in ahead
    back = await made(links, "vm-3", ahead[-1], avoid=ahead)
    assert back.guest == ahead[-1]


async def test_what_another_link_of_the_host_has_is_not_given_out(host: Host) -> None:
    host.foreign("169.254.9.1")
    links = await host.engine()
    link = await made(links, "vm-1", "169.254.9.2")
    assert link.guest != "169.254.9.2"
    free = await made(links, "vm-2", guest_of(700))
    assert free.guest == guest_of(700)


async def test_the_next_engine_finds_what_there_is_and_sweeps_the_rest(host: Host) -> None:
    first = await host.engine()
    one, two = await made(first, "vm-1"), await made(first, "vm-2")
    second = await host.engine()
    assert second.find("vm-1") == one
    assert second.find("vm-2") == two
    assert await second.sweep({"vm-1", "vm-9"}) == ["vm-2"]
    assert second.find("vm-1") == one
    assert second.find("vm-2") is None
    third = await made(second, "vm-3", two.guest)
    assert third.guest == two.guest
    taken = await made(second, "vm-4", one.guest)
    assert taken.guest != one.guest
