"""A real guest, the real broker and an upstream with TLS: credentials used, never held."""

from __future__ import annotations

import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox.v1 import sandboxes_pb2 as pb

from tests.broker.upstream import Upstream
from tests.broker.world import Broker, make_ca
from tests.egress.nodes import Node
from tests.support.engine import engine
from tests.support.node import ROOT, free_port
from tests.support.node import Node as NodeApi

pytestmark = [pytest.mark.vm, pytest.mark.beside]

SECRET = "credential-of-api-0b8e1f"
_GET = """
import sys, urllib.error, urllib.request
try:
    answer = urllib.request.urlopen(sys.argv[1], timeout=60)
except urllib.error.HTTPError as error:
    answer = error
except OSError as error:
    print(error)
    sys.exit()
print(answer.status, answer.read().decode())
"""
_TLS = """
import os, ssl, urllib.request
context = ssl.create_default_context(cadata=os.environ["ROOT"])
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context),
                                     urllib.request.ProxyHandler())
print(opener.open("https://" + os.environ["INDEX"], timeout=60).read().decode())
"""

_SOCKS = """
import os, socket, ssl, struct
name, _, port = os.environ["INDEX"].partition(":")
peer = socket.create_connection(("127.0.0.1", 1080), 60)
peer.sendall(b"\\5\\1\\0")
assert peer.recv(2) == b"\\5\\0"
to = bytes([len(name)]) + name.encode() + struct.pack(">H", int(port))
peer.sendall(b"\\5\\1\\0\\3" + to)
reply = peer.recv(10)
assert reply[1] == 0, reply
tls = ssl.create_default_context(cadata=os.environ["ROOT"]).wrap_socket(peer, server_hostname=name)
tls.sendall(b"GET / HTTP/1.1\\r\\nHost: " + name.encode() + b"\\r\\nConnection: close\\r\\n\\r\\n")
got = b""
while b"hello" not in got and (piece := tls.recv(4096)):
    got += piece
print(got.decode().splitlines()[-1])
"""


class Chain:
    """Engine, broker and upstream."""

    def __init__(self, node: Node, broker: Broker, upstream: Upstream) -> None:
        self.node, self.broker, self.upstream = node, broker, upstream

    def get(self, sandbox_id: str, url: str) -> str:
        """What a guest's stock client gets, by the variables it was given."""
        return self.node.sh(sandbox_id, "python3", "-c", _GET, url).strip()

    def carried(self) -> set[str]:
        """Credentials that the upstream saw since this was last asked."""
        values = {value for seen in self.upstream.seen for value in seen.values("authorization")}
        self.upstream.seen.clear()
        return values


@pytest.fixture(scope="module")
def chain(base_template: str) -> Iterator[Chain]:
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(prefix="sbx-broker-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        root, pem = make_ca(folder)
        credentials = folder / "credentials.conf"
        credentials.write_text(f"api.example = Bearer {SECRET}\n")
        credentials.chmod(0o600)
        os.chown(credentials, nobody.pw_uid, nobody.pw_gid)
        upstream = Upstream(pem)
        try:
            with engine(
                listen=f"127.0.0.1:{free_port()}",
                api_token=ROOT,
                sizes={"tiny": {"cpus": 1, "memory_mib": 256}},
                pools=[
                    {"template": base_template, "warm": 1, "waiting": 0},
                    {
                        "template": base_template,
                        "size": "tiny",
                        "warm": 0,
                        "waiting": 0,
                        "egress": {"rules": [{"host": "index.example"}], "socks": True},
                    },
                ],
                allowed_services=["api.example", "index.example"],
                broker_socket=str(folder / "engine.sock"),
                broker_doors=str(folder / "doors.sock"),
                broker_uid=nobody.pw_uid,
            ) as made:
                broker = Broker(folder, root)
                try:
                    yield Chain(Node(made, folder / "engine.sock"), broker, upstream)
                finally:
                    assert broker.close() == 0
        finally:
            upstream.close()


@pytest.fixture(scope="module")
def guest(chain: Chain) -> Iterator[Any]:
    root = (chain.broker.folder / "upstream-root.crt").read_text()
    env = {
        "ROOT": root,
        "UPSTREAM": f"api.example:{chain.upstream.port}",
        "INDEX": f"index.example:{chain.upstream.port}",
    }
    made = chain.node.create(env={name: pb.EnvVar(value=value) for name, value in env.items()})
    yield made
    chain.node.destroy(made.sandbox.id)


def test_absolute_form_is_upgraded_and_carries_the_credential(chain: Chain, guest: Any) -> None:
    url = f"http://api.example:{chain.upstream.port}/"
    assert chain.get(guest.sandbox.id, url) == "200 hello"
    assert chain.carried() == {f"Bearer {SECRET}"}


def test_a_connect_tunnel_is_opaque_to_the_broker(chain: Chain, guest: Any) -> None:
    assert chain.node.sh(guest.sandbox.id, "python3", "-c", _TLS).strip() == "hello"
    assert chain.carried() == set()


def test_another_destination_is_refused(chain: Chain, guest: Any) -> None:
    url = f"http://open.example:{chain.upstream.port}/"
    assert chain.get(guest.sandbox.id, url).startswith("403")
    assert not chain.upstream.seen


def test_a_claim_s_tcp_goes_through_the_socks_door(chain: Chain) -> None:
    api = NodeApi(chain.node.engine.config["listen"])
    env = {
        "ROOT": {"value": (chain.broker.folder / "upstream-root.crt").read_text()},
        "INDEX": {"value": f"index.example:{chain.upstream.port}"},
    }
    claim = api.claim("base", size="tiny", env=env)
    try:
        assert claim["net_route"] == "relay"
        assert chain.node.sh(claim["id"], "python3", "-c", _SOCKS).strip() == "hello"
    finally:
        api.release(claim)


def test_each_fork_reaches_the_upstream_as_itself_and_no_secret_is_in_what_is_saved(
    chain: Chain, guest: Any
) -> None:
    node, parent = chain.node, guest.sandbox.id
    url = f"http://api.example:{chain.upstream.port}/"
    children = node.sandboxes.ForkSandbox(
        pb.ForkSandboxRequest(sandbox_id=parent, count=2)
    ).children
    own, other = (child.sandbox.id for child in children)
    try:
        for each in (parent, own, other):
            assert chain.get(each, url) == "200 hello"
            assert chain.carried() == {f"Bearer {SECRET}"}
            chain.broker.wait_for_line(
                lambda line, each=each: (
                    line.get("sandbox_id") == each
                    and line.get("decision") == "allowed_credentialed"
                )
            )
        assert SECRET not in node.sh(own, "sh", "-c", "env; cat /proc/[0-9]*/environ")
        node.sandboxes.HibernateSandbox(pb.HibernateSandboxRequest(sandbox_id=own))
        searched = [path for path in _own_files(node.engine.data) if _holds(path, b"SANDBOX_")]
        assert searched, "the saved memory is not among what is searched"
        holding = [path for path in _own_files(node.engine.data) if _holds(path, SECRET.encode())]
        assert holding == []
        assert SECRET not in chain.broker.log_path.read_text()
    finally:
        node.destroy(own)
        node.destroy(other)


def _own_files(folder: Path) -> Iterator[Path]:
    """Of one engine: memory and devices of what is saved, disks, journals, logs."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def _holds(path: Path, needle: bytes) -> bool:
    """Whether it is in there, a MiB at a time."""
    tail = b""
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            if needle in tail + piece:
                return True
            tail = piece[-len(needle) :]
    return False
