"""Previews: the address, what the guest sees, what the browser sees, and every way they end."""

from __future__ import annotations

import hashlib
import http.client
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis.strategies import binary, text
from sandbox_engine.model.preview import Pass, ends_at, read, sign

from tests.engine.node.world import World, world
from tests.support.node import ROOT
from tests.support.upstream import Upstream, silent_port, upstream

PREVIEW = {"preview_listen": "127.0.0.1:0"}


@pytest.fixture(scope="module")
def site() -> Iterator[Upstream]:
    """The guest's server; the fake guest reaches the host's loopback."""
    with upstream() as server:
        yield server


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A node with a preview listener."""
    with world(tmp_path_factory.mktemp("node"), audit_log=True, **PREVIEW) as made:
        yield made


@pytest.fixture
def url(node: World, claim: Any, site: Upstream) -> str:
    """The address of the guest's server."""
    return mint(node, claim, site.port)


def mint(node: World, claim: Any, port: int, **fields: Any) -> str:
    body = {"token": claim["token"], "port": port} | fields
    answer = node.request("POST", f"/v1/sandboxes/{claim['id']}/preview", body)
    assert answer.status == 200, answer
    return str(answer.json["url"])


class Browser:
    """One connection to the preview listener."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.prefix = parts.path.rstrip("/")
        assert parts.hostname is not None
        self.http = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)

    def ask(
        self, path: str = "/", method: str = "GET", body: Any = None, **headers: str
    ) -> http.client.HTTPResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.http.request(method, self.prefix + path, body, named)
        return self.http.getresponse()

    def raw(self, data: bytes) -> socket.socket:
        """Send bytes on a connection of their own."""
        link = socket.create_connection((self.http.host, self.http.port), timeout=30)
        link.sendall(data)
        return link


@pytest.fixture
def browser(url: str) -> Iterator[Browser]:
    made = Browser(url)
    yield made
    made.http.close()


# -- passes -----------------------------------------------------------------------

KEY = b"k" * 32
WHAT = Pass("sb_1", 80, "10.0.0.5:7777", 1_790_000_000)


def test_a_pass_says_what_was_signed() -> None:
    assert read(KEY, sign(KEY, WHAT)) == WHAT
    assert read(b"another", sign(KEY, WHAT)) is None


@given(data=binary(min_size=1, max_size=8), at=text())
def test_a_pass_that_was_touched_is_none(data: bytes, at: str) -> None:
    word = sign(KEY, WHAT)
    place = sum(data) % len(word)
    touched = word[:place] + chr(ord(word[place]) ^ (1 + data[0] % 7)) + word[place + 1 :]
    assert touched == word or read(KEY, touched) is None
    assert read(KEY, at) is None


def test_the_last_letter_cannot_be_spelled_otherwise() -> None:
    word = sign(KEY, WHAT)
    spellings = [word[:-1] + letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklm="]
    body, _, mac = word.partition(".")
    spellings += [
        body + "=." + mac,
        word + "=",
        word.replace("-", "+").replace("_", "/"),
        word + ".x",
    ]
    assert not [one for one in spellings if one != word and read(KEY, one) is not None]
    assert read(KEY, "x" * 2000) is None


def test_an_address_never_outlives_the_lease() -> None:
    assert ends_at(0, 1000, None) == 4600
    assert ends_at(0, 1000, 1500) == 1500
    assert ends_at(60, 1000, 1500) == 1060
    assert ends_at(10**9, 1000, None) == 1000 + 86400


# -- minting ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"port": 0}, 400, "port: must be 1 to 65535"),
        ({"port": 65536}, 400, "port: must be 1 to 65535"),
        ({"port": "80"}, 400, "$.port"),
        ({"port": 80, "ttl_seconds": -1}, 400, "ttl_seconds"),
        ({"port": 80, "colour": 1}, 400, "colour"),
        ({"port": 80}, 404, "no sandbox"),
        ({"port": 80, "token": "wrong"}, 404, "no sandbox"),
        (b"{", 400, "invalid request body"),
    ],
)
def test_addresses_that_are_not_made(
    node: World, claim: Any, body: Any, status: int, words: str
) -> None:
    if isinstance(body, dict) and status == 400:
        body = {"token": claim["token"]} | body
    answer = node.request("POST", f"/v1/sandboxes/{claim['id']}/preview", body)
    assert answer.status == status
    assert words in answer.error


def test_who_may_make_one(node: World, claim: Any) -> None:
    path, body = f"/v1/sandboxes/{claim['id']}/preview", {"token": claim["token"], "port": 80}
    assert node.request("POST", path, body, token=None).status == 401
    assert node.request("POST", path, body, token=claim["token"]).status == 401
    assert node.request("POST", path.replace(claim["id"], "sb_0"), body).status == 404
    assert node.request("PUT", "/v1/tenants/acme", {"token": "acme-token"}).status == 204
    assert node.request("POST", path, body, token="acme-token").status == 200


def test_the_ends_of_the_ports_are_taken(node: World, claim: Any) -> None:
    for port in (1, 65535):
        assert mint(node, claim, port).endswith("/")


def test_a_node_without_a_listener_says_501(make_node: Callable[..., World]) -> None:
    node = make_node()
    claim = node.claim()
    body = {"token": claim["token"], "port": 80}
    answer = node.request("POST", f"/v1/sandboxes/{claim['id']}/preview", body)
    assert answer.status == 501
    assert "preview_listen" in answer.error


def test_the_configured_name_and_secret_are_used(tmp_path: Path) -> None:
    with world(
        tmp_path, preview_advertise="view.example:80", preview_secret="s", **PREVIEW
    ) as node:
        url = mint(node, node.claim(), 80)
        assert url.startswith("http://view.example:80/p/")
        word = url.removesuffix("/").rpartition("/")[2]
        assert read(b"s", word) is not None


# -- what the guest sees ------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]
)
def test_any_method(browser: Browser, site: Upstream, method: str) -> None:
    reply = browser.ask("/a/b?c=%2F&d", method)
    assert reply.status == 200
    assert reply.read() == (b"" if method == "HEAD" else b"hello from the guest")
    assert site.seen[-1][:2] == (method, "/a/b?c=%2F&d")


def test_the_guest_is_told_of_the_browser_and_never_sees_the_pass(
    browser: Browser, site: Upstream
) -> None:
    word = browser.prefix.rpartition("/")[2]
    reply = browser.ask(
        f"/?back={word}",
        Referer=f"http://{browser.http.host}:{browser.http.port}{browser.prefix}/page",
        X_Own=word,
        X_Forwarded_For="6.6.6.6",
        X_Forwarded_Proto="https",
        Forwarded="for=6.6.6.6",
        Connection="X-Hop",
        X_Hop="1",
        TE="trailers",
    )
    reply.read()
    _, path, headers = site.seen[-1]
    assert word not in path
    assert not [header for header in headers if word in header[1]]
    seen = {name.lower(): value for name, value in headers}
    host = f"{browser.http.host}:{browser.http.port}"
    assert seen["host"] == host
    assert seen["referer"] == f"http://{host}/page"
    assert seen["x-forwarded-for"] == "127.0.0.1"
    assert seen["x-forwarded-proto"] == "http"
    assert seen["x-forwarded-host"] == host
    assert not {"forwarded", "x-hop", "te"} & set(seen)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_upload(browser: Browser, chunked: bool) -> None:
    body = os.urandom(1 << 16) * 128
    sent = iter([body[n : n + 70_000] for n in range(0, len(body), 70_000)]) if chunked else body
    reply = browser.ask("/upload", "POST", sent)
    assert reply.read() == f"{len(body)} {hashlib.sha256(body).hexdigest()}".encode()


def test_a_large_download(browser: Browser) -> None:
    size, got = 64 << 20, 0
    reply = browser.ask(f"/download?{size}")
    while data := reply.read(1 << 16):
        got += len(data)
    assert got == size


def test_a_connection_serves_one_request_after_another(browser: Browser) -> None:
    for _ in range(3):
        assert browser.ask().read() == b"hello from the guest"
        assert browser.http.sock is not None


def test_pipelined_requests_are_answered_in_order(browser: Browser, site: Upstream) -> None:
    one = f"GET {browser.prefix}/1 HTTP/1.1\r\nHost: x\r\n\r\n"
    two = f"GET {browser.prefix}/2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    with browser.raw((one + two).encode()) as link:
        got = b"".join(iter(lambda: link.recv(1 << 16), b""))
    assert got.count(b"hello from the guest") == 2
    assert [path for _, path, _ in site.seen[-2:]] == ["/1", "/2"]


def test_a_body_without_a_length_ends_with_its_connection(browser: Browser) -> None:
    assert browser.ask("/until_close").read() == b"all there is"


def test_an_old_client_is_served(browser: Browser) -> None:
    with browser.raw(f"GET {browser.prefix}/ HTTP/1.0\r\n\r\n".encode()) as link:
        got = b"".join(iter(lambda: link.recv(1 << 16), b""))
    assert got.startswith(b"HTTP/1.1 200")
    assert got.endswith(b"hello from the guest")


def test_a_client_that_asks_first_may_go_on(browser: Browser) -> None:
    head = f"POST {browser.prefix}/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
    with browser.raw(f"{head}Expect: 100-continue\r\n\r\n".encode()) as link:
        assert link.recv(100).startswith(b"HTTP/1.1 100")
        link.sendall(b"hi")
        assert link.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_events_arrive_one_by_one_and_a_browser_that_leaves_ends_them(
    browser: Browser, site: Upstream
) -> None:
    site.left.clear()
    reply = browser.ask("/events")
    assert reply.headers["Content-Type"] == "text/event-stream"
    assert reply.readline() == b"data: one\n"
    reply.close()
    browser.http.close()
    assert site.left.wait(30)


def websocket(browser: Browser) -> socket.socket:
    link = browser.raw(
        f"GET {browser.prefix}/ws HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += link.recv(1)
    assert head.startswith(b"HTTP/1.1 101")
    assert b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head
    return link


def test_a_websocket_carries_frames_both_ways(browser: Browser, site: Upstream) -> None:
    site.left.clear()
    with websocket(browser) as link:
        for word in (b"one", b"two"):
            link.sendall(b"\x81" + bytes([0x80 | len(word)]) + bytes(4) + word)
            assert link.recv(5, socket.MSG_WAITALL) == b"\x81\x03" + word
    assert site.left.wait(30), "the guest was not told that the browser left"


# -- what the browser sees -----------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "seen"),
    [
        ("/login", "{prefix}/login"),
        ("http://{host}/x?y", "{prefix}/x?y"),
        ("http://localhost:{port}/x", "{prefix}/x"),
        ("http://127.0.0.1:{port}", "{prefix}/"),
        ("page", "page"),
        ("//elsewhere.example/", "//elsewhere.example/"),
        ("https://elsewhere.example/", "https://elsewhere.example/"),
        ("http://localhost:{port}9/x", "http://localhost:{port}9/x"),
    ],
)
def test_places_stay_below_the_prefix(
    browser: Browser, site: Upstream, told: str, seen: str
) -> None:
    host = f"{browser.http.host}:{browser.http.port}"
    words = {"host": host, "port": site.port, "prefix": browser.prefix}
    reply = browser.ask(f"/redirect?{told.format(**words)}")
    reply.read()
    assert (reply.status, reply.headers["Location"]) == (302, seen.format(**words))


def test_cookies_and_policies_stay_with_their_preview(browser: Browser) -> None:
    reply = browser.ask("/cookie")
    reply.read()
    assert reply.headers["Set-Cookie"] == f"a=b; HttpOnly; Path={browser.prefix}/sub"
    reply = browser.ask("/origin")
    reply.read()
    assert reply.headers["Referrer-Policy"] == "same-origin"
    assert not {"clear-site-data", "alt-svc"} & {name.lower() for name in reply.headers}


def test_an_address_without_its_slash_is_led_to_it(browser: Browser) -> None:
    reply = browser.ask("")
    assert (reply.status, reply.headers["Location"]) == (308, browser.prefix + "/")


def ended(link: socket.socket) -> bool:
    """Whether it ends before it says anything more; a reset is as good an end as a close."""
    with suppress(ConnectionResetError):
        return link.recv(1) == b""
    return True


# -- ends ------------------------------------------------------------------------------


def visit(url: str) -> tuple[int, str]:
    """One look at an address: status and words."""
    browser = Browser(url)
    with closing(browser.http):
        reply = browser.ask()
        return reply.status, reply.read().decode()


def page(reply: http.client.HTTPResponse) -> str:
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    return reply.read().decode()


def test_a_closed_port_has_a_page_that_says_so(node: World, claim: Any) -> None:
    sock, port = silent_port()
    with sock:
        status, words = visit(mint(node, claim, port))
    assert status == 502
    assert f"Port {port} of sandbox {claim['id']} does not answer" in words
    assert "nobody listens there" in words


def test_a_dead_machine_has_a_page_that_says_so(node: World, site: Upstream) -> None:
    claim = node.claim()
    url = mint(node, claim, site.port)
    node.kill_machine(claim)
    status, words = visit(url)
    assert status == 409
    assert "its virtual machine died" in words
    node.release(claim)


def test_a_released_sandbox_takes_its_addresses_along(node: World, site: Upstream) -> None:
    claim = node.claim()
    url = mint(node, claim, site.port)
    assert visit(url)[0] == 200
    node.release(claim)
    status, words = visit(url)
    assert status == 404
    assert "has ended" in words


def test_a_release_cuts_what_is_open(node: World, site: Upstream) -> None:
    claim = node.claim()
    with websocket(Browser(mint(node, claim, site.port))) as link:
        node.release(claim)
        assert ended(link)


def test_an_address_ends_in_time_also_for_what_is_open(node: World, site: Upstream) -> None:
    claim = node.claim()
    short = mint(node, claim, site.port, ttl_seconds=2)
    with websocket(Browser(short)) as link:
        assert ended(link)
    node.clock.at += 3
    assert visit(short)[0] == 404
    assert visit(mint(node, claim, site.port))[0] == 200
    node.release(claim)


@pytest.mark.parametrize("path", ["/", "/p", "/p/", "/p/x", "/p/x.y/", "/p//", "/v1/info"])
def test_other_addresses_are_404_or_led_on(browser: Browser, path: str) -> None:
    browser.prefix = ""
    assert browser.ask(path, Authorization=f"Bearer {ROOT}").status in (404, 308)


def test_what_is_no_http_is_400(browser: Browser) -> None:
    for data in (b"\0\0\0\0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"):
        with browser.raw(data) as link:
            assert link.recv(100).startswith(b"HTTP/1.1 400")


def test_a_body_that_breaks_off_reaches_the_guest_as_no_whole_one(
    browser: Browser, site: Upstream
) -> None:
    head = f"POST {browser.prefix}/upload HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with browser.raw(f"{head}zz\r\n".encode()) as link:
        assert link.recv(100).startswith(b"HTTP/1.1 400")


def test_a_guest_that_speaks_no_http_is_502(browser: Browser) -> None:
    reply = browser.ask("/broken")
    assert reply.status == 502
    assert "does not speak HTTP" in page(reply)


def test_half_an_answer_is_broken_off(browser: Browser) -> None:
    with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
        browser.ask("/half").read()


def test_an_early_refusal_arrives(browser: Browser) -> None:
    head = f"POST {browser.prefix}/refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    with browser.raw(head.encode() + bytes(100)) as link:
        assert link.recv(100).startswith(b"HTTP/1.1 413")


def test_an_open_preview_holds_the_idle_clock_and_a_hibernated_one_wakes(
    node: World, site: Upstream
) -> None:
    claim = node.claim()
    url = mint(node, claim, site.port)
    with websocket(Browser(url)):
        assert node.holds(claim) == 1
    deadline = time.monotonic() + 30
    while node.holds(claim):
        assert time.monotonic() < deadline
        node.settle()
    path = f"/v1/sandboxes/{claim['id']}"
    assert node.request("POST", f"{path}/hibernate").status == 204
    assert visit(url)[1] == "hello from the guest"
    assert not node.request("GET", path).json["hibernated"]
    node.release(claim)


def test_the_audit_log_says_who_was_shown_and_not_the_address(
    node: World, browser: Browser
) -> None:
    browser.ask().read()
    log = (node.folder / "audit.jsonl").read_text()
    assert '"op":"preview"' in log
    assert browser.prefix.rpartition("/")[2] not in log
