"""The address guard: every range of design 06, and every form that hides one."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network

import pytest
from sandbox_broker.addresses import Guard
from sandbox_broker.errors import Denied
from sandbox_broker.settings import Settings
from sandbox_broker.upstream import Dialer

REFUSED = [
    *("127.0.0.1", "127.255.255.255", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "169.254.0.1"),
    *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.51.100.1"),
    *("203.0.113.1", "198.18.0.1", "198.19.255.255", "192.0.0.1", "192.88.99.1"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fdff::1", "ff02::1", "2001:db8::1"),
    *("100::1", "3fff::1", "fec0::1", "4000::1", "2001:2::1", "2001:20::1"),
    # Forms of IPv6 that carry an address of the above.
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1"),
    *("2001:0:7f00:1::f7f7:f7f7", "2001:0:808:808::80ff:fffe"),
    *("not-an-address", "", "1.2.3", "0x7f.1"),
]
PERMITTED = [
    *("8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0"),
    *("169.253.255.255", "169.255.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1"),
    *("::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_refuses(text: str) -> None:
    assert not Guard().permits(text)


@pytest.mark.parametrize("text", PERMITTED)
def test_permits(text: str) -> None:
    assert Guard().permits(text)


def test_allowing_private_upstreams_admits_those_and_not_the_metadata_address() -> None:
    guard = Guard(allow_private=True)
    for text in ("127.0.0.1", "10.1.1.1", "192.168.0.1", "100.64.0.1", "::1", "fd00::1"):
        assert guard.permits(text)
    assert guard.permits("::ffff:10.0.0.1")
    for text in ("169.254.169.254", "224.0.0.1", "255.255.255.255", "0.0.0.0", "fe80::1"):
        assert not guard.permits(text)


def test_a_prefix_admits_what_it_covers_and_nothing_beside() -> None:
    guard = Guard(prefixes=[ip_network("10.1.0.0/16"), ip_network("fd00:1::/32")])
    assert guard.permits("10.1.255.255")
    assert guard.permits("::ffff:10.1.0.1")
    assert guard.permits("fd00:1::1")
    assert not guard.permits("10.2.0.0")
    assert not guard.permits("fd00:2::1")


class Rebinding:
    """A resolver whose answer turns private once it was asked."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return self.answers.pop(0)


async def test_a_rebinding_name_is_resolved_once_and_reached_where_it_was_judged() -> None:
    reached = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reached.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.7", 0)
    port = server.sockets[0].getsockname()[1]
    resolver = Rebinding(["127.0.0.7"], ["127.0.0.1"])
    dialer = Dialer(Settings(internal_allow=(ip_network("127.0.0.7/32"),)), resolver)
    stream = await dialer.connect("rebinding.example", port)
    assert stream.info("peername")[:2] == ("127.0.0.7", port)
    assert resolver.asked == 1
    await asyncio.wait_for(reached.wait(), 30)
    stream.abort()
    with pytest.raises(Denied) as refused:
        await dialer.connect("rebinding.example", port)
    assert refused.value.decision == "denied_address"
    server.close()
    await server.wait_closed()


async def test_one_private_address_among_public_ones_refuses_the_name() -> None:
    dialer = Dialer(Settings(), Rebinding(["8.8.8.8", "10.0.0.1"]))
    with pytest.raises(Denied):
        await dialer.connect("mixed.example", 443)


@pytest.mark.parametrize("literal", ["127.0.0.1", "::1", "0x7f.1", "2130706433", "127.1"])
async def test_literals_in_every_spelling_are_judged_as_names_are(literal: str) -> None:
    with pytest.raises(Denied):
        await Dialer(Settings()).connect(literal, 443)
