"""The request shapes of seed 000 "Credential broker" and "Using it as a proxy", by real clients."""

from __future__ import annotations

from http.client import IncompleteRead

import pytest

from tests.broker.world import OTHER, TOKEN, World, basic

UNKNOWN = "c" * 64


def test_an_origin_form_request_gets_the_credential_and_loses_the_token(world: World) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"GET /v1/models?a=b HTTP/1.1\nHost: api.example:{world.port}\nX-Sandbox-Token: {TOKEN}"
        )
        assert (answer.status, answer.read()) == (200, b"hello\n")
    (seen,) = world.upstream.seen
    assert seen.target == "/v1/models?a=b"
    assert seen.values("authorization") == ["Bearer credential-of-api"]
    assert seen.values("host") == [f"api.example:{world.port}"]
    assert not seen.values("x-sandbox-token")


def test_a_guests_own_authorization_never_replaces_the_credential(world: World) -> None:
    with world.broker.dial() as wire:
        wire.ask(
            f"GET / HTTP/1.1\nHost: api.example:{world.port}\nX-Sandbox-Token: {TOKEN}\n"
            "Authorization: Bearer mine"
        ).read()
    assert world.upstream.seen[0].values("authorization") == ["Bearer credential-of-api"]


def test_an_absolute_form_request_is_upgraded_to_https_and_its_host_header_ignored(
    world: World,
) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"GET http://index.example:{world.port}/simple/ HTTP/1.1\nHost: elsewhere.example\n"
            f"Proxy-Authorization: {basic(TOKEN, 'anyone')}\nProxy-Connection: keep-alive"
        )
        assert answer.status == 200
    (seen,) = world.upstream.seen
    assert (seen.target, seen.values("host")) == ("/simple/", [f"index.example:{world.port}"])
    assert not seen.values("proxy-authorization")
    assert not seen.values("proxy-connection")


def test_connect_is_an_opaque_tunnel_with_tls_from_end_to_end(world: World) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"CONNECT index.example:{world.port} HTTP/1.1\nHost: x\n"
            f"Proxy-Authorization: {basic(TOKEN)}"
        )
        assert answer.status == 200
        wire.start_tls(world.root, "index.example")
        assert wire.ask("GET / HTTP/1.1\nHost: index.example").status == 200
    assert not world.upstream.seen[0].values("authorization")


def test_a_tunnel_is_never_opened_on_the_strength_of_the_wildcard(world: World) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"CONNECT open.example:{world.port} HTTP/1.1\nHost: x\n"
            f"Proxy-Authorization: {basic(TOKEN)}"
        )
        assert answer.status == 403
    line = world.broker.wait_for_line(lambda each: each.get("host") == "open.example")
    assert line["decision"] == "denied_unconfigured"


@pytest.mark.parametrize(
    "carrier",
    [
        "X-Other: 1",
        f"X-Sandbox-Token: {UNKNOWN}",
        "X-Sandbox-Token: short",
        f"X-Sandbox-Token: {TOKEN}\nX-Sandbox-Token: {TOKEN}",
        f"Proxy-Authorization: {basic(TOKEN)}",
    ],
)
def test_an_origin_form_request_without_a_valid_token_gets_401(world: World, carrier: str) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(f"GET / HTTP/1.1\nHost: api.example\n{carrier}")
        assert answer.status == 401
        assert not answer.getheader("Proxy-Authenticate")
    assert not world.upstream.seen


@pytest.mark.parametrize("first", ["GET http://api.example/", "CONNECT api.example:443"])
@pytest.mark.parametrize(
    "carrier",
    [
        "X-Other: 1",
        f"X-Sandbox-Token: {TOKEN}",
        f"Proxy-Authorization: {basic(UNKNOWN)}",
        f"Proxy-Authorization: Bearer {TOKEN}",
        "Proxy-Authorization: Basic ***",
        "Proxy-Authorization: Basic",
    ],
)
def test_a_proxy_style_request_without_one_gets_407_so_that_tools_ask(
    world: World, first: str, carrier: str
) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(f"{first} HTTP/1.1\nHost: x\n{carrier}")
        assert answer.status == 407
        assert answer.getheader("Proxy-Authenticate") == 'Basic realm="sandbox"'
    assert not world.upstream.seen


def test_a_destination_outside_the_policy_gets_403(world: World) -> None:
    for host, decision in (("open.example", "denied_unconfigured"), ("two", "denied_policy")):
        token = TOKEN if host == "open.example" else OTHER
        with world.broker.dial() as wire:
            answer = wire.ask(
                f"GET /{decision} HTTP/1.1\nHost: {host}:{world.port}\nX-Sandbox-Token: {token}"
            )
            assert answer.status == 403
        line = world.broker.wait_for_line(lambda each, h=host: each.get("host") == h)
        assert (line["decision"], line["status"]) == (decision, 403)
    assert not world.upstream.seen


def test_hop_by_hop_headers_and_those_that_connection_names_go_no_further(world: World) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"GET /hop HTTP/1.1\nHost: index.example:{world.port}\nProxy-Connection: x\n"
            f"X-Sandbox-Token: {TOKEN}\nConnection: X-Mine, keep-alive\nX-Mine: 1\n"
            "Keep-Alive: 5\nTE: trailers\nUpgrade: h2c\nX-End: 1\nTrailer: X"
        )
        assert answer.read() == b"ok"
        got = {name.lower() for name, _ in answer.getheaders()}
    assert {name for name, _ in world.upstream.seen[0].headers} == {"host", "x-end"}
    assert got == {"content-length", "connection", "x-end"}


def test_one_connection_carries_requests_one_after_another(world: World) -> None:
    with world.broker.dial() as wire:
        for number in range(3):
            answer = wire.ask(
                f"POST /echo HTTP/1.1\nHost: index.example:{world.port}\n"
                f"X-Sandbox-Token: {TOKEN}\nContent-Length: 1",
                str(number).encode(),
            )
            assert answer.read() == str(number).encode()
    assert len({seen.connection for seen in world.upstream.seen}) == 1


def test_pipelined_requests_are_answered_in_order(world: World) -> None:
    one = (
        f"POST /echo HTTP/1.1\r\nHost: index.example:{world.port}\r\n"
        f"X-Sandbox-Token: {TOKEN}\r\nContent-Length: 3\r\n"
    )
    with world.broker.dial() as wire:
        wire.send(f"{one}\r\none{one}Connection: close\r\n\r\ntwo")
        data = wire.read_all()
    assert data.count(b"HTTP/1.1 200") == 2
    assert data.index(b"one") < data.index(b"two")


def test_upstream_connections_are_not_shared_between_sandboxes(world: World) -> None:
    grant = world.engine.by_token[TOKEN]
    world.engine.grant("d" * 64, "sb_child", *grant.rules)
    for token in (TOKEN, "d" * 64):
        with world.broker.dial() as wire:
            wire.ask(
                f"GET / HTTP/1.1\nHost: index.example:{world.port}\nX-Sandbox-Token: {token}"
            ).read()
    first, second = world.upstream.seen
    assert first.connection != second.connection


def test_the_upstream_s_own_failures_are_502(world: World) -> None:
    for path in ("/drop", "/garbage"):
        with world.broker.dial() as wire:
            answer = wire.ask(
                f"POST {path} HTTP/1.1\nHost: index.example:{world.port}\n"
                f"X-Sandbox-Token: {TOKEN}\nContent-Length: 1",
                b"x",
            )
            assert answer.status == 502


def test_an_answer_that_breaks_off_is_seen_to_break_off(world: World) -> None:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"GET /cut HTTP/1.1\nHost: index.example:{world.port}\nX-Sandbox-Token: {TOKEN}"
        )
        with pytest.raises((ConnectionError, IncompleteRead)):
            answer.read()


def test_an_engine_that_does_not_answer_is_a_denial(world: World) -> None:
    world.engine.broken = True
    try:
        with world.broker.dial() as wire:
            answer = wire.ask(f"GET / HTTP/1.1\nHost: x\nX-Sandbox-Token: {'e' * 64}")
            assert answer.status == 502
    finally:
        world.engine.broken = False
    assert not world.upstream.seen
