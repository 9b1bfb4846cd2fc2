"""The network door of a real guest: what it is given, how it asks, and that it is itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from sandbox.v1 import sandboxes_pb2 as pb

from tests.egress.locked import LISTEN, PORT, SECRET, Locked, locked
from tests.support.namespaces import nft, within
from tests.support.node import ROOT
from tests.support.node import Node as NodeApi

pytestmark = [pytest.mark.vm, pytest.mark.beside]

STATE = """
import fcntl, json, os, socket, struct
sock = socket.socket()
def ask(number, name, cut):
    return socket.inet_ntoa(fcntl.ioctl(sock, number, struct.pack("40s", name.encode()))[20:24])
found = {}
for name in sorted(os.listdir("/sys/class/net")):
    if name != "lo":
        mac = open(f"/sys/class/net/{name}/address").read().strip()
        found[name] = [ask(0x8915, name, 0), ask(0x891B, name, 0), mac]
routes = [line.split() for line in open("/proc/net/route").read().splitlines()[1:]]
v6 = open("/proc/net/if_inet6").read() if os.path.exists("/proc/net/if_inet6") else ""
print(json.dumps({
    "interfaces": found,
    "routes": [[r[0], r[1], r[2], r[7]] for r in routes if r[0] != "lo"],
    "ipv6": [line.split()[-1] for line in v6.splitlines() if line.split()[-1] != "lo"],
    "env": dict(os.environ),
}))
"""
ASK = """
import http.client, os, sys
host, _, port = os.environ["SANDBOX_BROKER"].partition(":")
connection = http.client.HTTPConnection(host, int(port), timeout=60)
headers = dict(word.split("=", 1) for word in sys.argv[2:])
connection.request("GET", sys.argv[1], headers=headers)
answer = connection.getresponse()
print(answer.status, answer.read().decode())
"""
GET = """
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=60).read().decode())
"""
TLS = """
import os, ssl, sys, urllib.request
context = ssl.create_default_context(cadata=os.environ["ROOT"])
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context),
                                     urllib.request.ProxyHandler())
print(opener.open(sys.argv[1], timeout=60).read().decode())
"""


@pytest.fixture(scope="module")
def node(base_template: str) -> Iterator[Locked]:
    pools = [
        {"template": base_template, "warm": 1, "waiting": 0},
        {
            "template": base_template,
            "net": "egress",
            "size": "tiny",
            "warm": 0,
            "waiting": 0,
            "egress": {"rules": [{"host": "index.example"}]},
        },
    ]
    sizes = {"tiny": {"cpus": 1, "memory_mib": 256}}
    with locked(pools=pools, sizes=sizes, listen=LISTEN, api_token=ROOT) as made:
        yield made


@pytest.fixture(scope="module")
def guest(node: Locked) -> Iterator[Any]:
    root = (node.folder / "upstream-root.crt").read_text()
    made = node.node.create(env={"ROOT": pb.EnvVar(value=root), "NO_PROXY": pb.EnvVar(value="x")})
    yield made
    node.node.destroy(made.sandbox.id)


def state(node: Locked, sandbox_id: str) -> Any:
    return json.loads(node.python(sandbox_id, STATE))


def test_a_guest_has_one_interface_with_its_address_and_no_route_further(
    node: Locked, guest: Any
) -> None:
    found = state(node, guest.sandbox.id)
    env = found["env"]
    ((name, (address, mask, mac)),) = found["interfaces"].items()
    assert (address, mask) == (env["SANDBOX_NET_ADDR"], env["SANDBOX_NET_MASK"])
    assert mask == "255.255.255.252"
    assert mac not in ("02:00:00:00:00:01", "00:00:00:00:00:00")
    (route,) = found["routes"]
    assert (route[0], route[2], route[3]) == (name, "00000000", "FCFFFFFF")
    assert found["ipv6"] == []
    host = ".".join([*address.split(".")[:3], str(int(address.split(".")[3]) - 1)])
    assert env["SANDBOX_BROKER"] == f"{host}:{PORT}"
    assert env["NO_PROXY"] == "x"
    assert env["https_proxy"] == f"http://sandbox:{env['SANDBOX_SESSION_TOKEN']}@{host}:{PORT}"
    assert guest.sandbox.net == pb.NET_LANE_EGRESS


@pytest.mark.parametrize(
    "fields",
    [{"egress": pb.EgressPolicy(deny_all=True)}, {"net": pb.NET_LANE_NONE}],
    ids=["an empty policy", "the lane without one"],
)
def test_a_guest_without_an_interface_has_the_loopback_alone(
    node: Locked, fields: dict[str, Any]
) -> None:
    made = node.node.create(**fields)
    try:
        found = state(node, made.sandbox.id)
        assert (found["interfaces"], found["routes"]) == ({}, [])
        assert not [name for name in found["env"] if name.startswith("SANDBOX_NET")]
    finally:
        node.node.destroy(made.sandbox.id)


def test_origin_form_carries_the_credential(node: Locked, guest: Any) -> None:
    token = guest.credentials.session_token
    node.upstream.seen.clear()
    words = ("Host=api.example", f"X-Sandbox-Token={token}")
    assert node.python(guest.sandbox.id, ASK, "/v1/x", *words) == "200 hello"
    (seen,) = node.upstream.seen
    assert seen.target == "/v1/x"
    assert seen.values("authorization") == [f"Bearer {SECRET}"]
    assert seen.values("x-sandbox-token") == []


def test_stock_tools_find_the_broker_by_their_variables(node: Locked, guest: Any) -> None:
    assert node.python(guest.sandbox.id, GET, "http://api.example/") == "hello"
    assert node.python(guest.sandbox.id, TLS, "https://index.example/") == "hello"
    line = node.broker.wait_for_line(lambda line: line.get("decision") == "allowed_anonymous")
    assert line["sandbox_id"] == guest.sandbox.id


def test_refusals(node: Locked, guest: Any) -> None:
    own = f"X-Sandbox-Token={guest.credentials.session_token}"
    cases = {
        "Host=api.example": 401,
        f"Host=api.example X-Sandbox-Token={'0' * 64}": 401,
        f"Host=open.example {own}": 403,
    }
    # One program: a start of Python is what costs.
    program = f"import sys\nfor words in {list(cases)!r}:\n sys.argv = ['', '/', *words.split()]\n"
    out = node.python(guest.sandbox.id, program + f" exec({ASK!r})")
    assert [int(line.split()[0]) for line in out.splitlines() if line[:1].isdigit()] == [
        *cases.values()
    ]


def test_another_guest_s_token_is_nobody_s_here(node: Locked, guest: Any) -> None:
    other = node.node.create()
    try:
        words = ("Host=api.example", f"X-Sandbox-Token={other.credentials.session_token}")
        assert node.python(guest.sandbox.id, ASK, "/", *words).startswith("401")
        assert node.python(other.sandbox.id, ASK, "/", *words) == "200 hello"
    finally:
        node.node.destroy(other.sandbox.id)


def test_a_fork_has_an_address_of_its_own_and_is_itself(node: Locked, guest: Any) -> None:
    parent = guest.sandbox.id
    before = state(node, parent)
    request = pb.ForkSandboxRequest(sandbox_id=parent, count=1)
    (child,) = node.node.sandboxes.ForkSandbox(request).children
    own = child.sandbox.id
    try:
        found = state(node, own)
        ((_, (address, _, mac)),) = found["interfaces"].items()
        ((_, (old_address, _, old_mac)),) = before["interfaces"].items()
        assert address != old_address
        assert mac != old_mac
        assert found["env"]["SANDBOX_NET_ADDR"] == address
        assert state(node, parent)["interfaces"] == before["interfaces"]
        for each in (parent, own):
            assert node.python(each, GET, "http://api.example/") == "hello"
            node.broker.wait_for_line(
                lambda line, each=each: (
                    line.get("sandbox_id") == each
                    and line.get("decision") == "allowed_credentialed"
                )
            )
        # What the child remembers of its parent is worth nothing.
        words = ("Host=api.example", f"X-Sandbox-Token={guest.credentials.session_token}")
        assert node.python(own, ASK, "/", *words).startswith("401")
        node.node.sandboxes.HibernateSandbox(pb.HibernateSandboxRequest(sandbox_id=own))
        assert len(node.taps()) == 1
        node.node.sandboxes.WakeSandbox(pb.WakeSandboxRequest(sandbox_id=own))
        assert state(node, own)["env"]["SANDBOX_NET_ADDR"] == address
        assert node.python(own, GET, "http://api.example/") == "hello"
    finally:
        node.node.destroy(own)
    assert len(node.taps()) == 1


def test_a_claim_of_the_egress_lane(node: Locked) -> None:
    api = NodeApi(LISTEN)
    claim = within(node.ns, partial(api.claim, "base", size="tiny", net="egress"))
    try:
        assert claim["net_route"] == "relay"
        found = state(node, claim["id"])
        assert len(found["interfaces"]) == 1
        for port in (3128, PORT):
            proxy = found["env"]["http_proxy"] if port == PORT else "http://127.0.0.1:3128"
            script = f"import os; os.environ['http_proxy'] = '{proxy}'\n{GET}"
            assert node.python(claim["id"], script, "http://index.example/") == "hello"
        more: dict[str, Any] = {
            "fork": {"count": 1},
            "promote": {"template": "x:1"},
            "checkpoint": {},
        }
        for verb, fields in {"hibernate": {}, **more}.items():
            body = {"token": claim["token"], **fields} if verb in more else None
            path = f"/v1/sandboxes/{claim['id']}/{verb}"
            answer = within(node.ns, partial(api.request, "POST", path, body))
            assert answer.status == 409, verb
            assert "egress lane" in answer.error
    finally:
        node.node.destroy(claim["id"])


def test_a_node_that_is_killed_adopts_its_links(node: Locked) -> None:
    others = set(node.taps())
    made = node.node.create()
    before = state(node, made.sandbox.id)
    nft(node.ns, "flush", "ruleset")  # as another tool may while no engine watches
    node.node.engine.restart()
    assert state(node, made.sandbox.id)["interfaces"] == before["interfaces"]
    assert node.python(made.sandbox.id, GET, "http://api.example/") == "hello"
    (tap,) = set(node.taps()) - others
    assert f"chain {tap}" in nft(node.ns, "list", "ruleset")
    node.node.destroy(made.sandbox.id)
    assert set(node.taps()) == others
    assert f"chain {tap}" not in nft(node.ns, "list", "ruleset")
