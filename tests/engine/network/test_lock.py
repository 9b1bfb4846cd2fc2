"""The lock of a tap, by frames written into it as a VMM would; in a namespace of its own.

What a frame comes to is seen at every other interface, at listeners of the host, and by what
comes back.  A last good connection proves that all before it were judged: a tap keeps order.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from pyroute2 import netns
from sandbox_engine.errors import VmmError
from sandbox_engine.model.link import Link, is_locked
from sandbox_engine.network.links import KernelLinks

from tests.support.namespaces import Capture, ip, namespace, nft, within
from tests.support.packets import (
    ACK,
    ARP,
    IP,
    SYN,
    Packet,
    Where,
    arp,
    ethernet,
    hostile,
    mac,
    tcp,
)  # fmt: skip

PORT = 8080
OTHER, BEYOND = "198.51.100.1", "198.51.100.9"


@dataclass
class Scene:
    """A host that would route and answer everything, two taps, and what watches."""

    ns: str
    folder: Path
    links: KernelLinks
    link: Link
    fd: int
    at: Where
    captures: list[Capture]
    listeners: dict[int, socket.socket]

    def send(self, frame: bytes) -> None:
        os.write(self.fd, frame)

    def heard(self) -> list[bytes]:
        """What came to the guest since this was last asked."""
        found = []
        while True:
            try:
                found.append(os.read(self.fd, 4096))
            except BlockingIOError:
                return found

    def knock(self, sport: int, port: int = PORT) -> None:
        """Ask for a connection."""
        at = self.at
        packet = tcp(at.guest, at.host, port, sport=sport)
        self.send(ethernet(at.host_mac, at.mac, IP, packet.bytes()))

    def connects(self, sport: int, port: int = PORT) -> bool:
        """Whether a connection from the guest is answered, as the first of all there are."""
        self.knock(sport, port)
        at = self.at
        while select.select([self.fd], [], [], 10)[0]:
            frame = os.read(self.fd, 4096)
            if frame[12:14] == ARP.to_bytes(2, "big"):
                answer = arp(2, (at.mac, at.guest), (at.host_mac, at.host))
                self.send(ethernet(at.host_mac, at.mac, ARP, answer))
            elif frame[12:14] == IP.to_bytes(2, "big"):
                return frame[36:38] == sport.to_bytes(2, "big") and frame[47] == SYN | ACK
        return False

    def seen_elsewhere(self) -> list[tuple[str, bytes]]:
        return [(each.interface, frame) for each in self.captures for frame in each.frames()]

    def listing(self) -> str:
        tables = nft(self.ns, "list", "ruleset")
        return tables if self.links.table in tables else ""

    def dropped(self) -> int:
        text = nft(self.ns, "list", "chain", "netdev", self.links.table, self.link.tap)
        return int(text.rpartition("counter packets ")[2].split()[0])


def listener(kind: socket.SocketKind, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, kind)
    sock.bind(("0.0.0.0", port))
    if kind is socket.SOCK_STREAM:
        sock.listen()
    return sock


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    with namespace("lock") as ns:
        # What the host says by itself on an interface that comes up is none of a guest's.
        quiet = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
        within(ns, lambda: quiet.write_text("1"))
        ip("link", "add", "up0", "type", "veth", "peer", "name", "up1", ns=ns)
        ip("link", "set", "up1", "up", ns=ns)
        ip("addr", "add", f"{OTHER}/24", "dev", "up0", ns=ns)
        ip("link", "set", "up0", "up", ns=ns)
        ip("route", "add", "default", "via", BEYOND, ns=ns)
        # So that nobody has to be asked where it is before a frame is sent there.
        ip("neigh", "add", BEYOND, "lladdr", "02:00:00:00:00:55", "dev", "up0", ns=ns)
        within(ns, lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
        links = KernelLinks(tmp_path, PORT)
        await links._do(lambda: netns.setns(ns))
        await links.start()
        link, fd = await links.make("vm-1")
        sibling, sibling_fd = await links.make("vm-2")
        ports = {PORT: socket.SOCK_STREAM, PORT + 1: socket.SOCK_STREAM, 22: socket.SOCK_STREAM,
                 53: socket.SOCK_DGRAM}  # fmt: skip
        listeners = {
            port: within(ns, partial(listener, kind, port)) for port, kind in ports.items()
        }
        captures = [Capture(ns, name) for name in ("up0", "lo", sibling.tap)]
        tap_mac = ip("-br", "link", "show", link.tap, ns=ns).split()[2]
        at = Where(
            mac=link.mac, host_mac=tap_mac, guest=link.guest, host=link.host, port=PORT,
            sibling=sibling.guest, sibling_host=sibling.host, host_other=OTHER, beyond=BEYOND,
        )  # fmt: skip
        made = Scene(ns, tmp_path, links, link, fd, at, captures, listeners)
        yield made
        for capture in captures:
            capture.close()
        for sock in listeners.values():
            sock.close()
        await links.sweep(set())
        await links.close()
        os.close(fd)
        os.close(sibling_fd)
        assert nft(ns, "list", "tables") == ""  # nothing is left, so nothing is kept


async def test_no_hostile_frame_comes_to_anything(scene: Scene) -> None:
    scene.heard()
    frames = hostile(scene.at)
    for name, frame in frames.items():
        before = scene.dropped()
        scene.send(frame)
        assert scene.heard() == [], name
        assert scene.dropped() == before + 1, name
    assert scene.connects(41000)
    assert scene.seen_elsewhere() == []
    for port in (PORT + 1, 22, 53):
        assert not select.select([scene.listeners[port]], [], [], 0)[0]


async def test_the_broker_answers_and_the_host_s_questions_are(scene: Scene) -> None:
    at = scene.at
    scene.send(
        ethernet(
            "ff:ff:ff:ff:ff:ff",
            at.mac,
            ARP,
            arp(1, (at.mac, at.guest), ("00:00:00:00:00:00", at.host)),
        )
    )
    answers = [frame for frame in scene.heard() if frame[12:14] == ARP.to_bytes(2, "big")]
    assert [mac(at.host_mac)] == [frame[22:28] for frame in answers]
    assert scene.connects(41001)
    assert scene.dropped() == 0


@pytest.mark.parametrize(
    "words",
    [
        ("flush", "ruleset"),
        ("delete", "table", "netdev", "{table}"),
        ("flush", "chain", "netdev", "{table}", "{tap}"),
        ("insert", "rule", "netdev", "{table}", "{tap}", "accept"),
        ("chain", "netdev", "{table}", "{tap}", "{{ policy accept; }}"),
    ],
    ids=["everything", "the table", "the rules", "another rule", "the policy"],
)
async def test_a_lock_that_is_taken_away_is_there_again(
    scene: Scene, words: tuple[str, ...]
) -> None:
    names = {"table": scene.links.table, "tap": scene.link.tap}
    nft(scene.ns, *(word.format(**names) for word in words))
    while not is_locked(scene.listing(), scene.link):
        await asyncio.sleep(0.01)
    scene.knock(41006, port=22)
    assert scene.connects(41007)


async def test_without_the_lock_the_test_would_see_it(scene: Scene) -> None:
    scene.links.unwatch()
    nft(scene.ns, "delete", "table", "netdev", scene.links.table)
    assert scene.connects(41002, port=22)


async def test_without_the_lock_nothing_is_routed_all_the_same(scene: Scene) -> None:
    scene.links.unwatch()
    nft(scene.ns, "delete", "table", "netdev", scene.links.table)
    at = scene.at
    for packet in (
        tcp(at.guest, BEYOND, 80),
        tcp(BEYOND, at.host, PORT),
        Packet(at.guest, at.sibling),
    ):
        scene.send(ethernet(at.host_mac, at.mac, IP, packet.bytes()))
    assert scene.connects(41003)
    assert scene.seen_elsewhere() == []


async def test_a_lock_that_was_taken_away_is_back_with_the_next_engine(scene: Scene) -> None:
    scene.links.unwatch()
    nft(scene.ns, "delete", "table", "netdev", scene.links.table)
    successor = KernelLinks(scene.folder, PORT)
    await successor._do(lambda: netns.setns(scene.ns))
    await successor.start()
    await successor.close()
    scene.knock(41004, port=22)
    assert scene.connects(41005)


async def test_a_tap_goes_with_its_vmm(scene: Scene) -> None:
    link, fd = await scene.links.make("vm-3")
    assert link.tap in ip("-br", "link", ns=scene.ns)
    os.close(fd)
    assert link.tap not in ip("-br", "link", ns=scene.ns)
    nft(scene.ns, "flush", "ruleset")  # the lock of the others is kept all the same
    while not is_locked(scene.listing(), scene.link):
        await asyncio.sleep(0.01)
    await scene.links.remove(link)
    assert link.tap not in nft(scene.ns, "list", "ruleset")


async def test_a_link_that_cannot_be_locked_is_none(scene: Scene) -> None:
    scene.links.unwatch()
    nft(scene.ns, "delete", "table", "netdev", scene.links.table)
    with pytest.raises(VmmError, match="nftables"):
        await scene.links.make("vm-3")
    taps = [line for line in ip("-br", "link", ns=scene.ns).splitlines() if "sbx" in line]
    assert len(taps) == 2
    assert scene.links.find("vm-3") is None
