"""Interception: leaves under the node's intermediate, HTTP/1.1 and HTTP/2, names that agree."""

from __future__ import annotations

import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509

from tests.broker.world import TOKEN, Wire, World, basic, rule


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World(intercepting=True)
    yield world
    world.close()


@pytest.fixture(autouse=True)
def granted(world: World, policy: None) -> None:
    world.engine.grant(
        TOKEN,
        "sb_one",
        rule("in.example", intercept=True, methods=["GET", "POST"]),
        rule("index.example"),
    )


def opened(world: World, host: str = "in.example", port: int = 0) -> Wire:
    wire = world.broker.dial()
    answer = wire.ask(
        f"CONNECT {host}:{port or world.port} HTTP/1.1\nHost: x\n"
        f"Proxy-Authorization: {basic(TOKEN)}"
    )
    assert answer.status == 200
    return wire


def test_a_request_inside_tls_gets_the_credential_and_its_echo_is_scrubbed(world: World) -> None:
    with opened(world).start_tls(world.trust, "in.example") as wire:
        for _ in range(2):
            answer = wire.ask(f"GET /mirror HTTP/1.1\nHost: in.example:{world.port}")
            assert answer.status == 200
            assert b"credential-of-in" not in answer.read()
    assert world.upstream.seen[-1].values("authorization") == ["Bearer credential-of-in"]
    line = world.broker.wait_for_line(lambda each: each.get("method") == "GET")
    assert (line["decision"], line["secrets"]) == ("allowed_credentialed", ["in.example"])


def test_a_method_that_no_rule_lists_is_denied_inside(world: World) -> None:
    with opened(world).start_tls(world.trust, "in.example") as wire:
        assert wire.ask(f"DELETE / HTTP/1.1\nHost: in.example:{world.port}").status == 403
    assert not world.upstream.seen


def test_host_must_agree_with_connect(world: World) -> None:
    for host in ("index.example", "in.example", f"in.example.evil:{world.port}"):
        with opened(world).start_tls(world.trust, "in.example") as wire:
            assert wire.ask(f"GET / HTTP/1.1\nHost: {host}").status == 421
    with opened(world).start_tls(world.trust, "in.example") as wire:
        assert wire.ask("GET https://index.example/ HTTP/1.1\nHost: in.example").status == 400
    assert not world.upstream.seen


def test_the_server_name_must_agree_with_connect(world: World) -> None:
    with opened(world) as wire, pytest.raises((ssl.SSLError, ConnectionError)):
        wire.start_tls(world.trust, "index.example")


def test_a_destination_without_intercept_stays_opaque(world: World) -> None:
    with opened(world, "index.example").start_tls(world.root, "index.example") as wire:
        assert wire.ask("DELETE / HTTP/1.1\nHost: index.example").status == 200


def test_an_upstream_that_the_real_roots_do_not_know_is_502_before_the_tunnel_opens(
    world: World,
) -> None:
    world.engine.grant(TOKEN, "sb_one", rule("127.0.0.1", intercept=True))
    world.engine.grant("1" * 64, "sb_bad", rule("127.0.0.1", intercept=True))
    with world.broker.dial() as wire:
        answer = wire.ask(
            f"CONNECT 127.0.0.1:{world.port} HTTP/1.1\nHost: x\n"
            f"Proxy-Authorization: {basic('1' * 64)}"
        )
        assert answer.status == 502


class Echo(grpc.GenericRpcHandler):
    """A method that tells the metadata it saw, and one that mirrors a stream."""

    def service(self, details: Any) -> Any:
        if details.method.endswith("Tell"):
            return grpc.unary_unary_rpc_method_handler(self._tell)
        if details.method.endswith("Mirror"):
            return grpc.stream_stream_rpc_method_handler(lambda items, _: items)
        return None

    def _tell(self, request: bytes, context: Any) -> bytes:
        self.seen = dict(context.invocation_metadata())
        return f"{self.seen.get('authorization')}".encode()


def test_grpc_through_interception_unary_and_streaming_under_flow_control(world: World) -> None:
    pem = (world.folder / "upstream.pem").read_bytes()
    at = pem.index(b"-----BEGIN CERTIFICATE")
    echo = Echo()
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[echo])
    port = server.add_secure_port(
        "127.0.0.1:0", grpc.ssl_server_credentials([(pem[:at], pem[at:])])
    )
    server.start()
    proxy = "http://sandbox:{}@{}:{}".format(TOKEN, *world.broker.address)
    trust = grpc.ssl_channel_credentials(world.trust.read_bytes())
    options = [("grpc.http_proxy", proxy)]
    try:
        with grpc.secure_channel(f"in.example:{port}", trust, options=options) as channel:
            calls: Any = channel  # its methods are typed by serializers, and here bytes are bytes
            told = calls.unary_unary("/test.Echo/Tell")(b"x", timeout=60)
            assert echo.seen["authorization"] == "Bearer credential-of-in"
            assert told == b"*" * len("Bearer credential-of-in")
            pieces = [bytes([number % 251]) * 50_000 for number in range(100)]
            back = list(calls.stream_stream("/test.Echo/Mirror")(iter(pieces), timeout=100))
            assert back == pieces
            with pytest.raises(grpc.RpcError) as missing:
                calls.unary_unary("/test.Echo/None")(b"", timeout=60)
            assert missing.value.code() is grpc.StatusCode.UNIMPLEMENTED
    finally:
        server.stop(None).wait()
    line = world.broker.wait_for_line(lambda each: each.get("port") == port and each["method"])
    assert line["decision"] == "allowed_credentialed"


def cli(*words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "sandbox_cli", "ca", *words]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def test_the_two_tiers_of_the_ca_commands(tmp_path: Path) -> None:
    root, node = tmp_path / "ca", tmp_path / "node"
    issue = ("issue-intermediate", "--dir", str(root), "--name", "node-1", "--out", str(node))
    assert cli(*issue).returncode == 1
    assert cli("init", "--dir", str(root)).returncode == 0
    assert cli(*issue).returncode == 0
    for key in (root / "root.key", node / "intermediate.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    chain = x509.load_pem_x509_certificates((node / "intermediate.crt").read_bytes())
    assert [each.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length
            for each in chain] == [0, 1]  # fmt: skip
    chain[0].verify_directly_issued_by(chain[1])
    assert not list(node.glob("*root*"))


def test_the_ca_commands_never_write_over_without_force(tmp_path: Path) -> None:
    root, node = tmp_path / "ca", tmp_path / "node"
    init = ("init", "--dir", str(root))
    issue = ("issue-intermediate", "--dir", str(root), "--name", "node-1", "--out", str(node))
    for words, path in ((init, root / "root.key"), (issue, node / "intermediate.key")):
        assert cli(*words).returncode == 0
        first = path.read_bytes()
        again = cli(*words)
        assert again.returncode == 1
        assert "--force" in again.stderr
        assert path.read_bytes() == first
        assert cli(*words, "--force").returncode == 0
        assert path.read_bytes() != first
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
