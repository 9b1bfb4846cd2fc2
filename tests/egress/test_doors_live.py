"""The stream doors of a real guest, with a broker that says whose each connection is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from sandbox.v1 import broker_pb2, broker_pb2_grpc
from sandbox.v1 import sandboxes_pb2 as pb

from tests.egress.nodes import Node
from tests.egress.scripted import ScriptedBroker
from tests.support.engine import engine

pytestmark = [pytest.mark.vm, pytest.mark.beside]

_TALK = """
import socket, sys
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 30)
peer.sendall(b"x" * int(sys.argv[2]))
peer.shutdown(socket.SHUT_WR)
got = b""
while piece := peer.recv(65536):
    got += piece
line, _, rest = got.partition(b"\\n")
print(line.decode(), len(rest))
"""
_HOLD = """
import socket, time
peer = socket.create_connection(("127.0.0.1", 3128), 30)
peer.recv(100)
open("/tmp/held", "w").close()
try:
    end = peer.recv(100)
except ConnectionError as error:
    end = type(error).__name__
open("/tmp/end", "w").write(repr(end))
"""


def talk(node: Node, sandbox_id: str, port: int = 3128, size: int = 3) -> str:
    """What a connection through a door answered."""
    return node.sh(sandbox_id, "python3", "-c", _TALK, str(port), str(size)).strip()


@pytest.fixture(scope="module")
def node(base_template: str) -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="sbx-broker-", dir="/tmp") as folder:
        authority, doors = Path(folder) / "broker.sock", Path(folder) / "doors.sock"
        broker = ScriptedBroker(doors)
        try:
            with engine(
                pools=[{"template": base_template, "warm": 1, "waiting": 0}],
                allowed_services=["index.example"],
                broker_socket=str(authority),
                broker_doors=str(doors),
                broker_uid=os.geteuid(),
            ) as made:
                yield Node(made, authority)
        finally:
            broker.close()


@pytest.fixture(scope="module")
def guest(node: Node) -> Iterator[Any]:
    made = node.create(env={"no_proxy": pb.EnvVar(value="mine")})
    yield made
    node.destroy(made.sandbox.id)


def test_a_connection_is_the_sandbox_s_own(node: Node, guest: Any) -> None:
    sandbox = guest.sandbox.id
    assert talk(node, sandbox) == f"for SANDBOX/1 {sandbox} proxy 3"


def test_bytes_and_half_closes_pass_both_ways(node: Node, guest: Any) -> None:
    size = 9 << 20  # more than two windows of the channel
    sandbox = guest.sandbox.id
    assert talk(node, sandbox, size=size) == f"for SANDBOX/1 {sandbox} proxy {size}"


def test_what_every_exec_inherits(node: Node, guest: Any) -> None:
    printed = node.sh(guest.sandbox.id, "env")
    found = dict(line.split("=", 1) for line in printed.splitlines())
    assert found["http_proxy"] == found["HTTPS_PROXY"] == "http://127.0.0.1:3128"
    assert found["no_proxy"] == "mine"
    assert found["NO_PROXY"] == "127.0.0.1,localhost"
    assert found["SANDBOX_BROKER"] == "127.0.0.1:3128"
    assert found["SANDBOX_SESSION_TOKEN"] == guest.credentials.session_token
    assert guest.sandbox.net_route == pb.NET_ROUTE_RELAY


def test_the_token_is_known_to_the_authority(node: Node, guest: Any) -> None:
    with grpc.insecure_channel(f"unix:{node.authority}") as channel:
        stub = broker_pb2_grpc.BrokerServiceStub(channel)
        answer = stub.Authorize(
            broker_pb2.AuthorizeRequest(session_token=guest.credentials.session_token)
        )
    assert answer.sandbox_id == guest.sandbox.id
    assert [rule.host for rule in answer.rules] == ["index.example"]


def test_the_socks_door_is_closed_unless_a_pool_opens_it(node: Node, guest: Any) -> None:
    assert "ConnectionRefusedError" in talk(node, guest.sandbox.id, port=1080)


def test_a_guest_has_no_interface_but_its_loopback(node: Node, guest: Any) -> None:
    printed = node.sh(guest.sandbox.id, "sh", "-c", "ls /sys/class/net; cat /proc/net/route")
    assert printed.split("\n")[0] == "lo"
    assert len(printed.strip().splitlines()) == 2  # the name, and the table's heading


def test_an_empty_policy_gets_no_variable_and_no_door(node: Node) -> None:
    made = node.create(egress=pb.EgressPolicy(deny_all=True))
    try:
        printed = node.sh(made.sandbox.id, "env").lower()
        assert "proxy" not in printed
        assert "sandbox_" not in printed
        assert "ConnectionRefusedError" in talk(node, made.sandbox.id)
        assert made.sandbox.net_route == pb.NET_ROUTE_NONE
    finally:
        node.destroy(made.sandbox.id)


def test_forks_and_wakes_connect_as_themselves(node: Node, guest: Any) -> None:
    """And what was connected before belongs to nobody any more."""
    parent = guest.sandbox.id
    node.sh(parent, "sh", "-c", f"setsid python3 -c '{_HOLD}' >/dev/null 2>&1 &")
    node.sh(parent, "sh", "-c", "until [ -e /tmp/held ]; do sleep 0.1; done")
    (child,) = node.sandboxes.ForkSandbox(
        pb.ForkSandboxRequest(sandbox_id=parent, count=1)
    ).children
    try:
        own = child.sandbox.id
        assert talk(node, own) == f"for SANDBOX/1 {own} proxy 3"
        ended = node.sh(own, "sh", "-c", "until [ -s /tmp/end ]; do sleep 0.1; done; cat /tmp/end")
        assert ended in ("b''", "'ConnectionResetError'")
        token = node.sh(own, "sh", "-c", 'echo "$SANDBOX_SESSION_TOKEN"').strip()
        assert token == child.credentials.session_token != guest.credentials.session_token
        assert node.sh(parent, "sh", "-c", "test -e /tmp/end || echo held") == "held\n"
        node.sandboxes.HibernateSandbox(pb.HibernateSandboxRequest(sandbox_id=own))
        node.sandboxes.WakeSandbox(pb.WakeSandboxRequest(sandbox_id=own))
        assert talk(node, own) == f"for SANDBOX/1 {own} proxy 3"
    finally:
        node.destroy(child.sandbox.id)
