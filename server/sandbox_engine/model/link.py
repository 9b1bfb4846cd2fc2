"""Links: a guest's interface, the host's tap, and the private /30 between the two.  Pure.

The addresses are the seed's ("What a guest is given"): link-local, so that no router passes
them on, the first of a /30 the host's and the second the guest's.  A tap's name says which
/30 it has, so a kernel that still has taps says by itself what is taken.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network

from msgspec import Struct

PREFIX = 30
MASK = "255.255.255.252"
_BASE = int(IPv4Address("169.254.0.0"))
BLOCKS = 1 << 14
_KEPT_OUT = tuple(
    IPv4Network(text)
    for text in (
        "169.254.0.0/24", "169.254.255.0/24",  # RFC 3927 2.1
        "169.254.169.0/24", "169.254.170.0/24",  # where clouds serve metadata, time, names
    )
)  # fmt: skip
_ALIAS = re.compile(r"(?P<vm>[a-z0-9-]{1,64}) (?P<mac>02(:[0-9a-f]{2}){5})\Z")


class Link(Struct, frozen=True, kw_only=True):
    """One VM's."""

    vm: str
    tap: str
    block: int
    """Which /30 of 169.254/16."""
    mac: str
    """The guest's."""

    @property
    def host(self) -> str:
        """Where the broker is."""
        return host_of(self.block)

    @property
    def guest(self) -> str:
        """The guest's own address."""
        return guest_of(self.block)

    @property
    def alias(self) -> str:
        """What the tap carries for the next engine."""
        return f"{self.vm} {self.mac}"


def host_of(block: int) -> str:
    """The host's end of a /30."""
    return str(IPv4Address(_BASE + 4 * block + 1))


def guest_of(block: int) -> str:
    """The guest's end of a /30."""
    return str(IPv4Address(_BASE + 4 * block + 2))


def block_of(address: str) -> int | None:
    """Which /30 an address is in; None for one that is not of 169.254/16."""
    number = int(IPv4Address(address)) - _BASE
    return number // 4 if 0 <= number < 4 * BLOCKS else None


def usable(block: int) -> bool:
    """Whether a link may have it."""
    address = IPv4Address(_BASE + 4 * block)
    return 0 <= block < BLOCKS and not any(address in network for network in _KEPT_OUT)


def blocks_in(networks: Iterable[str]) -> Iterator[int]:
    """The /30s that overlap with `ADDRESS/PREFIX` of other links of the host.

    A /16 is what a host has that uses link-local addresses itself: it does not keep a /30,
    which is more specific, from being routed, so only narrower ones count.
    """
    for text in networks:
        address, _, length = text.partition("/")
        if int(length) <= 16 or (first := block_of(address)) is None:
            continue
        size = max(1, 1 << (PREFIX - int(length)) if int(length) < PREFIX else 1)
        first -= first % size
        yield from range(first, first + size)


def free_block(
    after: int, taken: Collection[int], wanted: int | None = None, kept: Collection[int] = ()
) -> int | None:
    """`wanted` where it can be had, else the next after `after`; None where all are taken.

    What is `kept` only who wants it gets.

    Given out in turn, so that what a gone guest's peers still send finds nobody for long.
    """
    if wanted is not None and usable(wanted) and wanted not in taken:
        return wanted
    for step in range(1, BLOCKS + 1):
        block = (after + step) % BLOCKS
        if block not in taken and block not in kept and usable(block):
            return block
    return None


def tap_name(tag: str, block: int) -> str:
    """At most 15 characters, as the kernel wants; `tag` is 4."""
    return f"sbx{tag}_{block}"


def read_tap(tag: str, name: str, alias: str) -> Link | None:
    """The link of a tap of ours; None for any other interface."""
    prefix = tap_name(tag, 0)[:-1]
    number = name.removeprefix(prefix)
    found = _ALIAS.match(alias)
    if not name.startswith(prefix) or not number.isdecimal() or int(number) >= BLOCKS:
        return None
    vm, mac = (found["vm"], found["mac"]) if found else ("", "02:00:00:00:00:00")
    return Link(vm=vm, tap=name, block=int(number), mac=mac)


def is_locked(listing: str, link: Link) -> bool:
    """Whether a table, as nftables lists it, holds the link's chain as `lock()` made it."""
    _, found, rest = listing.partition(f"chain {link.tap} {{\n")
    lines = [line.strip() for line in rest.splitlines()]
    rules = lines[: lines.index("}")] if "}" in lines else []
    return (
        bool(found)
        and len(rules) == 4
        and f'hook ingress device "{link.tap}"' in rules[0]
        and rules[0].endswith("policy drop;")
        and all(rule.endswith("accept") and link.guest in rule for rule in rules[1:3])
        and rules[3].endswith("drop")
    )


def lock(table: str, link: Link, port: int) -> str:
    """What nftables is told of one tap, as a chain in `table`; everything else is dropped.

    At the ingress hook of the device, before anything of the host's network sees a frame:
    no protocol is left over, and routing and firewalls of the host have no say.  A fragment
    has no port to judge by, and options of IP could ask to be routed.
    """
    mac, host, guest, chain = link.mac, link.host, link.guest, f"netdev {table} {link.tap}"
    hook = f"type filter hook ingress device {link.tap} priority -500; policy drop;"
    arp = "arp htype 1 arp ptype ip arp hlen 6 arp plen 4 arp operation { request, reply }"
    asks = f"{arp} arp saddr ether {mac} arp saddr ip {guest} arp daddr ip {host}"
    plain = f"ip hdrlength 5 ip frag-off & 0x3fff == 0 ip saddr {guest} ip daddr {host}"
    to_broker = f"{plain} ip protocol tcp tcp dport {port}"
    commands = (
        f"add chain {chain} {{ {hook} }}",
        f"flush chain {chain}",
        f"add rule {chain} ether type arp ether saddr {mac} {asks} accept",
        f"add rule {chain} ether type ip ether saddr {mac} {to_broker} accept",
        f"add rule {chain} counter drop",
    )
    return "\n".join(commands)
