"""One connection: kept, pipelined, refused, hung up on, and asked for too much."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.node.world import TINY, World
from tests.support.node import ROOT
from tests.support.wait import until

Make = Callable[..., World]
BEARER = f"Authorization: Bearer {ROOT}\r\n"


def post(path: str, body: bytes, *, token: str = ROOT, more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def get(path: str, *, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n{BEARER}{more}\r\n".encode()


class Replies:
    """The answers on one connection, in order."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rb")

    def next(self, *, head_only: bool = False) -> tuple[int, dict[str, str], bytes]:
        status = int(self._file.readline().split()[1])
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        size = 0 if head_only else int(headers.get("content-length", "0"))
        return status, headers, self._file.read(size)

    def ended(self) -> bool:
        return self._file.read(1) == b""

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def wire(node: World) -> Any:
    with node.connect() as connection:
        replies = Replies(connection)
        yield connection, replies
        replies.close()


def test_requests_written_at_once_are_answered_in_order(node: World, wire: Any) -> None:
    connection, replies = wire
    connection.sendall(get("/healthz") + get("/v1/nothing") + get("/v1/peers") + get("/healthz"))
    answers = [replies.next() for _ in range(4)]
    assert [(status, body) for status, _, body in answers] == [
        (200, b"ok"),
        (404, b'{"error":"no such path: /v1/nothing"}'),
        (200, b'{"peers":[]}'),
        (200, b"ok"),
    ]


def test_a_request_behind_one_that_waits_is_answered_after_it(
    node: World, claim: Any, wire: Any
) -> None:
    connection, replies = wire
    path = f"/v1/sandboxes/{claim['id']}/exec"
    connection.sendall(
        post(path, b'{"argv":["flood","300000"]}', token=claim["token"]) + get("/healthz")
    )
    assert len(json.loads(replies.next()[2])["stdout"]) == 300_000
    assert replies.next()[2] == b"ok"


def test_a_request_cut_at_every_byte(node: World, wire: Any) -> None:
    connection, replies = wire
    for byte in post("/v1/drain", b"{}"):
        connection.sendall(bytes([byte]))
    assert replies.next()[0] == 200
    assert node.request("DELETE", "/v1/drain").status == 200


def test_a_head_request_gets_the_head(node: World, wire: Any) -> None:
    connection, replies = wire
    connection.sendall(b"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + get("/healthz"))
    status, headers, _ = replies.next(head_only=True)
    assert (status, headers["content-length"]) == (200, "2")
    assert replies.next()[2] == b"ok"


def test_close_is_closed_and_an_old_client_is_too(node: World) -> None:
    for head in (b"HTTP/1.1\r\nConnection: close\r\n", b"HTTP/1.0\r\n"):
        with node.connect() as connection:
            replies = Replies(connection)
            connection.sendall(b"GET /healthz " + head + b"\r\n")
            status, headers, _ = replies.next()
            assert (status, headers["connection"]) == (200, "close")
            assert replies.ended()
            replies.close()


def test_a_client_that_asks_first_is_told_to_go_on(node: World, wire: Any) -> None:
    connection, replies = wire
    request = post("/v1/claim", b"{}", more="Expect: 100-continue\r\n")
    connection.sendall(request[:-2])
    assert replies.next(head_only=True)[0] == 100
    connection.sendall(request[-2:])
    assert replies.next()[0] == 400


def test_an_upgrade_this_api_does_not_know_is_ignored(node: World, wire: Any) -> None:
    connection, replies = wire
    more = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"
    connection.sendall(get("/v1/peers", more=more) + post("/v1/renew", b"{}", more=more))
    assert [replies.next()[0], replies.next()[0]] == [200, 404]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_answered_though_it_goes_on(
    node: World, wire: Any, chunked: bool
) -> None:
    connection, replies = wire
    head = f"POST /v1/claim HTTP/1.1\r\nHost: x\r\n{BEARER}"
    size = 3 << 20
    if chunked:
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n".encode())
    else:
        connection.sendall(f"{head}Content-Length: {size}\r\n\r\n".encode())
    connection.sendall(bytes(size))  # all of it is read, so that the answer is not lost
    status, headers, body = replies.next()
    assert (status, body) == (400, b'{"error":"invalid request body"}')
    assert headers["connection"] == "close"
    assert replies.ended()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: " + b"a" * (40 << 10), 431),
        (b"GET / HTTP/3.0\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_is_refused_and_closed(
    node: World, wire: Any, sent: bytes, status: int
) -> None:
    connection, replies = wire
    connection.sendall(sent)
    assert replies.next()[0] == status
    assert replies.ended()


def test_a_client_that_never_reads_is_not_served_for_ever(node: World, wire: Any) -> None:
    """Its answers fill the socket; then its requests wait where they are."""
    connection, replies = wire
    connection.settimeout(0.5)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < (64 << 20):
            sent += connection.send(get("/metrics") * 64)
    assert sent < (64 << 20)
    connection.settimeout(30)
    assert replies.next()[0] == 200


@pytest.mark.parametrize("stage", ["connected", "half a head", "half a body"])
def test_a_client_that_leaves_early_leaves_nothing(node: World, stage: str) -> None:
    request = post("/v1/claim", json.dumps(TINY).encode())
    sent = {"connected": b"", "half a head": request[:40], "half a body": request[:-4]}[stage]
    with node.connect() as connection:
        connection.sendall(sent)
    until(lambda: node.open_connections() == 0)
    assert node.claims() == []


def test_a_client_that_leaves_while_its_claim_waits_leaves_no_claim(make_node: Make) -> None:
    node = make_node()
    node.hold_boots()
    with node.connect() as connection:
        connection.sendall(post("/v1/claim", json.dumps(TINY).encode()))
        until(lambda: node.driver.machines)
    until(lambda: node.admission.total == 0)
    node.let_boots_go()
    assert node.claims() == []
    assert node.claim()["id"]  # what was being made for it serves the next one


def test_a_client_that_leaves_before_it_reads_the_answer_has_a_lease_all_the_same(
    make_node: Make,
) -> None:
    node = make_node()
    with node.connect() as connection:
        connection.sendall(post("/v1/claim", json.dumps(TINY | {"ttl_seconds": 5}).encode()))
        assert connection.recv(1) == b"H"
    assert len(node.claims()) == 1
    node.clock.at += 6
    node.call(node.look_at_leases())
    until(lambda: node.claims() == [])


def test_a_client_that_leaves_during_exec_kills_the_command(node: World, claim: Any) -> None:
    guest = node.machine(claim).guest
    path = f"/v1/sandboxes/{claim['id']}/exec"
    with node.connect() as connection:
        connection.sendall(post(path, b'{"argv":["forever"]}', token=claim["token"]))
        until(lambda: guest.calls)
    until(lambda: guest.killed == ["forever"])


def test_a_client_that_leaves_while_its_port_is_opened(node: World, claim: Any) -> None:
    head = f"GET /v1/sandboxes/{claim['id']}/ports/9 HTTP/1.1\r\nUpgrade: tcp\r\n"
    with node.connect() as connection:
        connection.sendall(f"{head}Authorization: Bearer {claim['token']}\r\n\r\n".encode())
    until(lambda: node.holds(claim) == 0)


def test_a_stopping_door_ends_relays_and_lets_requests_be_answered(make_node: Make) -> None:
    node = make_node()
    relay = node.upgrade(node.claim())
    node.hold_boots()
    stopping = threading.Thread(target=node.stop)
    with node.connect() as connection, node.connect() as idle:
        replies = Replies(connection)
        connection.sendall(post("/v1/claim", json.dumps(TINY | {"template": "other"}).encode()))
        until(lambda: node.admission.total == 2)
        stopping.start()
        assert relay.read() == b""
        assert idle.recv(1) == b""
        node.let_boots_go()
        status, headers, body = replies.next()
        assert (status, headers["connection"]) == (200, "close")
        assert json.loads(body)["token"]
        assert replies.ended()
        replies.close()
    relay.close()
    stopping.join()
