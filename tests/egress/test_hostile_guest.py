"""A guest that owns its kernel tries to get out; what it sends is looked for everywhere else.

Every other interface of its host is captured while it tries, and so is the far end of the
host's cable; listeners wait at the ports it tries.  The host would route and answer, as
`tests/engine/network/test_lock.py` shows by taking the lock away.
"""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator
from functools import partial
from ipaddress import ip_address, ip_interface
from pathlib import Path
from typing import Any

import pytest

from tests.egress.locked import NODE, PORT, WORLD, Locked, locked
from tests.support import packets
from tests.support.namespaces import Capture, ip, within

pytestmark = [pytest.mark.vm, pytest.mark.beside]

_SENDS = """
import json, os
where = Where(**json.loads(os.environ["WHERE"]))
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((os.environ["INTERFACE"], 0))
sent = []
for name, frame in hostile(where).items():
    try:
        raw.send(frame)
        sent.append(name)
    except OSError as error:
        print(name, error)
print(json.dumps(sent))
"""
_TRIES = """
import fcntl, json, os, socket, struct
where = json.loads(os.environ["WHERE"])
interface = os.environ["INTERFACE"].encode()
ends = {}

def attempt(name, kind, address, source="", data=None, family=socket.AF_INET):
    try:
        with socket.socket(family, kind) as sock:
            sock.settimeout(0.7)
            if source:
                sock.bind((source, 0))
            sock.connect(address)
            if data:
                sock.send(data)
                sock.recv(1)
            ends[name] = "REACHED"
    except OSError as error:
        ends[name] = type(error).__name__

def routed(through):
    # SIOCADDRT: a route to everything, by the host
    def addr(text):
        return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(text))
    entry = bytes(8) + addr("0.0.0.0") + addr(through) + addr("0.0.0.0") + struct.pack("=H", 3)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, 0x890B, entry + bytes(120 - len(entry)))

def alias(label, address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        packed = struct.pack("=H2x4s8x", socket.AF_INET, socket.inet_aton(address))
        fcntl.ioctl(sock, 0x8916, struct.pack("16s", label) + packed + bytes(8))

tcp, udp = socket.SOCK_STREAM, socket.SOCK_DGRAM
attempt("beyond, without a route", tcp, (where["beyond"], 443))
routed(where["host"])
host, port, beyond = where["host"], where["port"], where["beyond"]
attempt("beyond", tcp, (beyond, 443))
attempt("another port", tcp, (host, 22))
attempt("the host's other address", tcp, (where["host_other"], port))
attempt("a sibling", tcp, (where["sibling"], 22))
attempt("a sibling's host", tcp, (where["sibling_host"], port))
attempt("DNS", udp, (host, 53), data=b"\\0" * 12)
attempt("DNS beyond", udp, (beyond, 53), data=b"\\0" * 12)
attempt("metadata of a cloud", tcp, ("169.254.169.253", 80))
alias(interface + b":1", where["sibling"])
attempt("as a sibling", tcp, (host, port), source=where["sibling"])
alias(interface + b":2", "198.51.100.77")
attempt("as somebody of the host's network", tcp, (host, port), source="198.51.100.77")
attempt("IPv6", tcp, ("fe80::1", port, 0, socket.if_nametoindex(interface.decode())),
        family=socket.AF_INET6)
attempt("the broker", tcp, (host, port))
print(json.dumps(ends))
"""
_FACTS = """
import os, socket
host, _, port = os.environ["SANDBOX_BROKER"].partition(":")
socket.create_connection((host, int(port)), 30).close()
(name,) = set(os.listdir("/sys/class/net")) - {"lo"}
(line,) = [line.split() for line in open("/proc/net/arp") if line.startswith(host + " ")]
print(name, open(f"/sys/class/net/{name}/address").read().strip(), line[3])
"""


@pytest.fixture(scope="module")
def node(base_template: str) -> Iterator[Locked]:
    pools = [{"template": base_template, "net": "egress", "warm": 0, "waiting": 0}]
    with locked(pools=pools) as made:
        yield made


@pytest.fixture(scope="module")
def guests(node: Locked) -> Iterator[tuple[Any, Any]]:
    made = node.node.create(), node.node.create()
    yield made
    for each in made:
        node.node.destroy(each.sandbox.id)


@pytest.fixture
def watched(node: Locked, guests: tuple[Any, Any]) -> Iterator[list[Capture]]:
    """Every interface but the attacker's own, and the far end of the cable."""
    own = tap_of(node, guests[0])
    names = [
        line.split()[0].partition("@")[0] for line in ip("-br", "link", ns=node.ns).splitlines()
    ]
    captures = [Capture(node.ns, name) for name in names if name != own]
    captures.append(Capture(node.world, "down0"))
    assert {each.interface for each in captures} >= {"lo", "up0", "down0"}
    assert len(captures) == 4  # and the sibling's tap
    yield captures
    for each in captures:
        each.close()


@pytest.fixture
def listeners(node: Locked) -> Iterator[list[socket.socket]]:
    """What nobody may come to."""
    made = [within(node.ns, partial(_listener, kind, port)) for kind, port in _AWAITED]
    yield made
    for each in made:
        each.close()


_AWAITED = [(socket.SOCK_STREAM, 22), (socket.SOCK_STREAM, PORT + 1), (socket.SOCK_DGRAM, 53)]


def _listener(kind: socket.SocketKind, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, kind)
    sock.bind(("0.0.0.0", port))
    if kind is socket.SOCK_STREAM:
        sock.listen()
    return sock


def tap_of(node: Locked, guest: Any) -> str:
    """Whose address the host has the other end of."""
    address = ip_address(node.address(guest.sandbox.id))
    lines = [line.split() for line in ip("-br", "addr", ns=node.ns).splitlines()]
    (found,) = [
        words[0]
        for words in lines
        if words[0].startswith("sbx") and address in ip_interface(words[2]).network
    ]
    return found


def where(node: Locked, guests: tuple[Any, Any]) -> tuple[str, packets.Where]:
    own, sibling = (node.address(each.sandbox.id) for each in guests)
    facts = node.python(guests[0].sandbox.id, _FACTS).split()
    return facts[0], packets.Where(
        mac=facts[1], host_mac=facts[2], guest=own, host=before(own), port=PORT,
        sibling=sibling, sibling_host=before(sibling), host_other=NODE, beyond=WORLD,
    )  # fmt: skip


def before(address: str) -> str:
    head, _, last = address.rpartition(".")
    return f"{head}.{int(last) - 1}"


def environment(name: str, at: packets.Where) -> str:
    fields = {key: getattr(at, key) for key in at.__dataclass_fields__}
    text = json.dumps(json.dumps(fields))
    return f"import os; os.environ.update(INTERFACE={name!r}, WHERE={text})\n"


def test_no_frame_of_a_guest_that_forges_them_gets_anywhere(
    node: Locked,
    guests: tuple[Any, Any],
    watched: list[Capture],
    listeners: list[socket.socket],
) -> None:
    name, at = where(node, guests)
    seen(watched)
    source = Path(packets.__file__).read_text()
    program = environment(name, at) + _SENDS
    out = node.python(guests[0].sandbox.id, program, source=source + "\n")
    sent = json.loads(out.splitlines()[-1])
    assert sent == [name for name in packets.hostile(at) if name in sent]
    assert len(sent) >= len(packets.hostile(at)) - 2, out  # a kernel sends no empty ones
    assert reaches_the_broker(node, guests[0])
    assert seen(watched) == []
    assert not select.select(listeners, [], [], 0)[0]


def test_no_socket_of_a_guest_that_changes_its_addresses_gets_anywhere(
    node: Locked,
    guests: tuple[Any, Any],
    watched: list[Capture],
    listeners: list[socket.socket],
) -> None:
    name, at = where(node, guests)
    seen(watched)
    out = node.python(guests[0].sandbox.id, environment(name, at) + _TRIES)
    ends = json.loads(out.splitlines()[-1])
    assert ends.pop("the broker") == "REACHED"
    assert {what: end for what, end in ends.items() if end == "REACHED"} == {}, out
    assert len(ends) == 12
    assert seen(watched) == []
    assert not select.select(listeners, [], [], 0)[0]


def test_what_the_broker_sends_for_a_guest_would_have_been_seen(
    node: Locked, guests: tuple[Any, Any], watched: list[Capture]
) -> None:
    seen(watched)
    get = "import urllib.request as u; print(u.urlopen('http://api.example/').read().decode())"
    assert node.python(guests[1].sandbox.id, get) == "hello"
    assert {interface for interface, _ in seen(watched)} >= {"up0", "down0"}


def seen(captures: list[Capture]) -> list[tuple[str, bytes]]:
    """What passed since this was last asked."""
    return [(each.interface, frame) for each in captures for frame in each.frames()]


def reaches_the_broker(node: Locked, guest: Any) -> bool:
    """Also proof that what was sent before has been judged: a link keeps order."""
    return bool(node.python(guest.sandbox.id, _FACTS))
