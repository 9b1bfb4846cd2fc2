"""The stream doors: identity by the channel, CONNECT and absolute-form, and SOCKS5."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

import pytest
from google.protobuf.duration_pb2 import Duration

from tests.broker.world import TOKEN, Wire, World, rule
from tests.support.wait import until


@pytest.fixture
def mail() -> Iterator[int]:
    """A server that speaks first, like IMAP, and answers lines."""
    server = socket.create_server(("127.0.0.1", 0))

    def talk(sock: socket.socket) -> None:
        with sock, contextlib.suppress(OSError):
            sock.sendall(b"* OK ready\r\n")
            while line := sock.recv(1000):
                sock.sendall(b"a OK " + line)
            sock.sendall(b"* BYE\r\n")

    def serve() -> None:
        while True:
            try:
                sock, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(sock,), daemon=True).start()

    thread = threading.Thread(target=serve)
    thread.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


def exactly(wire: Wire, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := wire.sock.recv(size - len(data))):
        data += piece
    return data


def socks(wire: Wire, address: bytes, port: int, command: int = 1) -> int:
    wire.send(b"\x05\x02\x00\x02")
    assert exactly(wire, 2) == b"\x05\x00"
    wire.send(bytes((5, command, 0)) + address + struct.pack("!H", port))
    return exactly(wire, 10)[1]


def name(text: str) -> bytes:
    return bytes((3, len(text))) + text.encode()


def test_a_door_needs_no_token_and_says_who_asks(world: World) -> None:
    with world.broker.door("sb_one") as wire:
        answer = wire.ask(f"GET http://api.example:{world.port}/ HTTP/1.1\nHost: x")
        assert answer.status == 200
    assert world.upstream.seen[0].values("authorization") == ["Bearer credential-of-api"]


def test_a_door_tunnels(world: World) -> None:
    with world.broker.door("sb_one") as wire:
        assert wire.ask(f"CONNECT index.example:{world.port} HTTP/1.1\nHost: x").status == 200
        wire.start_tls(world.root, "index.example")
        assert wire.ask("GET / HTTP/1.1\nHost: index.example").status == 200


def test_a_token_in_a_door_is_not_looked_at_and_goes_no_further(world: World) -> None:
    with world.broker.door("sb_two") as wire:
        answer = wire.ask(
            f"GET http://index.example:{world.port}/ HTTP/1.1\nHost: x\nX-Sandbox-Token: {TOKEN}"
        )
        assert answer.status == 403


def test_an_origin_form_request_is_none_for_a_door(world: World) -> None:
    with world.broker.door("sb_one") as wire:
        assert wire.ask("GET / HTTP/1.1\nHost: api.example").status == 400


def test_an_unknown_sandbox_gets_401_and_is_not_asked_for_a_password(world: World) -> None:
    with world.broker.door("sb_gone") as wire:
        answer = wire.ask("GET http://api.example/ HTTP/1.1\nHost: x")
        assert (answer.status, answer.getheader("Proxy-Authenticate")) == (401, None)
    with world.broker.door("sb_gone", "socks5") as wire:
        assert socks(wire, name("api.example"), 443) == 2


@pytest.mark.parametrize("line", [b"x\n", b"SANDBOX/2 sb_one proxy\n", b"SANDBOX/1 a b c\n"])
def test_a_preamble_that_is_none_is_closed_without_an_answer(world: World, line: bytes) -> None:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(60)
    made.connect(str(world.broker.doors))
    with Wire(made) as wire:
        wire.send(line + b"GET http://api.example/ HTTP/1.1\r\n\r\n")
        assert wire.read_all() == b""


def test_a_guest_of_another_link_is_closed_by_the_second_lock() -> None:
    from sandbox_broker.service import _own_link

    class Ends:
        def __init__(self, local: str, peer: str) -> None:
            self.ends = {"sockname": (local, 1), "peername": (peer, 2)}

        def info(self, which: str) -> object:
            return self.ends[which]

    assert _own_link(Ends("169.254.8.1", "169.254.8.2"))  # type: ignore[arg-type]  # its ends are all that is asked
    assert not _own_link(Ends("169.254.8.1", "169.254.8.6"))  # type: ignore[arg-type]  # the same
    assert not _own_link(Ends("169.254.8.5", "169.254.8.2"))  # type: ignore[arg-type]  # the same
    assert not _own_link(Ends("169.254.8.1", "10.0.0.1"))  # type: ignore[arg-type]  # the same
    assert _own_link(Ends("127.0.0.1", "127.0.0.1"))  # type: ignore[arg-type]  # no guest's link


def test_socks_relays_a_server_that_speaks_first_and_half_closes(world: World, mail: int) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("index.example", mail))
    with world.broker.door("sb_one", "socks5") as wire:
        assert socks(wire, name("index.example"), mail) == 0
        assert exactly(wire, 12) == b"* OK ready\r\n"
        wire.send(b"LOGIN\r\n")
        assert exactly(wire, 12) == b"a OK LOGIN\r\n"
        wire.sock.shutdown(socket.SHUT_WR)
        assert wire.read_all() == b"* BYE\r\n"
    line = world.broker.wait_for_line(lambda each: each.get("port") == mail)
    assert (line["sandbox_id"], line["sent_bytes"]) == ("sb_one", 7)


def test_socks_names_resolve_on_the_host_and_literals_are_judged_too(world: World) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("10.0.0.9"), rule("fd00::9"))
    for address in (
        b"\x01" + socket.inet_aton("10.0.0.9"),
        b"\x04" + socket.inet_pton(socket.AF_INET6, "fd00::9"),
    ):
        with world.broker.door("sb_one", "socks5") as wire:
            assert socks(wire, address, 25) == 2
    line = world.broker.wait_for_line(lambda each: each.get("host") == "fd00::9")
    assert line["decision"] == "denied_address"


def test_socks_denials_and_what_it_does_not_serve(world: World) -> None:
    expected = [
        (name("elsewhere.example"), 1, 2),
        (name("index.example"), 2, 7),
        (name("index.example"), 3, 7),
        (name("bad host"), 1, 8),
    ]
    for address, command, reply in expected:
        with world.broker.door("sb_one", "socks5") as wire:
            assert socks(wire, address, world.port, command) == reply
    with world.broker.door("sb_one", "socks5") as wire:
        wire.send(b"\x05\x01\x02")
        assert exactly(wire, 2) == b"\x05\xff"
    with world.broker.door("sb_one", "socks5") as wire:
        assert wire.send(b"\x04\x01\x00\x50").read_all() == b""


def test_a_tunnel_with_another_name_in_its_handshake_is_ended(world: World) -> None:
    import ssl

    with world.broker.door("sb_one") as wire:
        assert wire.ask(f"CONNECT index.example:{world.port} HTTP/1.1\nHost: x").status == 200
        with pytest.raises((ssl.SSLError, ConnectionError)):
            wire.start_tls(world.root, "open.example")
    line = world.broker.wait_for_line(lambda each: "handshake" in each.get("reason", ""))
    assert line["decision"] == "denied_policy"


def test_a_destroyed_sandbox_s_tunnels_end_and_its_cached_answer_is_dropped(
    world: World, mail: int
) -> None:
    kept = Duration(seconds=30)
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), max_age=kept)
    world.engine.grant("f" * 64, "sb_stays", rule("index.example"), max_age=kept)
    wires = []
    for who in ("sb_one", "sb_stays"):
        wire = world.broker.door(who, "socks5")
        assert socks(wire, name("index.example"), mail) == 0
        assert exactly(wire, 12) == b"* OK ready\r\n"
        wires.append(wire)
    del world.engine.by_sandbox["sb_one"]
    world.engine.revoke("sb_one")
    assert wires[0].read_all() == b""
    wires[1].send(b"x\r\n")
    assert exactly(wires[1], 8) == b"a OK x\r\n"
    with world.broker.door("sb_one") as wire:
        assert wire.ask("GET http://index.example/ HTTP/1.1\nHost: x").status == 401
    for wire in wires:
        wire.sock.close()


def test_an_answer_is_kept_for_its_age_and_asked_for_anew_once_revoked(world: World) -> None:
    world.engine.grant("9" * 64, "sb_kept", rule("index.example"), max_age=Duration(seconds=30))

    def asked() -> int:
        with world.broker.door("sb_kept") as wire:
            wire.ask(f"GET http://index.example:{world.port}/ HTTP/1.1\nHost: x").read()
        return sum(each.sandbox_id == "sb_kept" for each in world.engine.asked)

    assert (asked(), asked()) == (1, 1)
    world.engine.revoke("sb_kept")
    # Asked anew by the next request, and perhaps for a connection that was still closing.
    until(lambda: asked() > 1)
    count = asked()
    assert asked() == count
