"""Credentials and host-only values: put in on the host, never shown, live on the next request."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sandbox.v1.broker_pb2 import EgressSecret
from sandbox_broker.credentials import BadCredentials, load, parse
from sandbox_broker.scrub import Replacer, forms, scrubber

from tests.broker.world import TOKEN, World, rule

VALUE = "own-secret/value+1"


def secret(**places: object) -> EgressSecret:
    return EgressSecret(name="OWN", value=VALUE, hosts=["index.example"], **places)  # type: ignore[arg-type]  # fields by name


def ask(world: World, path: str = "/mirror", body: bytes = b"") -> str:
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"POST {path} HTTP/1.1\nHost: index.example:{world.port}\nX-Sandbox-Token: {TOKEN}\n"
            f"Content-Length: {len(body)}\nAccept-Encoding: gzip\nX-Own: guest",
            body,
        )
        text = answer.read().decode()
        return f"{answer.status} {dict(answer.getheaders())} {text}"


def test_a_header_value_is_set_in_place_of_the_guests_and_scrubbed_from_the_answer(
    world: World,
) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), secrets=[secret(header="X-Own")])
    shown = ask(world)
    seen = world.upstream.seen[-1]
    assert seen.values("x-own") == [VALUE]
    assert seen.values("accept-encoding") == ["identity"]
    assert VALUE not in shown
    assert "*" * len(VALUE) in shown


def test_a_query_value_replaces_every_spelling_of_the_guests(world: World) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), secrets=[secret(query="key")])
    shown = ask(world, "/mirror?a=1&key=x&%6bey=y&b=2")
    assert world.upstream.seen[-1].target == "/mirror?a=1&b=2&key=own-secret%2Fvalue%2B1"
    assert "own-secret" not in shown


def test_a_placeholder_in_a_body_is_replaced_and_the_length_is_right(world: World) -> None:
    places = {"body": True, "placeholder": "PLACE-HOLDER"}
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), secrets=[secret(**places)])
    ask(world, "/", b'{"key": "PLACE-HOLDER"}')
    assert world.upstream.seen[-1].body == f'{{"key": "{VALUE}"}}'.encode()
    with world.broker.dial() as wire:
        wire.send(
            f"POST / HTTP/1.1\r\nHost: index.example:{world.port}\r\nX-Sandbox-Token: {TOKEN}\r\n"
            "Transfer-Encoding: chunked\r\n\r\n7\r\n_PLACE-\r\n7\r\nHOLDER_\r\n0\r\n\r\n"
        )
        assert wire.answer().status == 200
    assert world.upstream.seen[-1].body == f"_{VALUE}_".encode()


def test_a_changed_value_is_live_on_the_next_request(world: World) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), secrets=[secret(header="X-Own")])
    changed = EgressSecret(name="OWN", value="rotated-1", hosts=["index.example"], header="X-Own")
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), secrets=[changed])
    ask(world)
    assert world.upstream.seen[-1].values("x-own") == ["rotated-1"]


def test_a_rule_s_credential_wins_over_the_sandbox_s_own_value(world: World) -> None:
    own = secret(header="X-Api-Key")
    named = rule("index.example", credential="named")
    world.engine.grant(TOKEN, "sb_one", named, secrets=[own])
    ask(world)
    assert world.upstream.seen[-1].values("x-api-key") == ["Bearer environment-secret"]


def test_a_compressed_answer_that_could_hide_an_echo_is_refused(world: World) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("index.example"), secrets=[secret(header="X-Own")])
    assert ask(world, "/gzip").startswith("502")


def test_a_websocket_s_echo_is_scrubbed(world: World) -> None:
    with world.broker.dial() as wire:
        wire.send(
            f"GET /ws HTTP/1.1\r\nHost: api.example:{world.port}\r\nX-Sandbox-Token: {TOKEN}\r\n"
            "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        )
        data = b""
        while not data.endswith(b"first") and (piece := wire.sock.recv(4096)):
            data += piece
        wire.send(b"tell")
        assert wire.sock.recv(4096) == b"told " + b"*" * len("Bearer credential-of-api")


def test_credentials_reload_without_a_restart_and_a_bad_file_changes_nothing(
    world: World,
) -> None:
    def credential() -> list[str]:
        with world.broker.dial() as wire:
            wire.ask(
                f"GET / HTTP/1.1\nHost: api.example:{world.port}\nX-Sandbox-Token: {TOKEN}"
            ).read()
        return world.upstream.seen[-1].values("authorization")

    assert credential() == ["Bearer credential-of-api"]
    world.write_credentials("api.example = Bearer second-credential\n", 0o644)
    world.broker.hang_up()
    told = world.broker.wait_for_line(lambda each: each["event"].startswith("credentials kept"))
    assert "0600" in told["reason"]
    assert credential() == ["Bearer credential-of-api"]
    world.write_credentials("api.example = Bearer second-credential\n")
    world.broker.hang_up()
    world.broker.wait_for_line(lambda each: each["event"] == "credentials reloaded")
    assert credential() == ["Bearer second-credential"]


def test_no_log_line_metric_or_event_holds_a_secret_or_a_token(world: World) -> None:
    world.engine.grant(
        TOKEN, "sb_one", rule("api.example"), rule("index.example"), secrets=[secret(query="key")]
    )
    ask(world, "/mirror?key=1")
    world.engine.wait_for(lambda engine: any("OWN" in each.secrets for each in engine.events))
    told = world.broker.log_path.read_text() + str(world.engine.events)
    for hidden in (VALUE, "own-secret", "credential-of-api", "second-credential", TOKEN):
        assert hidden not in told
    assert "OWN" in told


def test_the_credentials_file(tmp_path: Path) -> None:
    path = tmp_path / "credentials.conf"
    assert load(str(path), {}).find("", "a.example", 443) is None
    path.write_text("# a comment\n\na.example = Bearer x\n")
    for mode, good in ((0o600, True), (0o400, True), (0o640, False), (0o604, False)):
        path.chmod(mode)
        if good:
            assert load(str(path), {}).find("", "a.example", 443)
        else:
            with pytest.raises(BadCredentials, match="0600"):
                load(str(path), {})
    with pytest.raises(BadCredentials, match="regular"):
        load("/dev/null", {})
    if os.geteuid() == 0:
        path.chmod(0o600)
        os.chown(path, 12345, -1)
        with pytest.raises(BadCredentials, match="12345"):
            load(str(path), {})


def test_the_most_telling_entry_of_the_file_is_found() -> None:
    held = parse(
        "*.b.example = wide\n*.a.b.example = narrow\nx.a.b.example = exact\n"
        "x.a.b.example:8443 = port\n@n = [X-Key] env:V\n",
        {"V": "from-env"},
    )
    found = {
        ("y.b.example", 443): "wide",
        ("y.a.b.example", 443): "narrow",
        ("x.a.b.example", 443): "exact",
        ("X.A.B.example", 8443): "port",
    }
    for (host, port), value in found.items():
        credential = held.find("", host, port)
        assert credential is not None and credential.value == value
    assert held.find("", "b.example", 443) is None
    named = held.find("n", "any", 1)
    assert named is not None and (named.header, named.value) == ("X-Key", "from-env")
    assert "from-env" not in repr(named)


@pytest.mark.parametrize(
    "text",
    [
        *("a.example", "a.example =", "= x", "a b = x", "a.example = x\na.example = y", "@ = x"),
        *("a.example = env:MISSING", "a.example = x\x01y", "a.example = caf\u00e9"),
    ],
)
def test_a_line_that_is_none_is_named_and_its_value_is_not(text: str) -> None:
    with pytest.raises(BadCredentials, match=r":\d: ") as told:
        parse(text, {})
    assert "caf" not in str(told.value)


def test_a_scrubber_finds_what_is_split_at_any_place() -> None:
    text = b"abcabd-secret-secret-secre"
    for first in range(len(text)):
        for second in range(first, len(text)):
            scrub = scrubber(["secret"])
            parts = (text[:first], text[first:second], text[second:])
            out = b"".join(map(scrub.feed, parts)) + scrub.end()
            assert out == b"abcabd-******-******-secre"


def test_a_replacer_keeps_overlaps_and_prefixes_apart() -> None:
    for at in range(6):
        replacer = Replacer([(b"abcab", b"1"), (b"ab", b"2")])
        out = replacer.feed(b"abcab"[:at]) + replacer.feed(b"abcab"[at:]) + replacer.end()
        assert out == b"1"


def test_an_event_stream_is_not_held_back() -> None:
    assert scrubber(["secret"]).feed(b"data: 1\n\n") == b"data: 1\n\n"


def test_the_forms_of_a_secret_that_are_looked_for() -> None:
    assert forms("Bearer abc/def") == {
        b"Bearer abc/def",
        b"abc/def",
        b"Bearer%20abc%2Fdef",
        b"abc%2Fdef",
    }
    assert b"password" in forms("Basic dXNlcjpwYXNzd29yZA==")
    assert not forms("x")
