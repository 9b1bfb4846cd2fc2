"""Frames, byte by byte: what a hostile guest could send.  Standard library only.

The file is run as it is inside guests too, so it imports nothing of this repository.
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, replace

BROADCAST = "ff:ff:ff:ff:ff:ff"
IP, ARP, IP6, VLAN, RARP = 0x0800, 0x0806, 0x86DD, 0x8100, 0x8035
SYN, ACK, RST = 2, 16, 4


def mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def checksum(data: bytes) -> int:
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(to: str, source: str, kind: int, payload: bytes) -> bytes:
    return mac(to) + mac(source) + struct.pack(">H", kind) + payload


def arp(operation: int, sender: tuple[str, str], target: tuple[str, str]) -> bytes:
    """`sender` and `target` are (hardware, address)."""
    body = struct.pack(">HHBBH", 1, IP, 6, 4, operation)
    for hardware, address in (sender, target):
        body += mac(hardware) + socket.inet_aton(address)
    return body


@dataclass(frozen=True)
class Packet:
    """IPv4 and what is in it."""

    source: str
    to: str
    protocol: int = socket.IPPROTO_TCP
    payload: bytes = b""
    options: bytes = b""
    fragment: int = 0
    version: int = 4
    ttl: int = 64

    def bytes(self) -> bytes:
        words = 5 + len(self.options) // 4
        total = 4 * words + len(self.payload)

        def header(check: int) -> bytes:
            return struct.pack(
                ">BBHHHBBH4s4s",
                self.version << 4 | words, 0, total, 7, self.fragment, self.ttl, self.protocol,
                check, socket.inet_aton(self.source), socket.inet_aton(self.to),
            ) + self.options  # fmt: skip

        return header(checksum(header(0))) + self.payload


def tcp(source: str, to: str, port: int, *, sport: int = 40000, flags: int = SYN) -> Packet:
    def segment(check: int) -> bytes:
        return struct.pack(">HHIIBBHHH", sport, port, 1000, 0, 5 << 4, flags, 64240, check, 0)

    pseudo = socket.inet_aton(source) + socket.inet_aton(to) + struct.pack(">BBH", 0, 6, 20)
    return Packet(source, to, payload=segment(checksum(pseudo + segment(0))))


def udp(source: str, to: str, port: int, data: bytes = b"x") -> Packet:
    payload = struct.pack(">HHHH", 40001, port, 8 + len(data), 0) + data
    return Packet(source, to, socket.IPPROTO_UDP, payload)


def echo(source: str, to: str) -> Packet:
    body = struct.pack(">BBHHH", 8, 0, 0, 1, 1)
    payload = body[:2] + struct.pack(">H", checksum(body)) + body[4:]
    return Packet(source, to, socket.IPPROTO_ICMP, payload)


def ipv6(source: str, to: str, kind: int, payload: bytes) -> bytes:
    head = struct.pack(">IHBB", 6 << 28, len(payload), kind, 255)
    return head + socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(
        socket.AF_INET6, to
    ) + payload  # fmt: skip


def icmp6(source: str, to: str, kind: int, rest: bytes) -> bytes:
    body = struct.pack(">BBH", kind, 0, 0) + rest
    pseudo = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, to)
    pseudo += struct.pack(">II", len(body), 58)
    return ipv6(source, to, 58, body[:2] + struct.pack(">H", checksum(pseudo + body)) + body[4:])


@dataclass(frozen=True)
class Where:
    """A guest's view: itself, its host, a sibling, and addresses beyond."""

    mac: str
    host_mac: str
    guest: str
    host: str
    port: int
    sibling: str
    sibling_host: str
    host_other: str
    """Another address of the host."""
    beyond: str
    """One that the host would route to."""


def hostile(at: Where) -> dict[str, bytes]:
    """Frames of which none may come to anything, by what they try."""

    def framed(packet: Packet, *, source: str = at.mac, to: str = at.host_mac) -> bytes:
        return ethernet(to, source, IP, packet.bytes())

    good = tcp(at.guest, at.host, at.port, sport=40500)
    own, host = (at.mac, at.guest), (at.host_mac, at.host)
    local = "fe80::2"
    solicited = icmp6(local, "ff02::1", 135, bytes(4) + socket.inet_pton(socket.AF_INET6, local))
    tagged = struct.pack(">HH", 5, IP) + tcp(at.guest, at.host, 22).bytes()
    lsrr = bytes([131, 7, 4]) + socket.inet_aton(at.beyond) + b"\0"
    return {
        "another port of the host": framed(tcp(at.guest, at.host, 22)),
        "the port above the broker's": framed(tcp(at.guest, at.host, at.port + 1)),
        "UDP to the broker's port": framed(udp(at.guest, at.host, at.port)),
        "DNS": framed(udp(at.guest, at.host, 53)),
        "DNS beyond": framed(udp(at.guest, at.beyond, 53)),
        "an echo": framed(echo(at.guest, at.host)),
        "an echo beyond": framed(echo(at.guest, at.beyond)),
        "another address of the host": framed(tcp(at.guest, at.host_other, at.port)),
        "the host's loopback": framed(tcp(at.guest, "127.0.0.1", at.port)),
        "another host": framed(tcp(at.guest, at.beyond, 80)),
        "another host's broker port": framed(tcp(at.guest, at.beyond, at.port)),
        "the metadata address": framed(tcp(at.guest, "169.254.169.254", 80)),
        "a sibling": framed(tcp(at.guest, at.sibling, at.port)),
        "a sibling's end of the host": framed(tcp(at.guest, at.sibling_host, at.port)),
        "everybody": framed(udp(at.guest, "255.255.255.255", 67), to=BROADCAST),
        "everybody of its own link": framed(udp(at.guest, _broadcast(at.guest), 7), to=BROADCAST),
        "a multicast group": framed(udp(at.guest, "224.0.0.251", 5353), to="01:00:5e:00:00:fb"),
        "a group's membership": framed(Packet(at.guest, "224.0.0.22", 2, bytes(8))),
        "a sibling's address": framed(tcp(at.sibling, at.host, at.port)),
        "somebody else's address": framed(tcp(at.beyond, at.host, at.port)),
        "the host's own address": framed(tcp(at.host, at.host, at.port)),
        "a loopback address": framed(tcp("127.0.0.1", at.host, at.port)),
        "no address": framed(tcp("0.0.0.0", at.host, at.port)),
        "another hardware address": framed(good, source="02:00:00:00:00:99"),
        "the host's hardware address": framed(good, source=at.host_mac),
        "asking for another address": ethernet(
            BROADCAST, at.mac, ARP, arp(1, own, ("00:00:00:00:00:00", at.sibling))
        ),
        "being the host": ethernet(BROADCAST, at.mac, ARP, arp(1, (at.mac, at.host), host)),
        "being the host, in an answer": ethernet(
            at.host_mac, at.mac, ARP, arp(2, (at.mac, at.host), host)
        ),
        "being a sibling": ethernet(at.host_mac, at.mac, ARP, arp(2, (at.mac, at.sibling), host)),
        "being its neighbour": ethernet(
            at.host_mac, at.mac, ARP, arp(2, ("02:00:00:00:00:99", at.guest), host)
        ),
        "a probe without an address": ethernet(
            BROADCAST, at.mac, ARP, arp(1, (at.mac, "0.0.0.0"), host)
        ),
        "RARP": ethernet(BROADCAST, at.mac, RARP, arp(3, own, own)),
        "inverse ARP": ethernet(at.host_mac, at.mac, ARP, arp(8, own, host)),
        "a neighbour of IPv6": ethernet("33:33:00:00:00:01", at.mac, IP6, solicited),
        "a router of IPv6": ethernet(
            "33:33:00:00:00:02", at.mac, IP6, icmp6(local, "ff02::2", 133, bytes(4))
        ),
        "TCP over IPv6": ethernet(
            at.host_mac, at.mac, IP6, ipv6(local, "fe80::1", 6, good.payload)
        ),
        "a mapped address": ethernet(
            at.host_mac, at.mac, IP6, ipv6(local, "::ffff:" + at.host, 6, good.payload)
        ),
        "a first fragment": framed(replace(good, fragment=0x2000)),
        "a later fragment": framed(replace(good, fragment=0x0003)),
        "a header in two fragments": framed(
            replace(good, payload=good.payload[:8], fragment=0x2000)
        ),
        "its second half": framed(replace(good, payload=good.payload[8:], fragment=0x0001)),
        "a source route": framed(replace(good, options=lsrr)),
        "an option of nothing": framed(replace(good, options=b"\1\1\1\0")),
        "another version": framed(replace(good, version=5)),
        "a packet in a packet": framed(
            Packet(at.guest, at.host, 4, tcp(at.guest, at.beyond, 80).bytes())
        ),
        "a tunnel": framed(Packet(at.guest, at.host, 47, struct.pack(">HH", 0, IP) + good.bytes())),
        "SCTP": framed(Packet(at.guest, at.host, 132, good.payload)),
        "a VLAN": ethernet(at.host_mac, at.mac, VLAN, tagged),
        "a VLAN in a VLAN": ethernet(
            at.host_mac, at.mac, 0x88A8, struct.pack(">HH", 5, VLAN) + tagged
        ),
        "a spanning tree": mac("01:80:c2:00:00:00") + mac(at.mac) + b"\0\x26BB\3" + bytes(35),
        "LLDP": ethernet("01:80:c2:00:00:0e", at.mac, 0x88CC, bytes(46)),
        "EAPOL": ethernet("01:80:c2:00:00:03", at.mac, 0x888E, bytes(46)),
        "PPPoE": ethernet(BROADCAST, at.mac, 0x8863, b"\x11\x09\0\0\0\0" + bytes(40)),
        "MPLS": ethernet(at.host_mac, at.mac, 0x8847, b"\0\1\1\x40" + good.bytes()),
        "half a header": ethernet(at.host_mac, at.mac, IP, good.bytes()[:12]),
        "nothing after the type": ethernet(at.host_mac, at.mac, IP, b""),
    }


def _broadcast(address: str) -> str:
    head, _, last = address.rpartition(".")
    return f"{head}.{int(last) | 3}"
