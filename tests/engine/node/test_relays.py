"""Relays: order, pace, halves that close, and every way one can end."""

from __future__ import annotations

import base64
import json
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from tests.engine.node.world import World
from tests.support.node import ROOT, Relay
from tests.support.wait import until

MIB = 1 << 20


@pytest.fixture
def relay(node: World, claim: Any) -> Iterator[Relay]:
    made = node.upgrade(claim)
    assert made.status == 101
    yield made
    made.close()


def line(op: str, **fields: Any) -> bytes:
    return json.dumps({"v": 1, "op": op, **fields}, separators=(",", ":")).encode() + b"\n"


def bulk(op: str, body: bytes) -> bytes:
    return b'{"v":1,"op":"%s","data":"%s"}\n' % (op.encode(), base64.b64encode(body))


# -- calls -------------------------------------------------------------------------


@pytest.mark.parametrize("connection", ["Connection: Upgrade\r\n", ""])
def test_the_switch_names_the_protocol(node: World, claim: Any, connection: str) -> None:
    with node.connect() as wire:
        head = f"GET /v1/sandboxes/{claim['id']}/agent HTTP/1.1\r\n{connection}Upgrade: silkd\r\n"
        wire.sendall(f"{head}Authorization: Bearer {claim['token']}\r\n\r\n".encode())
        made = Relay(wire)
        assert (made.status, made.headers) == (101, {"connection": "Upgrade", "upgrade": "silkd"})
        made.close()


def test_frames_sent_ahead_of_the_switch_arrive_in_order(node: World, claim: Any) -> None:
    early = line("info") + b"".join(line("fs_stat", path=str(n)) for n in range(50))
    made = node.upgrade(claim, early=early)
    assert made.frame()["type"] == "info"
    assert [made.frame()["info"]["path"] for _ in range(50)] == [str(n) for n in range(50)]
    made.close()


def test_frames_ahead_of_a_refused_switch_are_not_read_as_requests(node: World) -> None:
    with node.connect() as wire:
        wire.sendall(
            b"GET /v1/sandboxes/sb_0/agent HTTP/1.1\r\nUpgrade: silkd\r\nConnection: Upgrade\r\n"
            b"Authorization: Bearer x\r\n\r\n" + line("info")
        )
        made = Relay(wire)
        assert made.status == 404
        made.close()


def test_calls_run_back_to_back(relay: Relay) -> None:
    for number in range(20):
        relay.send(op="exec", argv=["echo", str(number)])
        relay.send(op="stdin_close")
        assert relay.frame() == {"type": "started", "pid": 7}
        expected = base64.b64encode(b"%d\n" % number)
        assert relay.line() == b'{"type":"stdout","data":"%s"}\n' % expected
        assert relay.frame() == {"type": "exit", "code": 0}


def test_a_connection_kept_after_other_requests_can_still_become_a_relay(
    node: World, claim: Any
) -> None:
    with node.connect() as wire:
        head = f"GET /v1/sandboxes/{claim['id']}/agent HTTP/1.1\r\nUpgrade: silkd\r\n"
        wire.sendall(
            b"GET /healthz HTTP/1.1\r\n\r\n"
            + f"{head}Authorization: Bearer {claim['token']}\r\n\r\n".encode()
            + line("info")
        )
        data = b""
        while not data.endswith(b'"sessions":0}\n'):
            data += wire.recv(65536)
    answer, _, rest = data.partition(b"HTTP/1.1 101")
    assert answer.endswith(b"\r\n\r\nok")
    assert rest.splitlines()[-1].startswith(b'{"type":"info"')


def test_a_frame_cut_at_every_byte(relay: Relay) -> None:
    frames = line("exec", argv=["cat"]) + bulk("stdin", b"in pieces") + line("stdin_close")
    for byte in frames:
        relay.socket.sendall(bytes([byte]))
    assert relay.frame()["type"] == "started"
    assert base64.b64decode(relay.frame()["data"]) == b"in pieces"
    assert relay.frame() == {"type": "exit", "code": 0}


def test_what_is_no_frame_is_answered_in_its_turn_and_the_relay_goes_on(relay: Relay) -> None:
    relay.socket.sendall(line("fs_stat", path="a") + b'{"op":"dance"}\n' + line("info"))
    assert relay.frame()["type"] == "stat"
    assert relay.frame()["kind"] == "bad_request"
    assert relay.frame()["type"] == "info"


def test_a_frame_of_8_mib_passes(node: World, claim: Any, relay: Relay) -> None:
    head, tail = b'{"v":1,"op":"data","data":"', b'"}\n'
    room = (8 * MIB - len(head) - len(tail)) // 4 * 4
    relay.send(op="fs_push", dest="/x")
    relay.socket.sendall(head + b"A" * room + tail + line("data_end"))
    assert relay.frame() == {"type": "done", "size": room // 4 * 3}


def test_a_frame_of_8_mib_and_a_byte_ends_the_relay_with_words(relay: Relay) -> None:
    data = b"x" * (8 * MIB) + b"\n"
    sender = threading.Thread(target=_send_what_it_takes, args=(relay.socket, data))
    sender.start()
    assert relay.frame()["kind"] == "bad_request"
    assert relay.read() == b""
    sender.join()


def _send_what_it_takes(connection: socket.socket, data: bytes) -> None:
    with suppress(OSError):  # the other end had read enough
        connection.sendall(data)


def test_two_thousand_calls_pipelined(relay: Relay) -> None:
    frames = b"".join(line("fs_stat", path=str(n)) for n in range(2000))
    sender = threading.Thread(target=relay.socket.sendall, args=(frames,))
    sender.start()
    assert [relay.frame()["info"]["path"] for _ in range(2000)] == [str(n) for n in range(2000)]
    sender.join()


# -- pace --------------------------------------------------------------------------


def test_a_pull_is_whole_and_costs_a_window(node: World, claim: Any, relay: Relay) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    relay.send(op="fs_pull", path=str(64 * MIB))
    size = 0
    while (frame := relay.line()) != b'{"type":"done"}\n':
        size += (len(frame) - len(b'{"type":"data","data":""}\n')) // 4 * 3 - frame.count(b"=")
    assert size == 64 * MIB
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 16 << 10


def test_a_client_that_does_not_read_stops_the_guest(node: World, claim: Any) -> None:
    with node.connect() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        head = f"GET /v1/sandboxes/{claim['id']}/agent HTTP/1.1\r\nUpgrade: silkd\r\n"
        wire.sendall(f"{head}Authorization: Bearer {claim['token']}\r\n\r\n".encode())
        wire.sendall(line("fs_pull", path=str(256 * MIB)))
        guest = node.machine(claim).guest
        until(lambda: guest.streams)
        (stream,) = guest.streams.values()
        sent = -1
        while stream.bytes_out != sent:  # until it has come to rest
            sent = stream.bytes_out
            node.settle()
        assert sent < 16 * MIB
        other = node.upgrade(claim, early=line("info"))  # its neighbours go on
        assert other.frame()["type"] == "info"
        other.close()


def test_a_guest_that_does_not_read_stops_the_client(node: World, claim: Any) -> None:
    made = node.upgrade(claim, early=line("fs_push", dest="never"))
    made.socket.settimeout(1)
    frame, sent = bulk("data", bytes(MIB)), 0
    with pytest.raises(TimeoutError):
        while sent < 64 * MIB:
            made.socket.sendall(frame)
            sent += len(frame)
    assert sent < 32 * MIB
    other = node.upgrade(claim, early=line("info"))
    assert other.frame()["type"] == "info"
    other.close()
    made.close()


# -- ends --------------------------------------------------------------------------


def test_a_client_that_leaves_ends_its_call(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    half = node.upgrade(claim, early=line("fs_watch", path="half"))
    assert half.frame()["type"] == "ready"
    half.shut()
    assert half.read() == b""
    half.close()
    whole = node.upgrade(claim, early=line("fs_watch", path="whole"))
    assert whole.frame()["type"] == "ready"
    whole.close()
    until(lambda: guest.killed == ["fs_watch half", "fs_watch whole"])
    until(lambda: node.holds(claim) == 0)


def test_a_silent_command_dies_with_its_client(node: World, claim: Any) -> None:
    """Also where the guest takes the client's end for no more than the end of the input."""
    guest = node.machine(claim).guest
    made = node.upgrade(claim, early=line("exec", argv=["stubborn"]))
    assert made.frame()["type"] == "started"
    made.close()
    until(lambda: guest.killed == ["stubborn"])


def test_a_client_that_leaves_mid_push_ends_the_push(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    made = node.upgrade(claim, early=line("fs_push", dest="/x") + bulk("data", bytes(MIB)))
    made.close()
    until(lambda: guest.killed == ["fs_push"])


def test_requests_sent_before_the_half_close_are_answered(node: World, claim: Any) -> None:
    made = node.upgrade(claim, early=b"".join(line("fs_stat", path=str(n)) for n in range(9)))
    made.shut()
    assert len(made.read().splitlines()) == 9
    made.close()


@pytest.mark.parametrize("call", [line("info"), line("exec", argv=["forever"]), line("fs_push")])
def test_a_guest_that_dies_ends_the_relay(node: World, call: bytes) -> None:
    claim = node.claim()
    made = node.upgrade(claim, early=call)
    assert call == line("fs_push") or made.line()
    node.kill_machine(claim)
    assert made.read() == b""
    made.close()
    refused = node.upgrade(claim)
    assert refused.status == 409
    refused.close()
    node.release(claim)


def test_a_release_ends_the_relay(node: World) -> None:
    claim = node.claim()
    made = node.upgrade(claim, early=line("fs_watch", path="x"))
    assert made.frame()["type"] == "ready"
    node.release(claim)
    assert made.read() == b""
    made.close()


def test_a_relay_holds_the_idle_clock_and_the_last_one_starts_it_again(
    node: World, claim: Any
) -> None:
    assert node.holds(claim) == 0
    first, second = node.upgrade(claim), node.upgrade(claim)
    assert node.holds(claim) == 2
    first.close()
    until(lambda: node.holds(claim) == 1)
    node.clock.at += 100
    assert node.idle_s(claim) == 0
    second.close()
    until(lambda: node.holds(claim) == 0)
    node.clock.at += 5
    assert node.idle_s(claim) == 5


# -- ports -------------------------------------------------------------------------


@contextmanager
def listener() -> Iterator[socket.socket]:
    """What listens in the "guest"."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


@pytest.fixture
def port(node: World, claim: Any) -> Iterator[tuple[Relay, socket.socket]]:
    """A port relay, and the guest's end of it."""
    with listener() as server:
        made = node.upgrade(claim, f"ports/{server.getsockname()[1]}", early=b"early ")
        accepted, _ = server.accept()
        assert (made.status, made.headers["upgrade"]) == (101, "tcp")
        with accepted:
            yield made, accepted
        made.close()


def read_to_end(connection: socket.socket) -> bytes:
    data = b""
    while piece := connection.recv(65536):
        data += piece
    return data


def test_bytes_pass_unread_both_ways(port: tuple[Relay, socket.socket]) -> None:
    made, guest = port
    made.socket.sendall(bytes(range(256)))
    guest.sendall(b'{"type":"done"}\n' + bytes(range(256)))
    assert made.read(272) == b'{"type":"done"}\n' + bytes(range(256))
    made.shut()
    assert read_to_end(guest) == b"early " + bytes(range(256))


def test_the_clients_half_close_leaves_the_guests_direction_open(
    port: tuple[Relay, socket.socket],
) -> None:
    made, guest = port
    made.shut()
    assert read_to_end(guest) == b"early "
    guest.sendall(b"still here")
    guest.shutdown(socket.SHUT_WR)
    assert made.read() == b"still here"


def test_the_guests_half_close_leaves_the_clients_direction_open(
    port: tuple[Relay, socket.socket],
) -> None:
    made, guest = port
    guest.sendall(b"bye")
    guest.shutdown(socket.SHUT_WR)
    assert made.read() == b"bye"
    made.socket.sendall(b"not yet")
    made.shut()
    assert read_to_end(guest) == b"early not yet"


def test_much_data_both_ways_at_once(port: tuple[Relay, socket.socket]) -> None:
    made, guest = port
    size = 8 * MIB
    senders = [
        threading.Thread(target=made.socket.sendall, args=(bytes(size),)),
        threading.Thread(target=guest.sendall, args=(bytes(size),)),
    ]
    for sender in senders:
        sender.start()
    got = threading.Thread(target=lambda: made.read(size))
    got.start()
    left = size + len(b"early ")
    while left:
        left -= len(guest.recv(65536))
    for thread in (*senders, got):
        thread.join()


def test_the_root_token_is_passive_on_a_port(node: World, claim: Any) -> None:
    node.clock.at += 50
    before = node.idle_s(claim)
    with listener() as server:
        made = node.upgrade(claim, f"ports/{server.getsockname()[1]}", token=ROOT)
        accepted, _ = server.accept()
        assert (made.status, node.holds(claim)) == (101, 1)
        accepted.close()
        made.close()
    until(lambda: node.holds(claim) == 0)
    assert node.idle_s(claim) == before


@pytest.mark.parametrize(("token", "status"), [("own", 409), (ROOT, 409)])
def test_a_paused_sandbox_is_not_reached(node: World, claim: Any, token: str, status: int) -> None:
    node.pause(claim)
    refused = node.upgrade(claim, "ports/9", token=claim["token"] if token == "own" else ROOT)
    assert refused.status == status
    refused.close()


def test_a_guest_that_dies_ends_a_port_relay(node: World) -> None:
    claim = node.claim()
    with listener() as server:
        made = node.upgrade(claim, f"ports/{server.getsockname()[1]}")
        accepted, _ = server.accept()
        node.kill_machine(claim)
        assert made.read() == b""
        accepted.close()
        made.close()
    node.release(claim)
