"""The address guard: which addresses an upstream may have.  Pure (design 06).

Names and literals alike end in an address, and only that is judged.  Forms of IPv6 that carry
an IPv4 address are judged by what they carry, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PRIVATE = tuple(
    ip_network(text)
    for text in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"),
        *("::1/128", "fc00::/7"),
    )
)
"""What `SANDBOX_BROKER_ALLOW_PRIVATE_UPSTREAM` admits; link-local needs a prefix of its own."""
REFUSED = tuple(
    ip_network(text)
    for text in (
        *("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20"),
        *("fe80::/10", "fec0::/10", "ff00::/8"),
    )
)
_GLOBAL6 = ip_network("2000::/3")
_NAT64 = ip_network("64:ff9b::/96")
_COMPATIBLE = ip_network("::/96")


class Guard:
    """Judges addresses: public ones, and what the operator admits."""

    def __init__(self, *, allow_private: bool = False, prefixes: Iterable[Network] = ()) -> None:
        self._allow_private = allow_private
        self._prefixes = tuple(prefixes)

    def permits(self, text: str) -> bool:
        """Whether an upstream may have this address; a text that is none is refused."""
        try:
            address = ip_address(text.partition("%")[0])
        except ValueError:
            return False
        return self._permits(address)

    def _permits(self, address: Address) -> bool:
        if any(address in prefix for prefix in self._prefixes):
            return True
        carried = embedded(address)
        if carried:
            return all(self._permits(each) for each in carried)
        if any(address in network for network in PRIVATE):
            return self._allow_private
        if isinstance(address, IPv6Address) and address not in _GLOBAL6:
            return False
        return not any(address in network for network in REFUSED)


def embedded(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that an IPv6 one carries: mapped, compatible, NAT64, 6to4, Teredo."""
    if isinstance(address, IPv4Address):
        return ()
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    return ()
