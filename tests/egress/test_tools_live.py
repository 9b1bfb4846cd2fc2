"""Stock tools in a locked guest: by every shape, tunnelled and looked into."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sandbox.v1 import guest_pb2, guest_pb2_grpc

from tests.egress.locked import LISTEN, SECRET, WORLD, Locked, locked
from tests.egress.registry import PACKAGE, Files, grpc_server, make_index, make_repository
from tests.support.namespaces import within
from tests.support.node import ROOT
from tests.support.node import Node as NodeApi

pytestmark = [pytest.mark.vm, pytest.mark.beside]

CURL = "/workspace/curl/ld.so --library-path /workspace/curl /workspace/curl/curl -sS --max-time 60"
WHEEL = next(Path("/usr/share/python-wheels").glob("pip-*.whl"))
_WEBSOCKET = """
import os, socket, ssl, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["https_proxy"])
import base64
user = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
peer = socket.create_connection((proxy.hostname, proxy.port), 60)
peer.sendall(f"CONNECT in.example:443 HTTP/1.1\\r\\nHost: in.example\\r\\n"
             f"Proxy-Authorization: Basic {user}\\r\\n\\r\\n".encode())
assert b" 200 " in peer.recv(4096)
tls = ssl.create_default_context().wrap_socket(peer, server_hostname="in.example")
tls.sendall(b"GET /ws HTTP/1.1\\r\\nHost: in.example\\r\\nUpgrade: websocket\\r\\n"
            b"Connection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\n"
            b"Sec-WebSocket-Key: eA==\\r\\n\\r\\n")
got = b""
while not got.endswith(b"first"):
    got += tls.recv(4096)
for word in (b"one", b"two"):
    tls.sendall(word)
    assert tls.recv(4096) == word
print(got.split(b"\\r\\n")[0].decode())
"""


@dataclass
class Shop:
    """A node, one claim with an interface, and what its upstreams offer."""

    node: Locked
    claim: Any
    files: Files
    grpc_port: int

    def sh(self, script: str) -> str:
        return self.node.node.sh(self.claim["id"], "sh", "-c", script).strip()

    def push(self, path: str, data: bytes) -> None:
        """A file below /workspace."""
        start = guest_pb2.WriteFileStart(sandbox_id=self.claim["id"], path=path)
        pieces = [data[at : at + (1 << 20)] for at in range(0, len(data), 1 << 20)]
        messages = [
            guest_pb2.WriteFileRequest(start=start),
            *(guest_pb2.WriteFileRequest(data=piece) for piece in pieces),
            guest_pb2.WriteFileRequest(done=guest_pb2.WriteFileDone()),
        ]
        guest_pb2_grpc.GuestServiceStub(self.node.node.channel).WriteFile(iter(messages))


@pytest.fixture(scope="module")
def shop(base_template: str) -> Iterator[Shop]:
    rules = [
        {"host": "api.example"},
        {"host": "index.example"},
        {"host": "in.example", "intercept": True},
    ]
    pool = {"template": base_template, "net": "egress", "size": "tiny", "warm": 0, "waiting": 0}
    with locked(
        intercepting=True,
        pools=[{**pool, "egress": {"rules": rules}}],
        sizes={"tiny": {"cpus": 1, "memory_mib": 256}},
        listen=LISTEN,
        api_token=ROOT,
        credentials=f"api.example = Bearer {SECRET}\nin.example = Bearer {SECRET}\n",
    ) as node:
        served = node.folder / "served"
        served.mkdir()
        make_index(served)
        make_repository(served)
        pem = node.folder / "upstream.pem"
        files = within(node.world, lambda: Files(served, pem, WORLD))
        server, port = within(node.world, lambda: grpc_server(pem, WORLD))
        env = {"PIP_DISABLE_PIP_VERSION_CHECK": {"value": "1"}, "HOME": {"value": "/root"}}
        claimed = partial(NodeApi(LISTEN).claim, base_template, size="tiny", net="egress", env=env)
        made = Shop(node, within(node.ns, claimed), files, port)
        made.push("/workspace/curl.tar", curl_with_its_libraries())
        made.push("/workspace/pip.whl", WHEEL.read_bytes())
        made.push("/workspace/upstream.crt", (node.folder / "upstream-root.crt").read_bytes())
        made.sh("cd /workspace && tar xf curl.tar")
        try:
            yield made
        finally:
            node.node.destroy(made.claim["id"])
            files.close()
            server.stop(None).wait()


def curl_with_its_libraries() -> bytes:
    """The host's own, as the template has none; the host's Debian is the template's."""
    lines = subprocess.check_output(["ldd", "/usr/bin/curl"], text=True).splitlines()
    paths = [word for line in lines for word in line.split() if word.startswith("/")]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", dereference=True) as tar:
        tar.add("/usr/bin/curl", "curl/curl")
        for path in paths:
            name = Path(path).name
            tar.add(path, "curl/" + ("ld.so" if name.startswith("ld-linux") else name))
    return out.getvalue()


def last_decision(shop: Shop, host: str, **fields: Any) -> str:
    line = shop.node.broker.wait_for_line(
        lambda line: (
            line.get("host") == host
            and line.get("sandbox_id") == shop.claim["id"]
            and all(line.get(name) == value for name, value in fields.items())
        )
    )
    return str(line["decision"])


def test_curl_in_origin_form(shop: Shop) -> None:
    out = shop.sh(
        f'{CURL} --noproxy "*" -H "Host: api.example" '
        '-H "X-Sandbox-Token: $SANDBOX_SESSION_TOKEN" http://$SANDBOX_BROKER/v1/a'
    )
    assert out == "hello"
    assert last_decision(shop, "api.example") == "allowed_credentialed"


def test_curl_in_absolute_form(shop: Shop) -> None:
    assert shop.sh(f"{CURL} http://api.example/") == "hello"
    assert shop.node.upstream.seen[-1].values("authorization") == [f"Bearer {SECRET}"]


def test_curl_through_an_opaque_tunnel(shop: Shop) -> None:
    trusting = f"{CURL} --cacert /workspace/upstream.crt"
    assert shop.sh(f"{trusting} https://index.example/") == "hello"
    assert shop.node.upstream.seen[-1].values("authorization") == []
    assert last_decision(shop, "index.example", method="CONNECT") == "allowed_anonymous"


def test_curl_through_a_tunnel_that_is_looked_into(shop: Shop) -> None:
    assert shop.sh(f"{CURL} https://in.example/") == "hello"
    assert shop.node.upstream.seen[-1].values("authorization") == [f"Bearer {SECRET}"]
    assert last_decision(shop, "in.example", method="GET") == "allowed_credentialed"


def test_curl_to_anywhere_else(shop: Shop) -> None:
    code = shop.sh(f"{CURL} -o /dev/null -w '%{{http_connect}}' https://open.example/ 2>/dev/null")
    assert code == "403"


@pytest.mark.parametrize(
    ("host", "trust"),
    [("in.example", ""), ("index.example", "REQUESTS_CA_BUNDLE=/workspace/upstream.crt ")],
    ids=["looked into", "opaque"],
)
def test_pip_installs_from_an_index(shop: Shop, host: str, trust: str) -> None:
    target = f"/workspace/lib-{host}"
    out = shop.sh(
        f"{trust}python3 /workspace/pip.whl/pip install --no-cache-dir --target {target} "
        f"--index-url https://{host}:{shop.files.port}/simple/ {PACKAGE} && "
        f"PYTHONPATH={target} python3 -m {PACKAGE}"
    )
    assert out.splitlines()[-1] == "installed", out


def test_git_clones_over_https(shop: Shop) -> None:
    url = f"https://in.example:{shop.files.port}/tiny.git"
    out = shop.sh(f"cd /workspace && git clone -q {url} cloned && cat cloned/README")
    assert out == "cloned", out
    assert {carried for path, carried in shop.files.seen if path.startswith("/tiny.git")} == {
        f"Bearer {SECRET}"
    }


def test_a_websocket(shop: Shop) -> None:
    out = shop.node.python(shop.claim["id"], _WEBSOCKET)
    assert out == "HTTP/1.1 101 Switching Protocols", out
    assert shop.node.upstream.seen[-1].values("authorization") == [f"Bearer {SECRET}"]


def test_events_arrive_as_they_are_sent(shop: Shop) -> None:
    start = guest_pb2.ExecRequest(
        start=guest_pb2.ExecStart(
            sandbox_id=shop.claim["id"],
            argv=["sh", "-c", f"{CURL} -N https://in.example/sse"],
        )
    )
    out = b""
    stub = guest_pb2_grpc.GuestServiceStub(shop.node.node.channel)
    for event in stub.Exec(iter([start])):
        out += event.out.data
        if out == b"data: 1\n\n":
            shop.node.upstream.gate.set()  # what follows was not sent before
    assert out == b"data: 1\n\n: comment\n\ndata: 2\n\n"


def test_a_grpc_call(shop: Shop) -> None:
    out = shop.sh(
        r"printf '\000\000\000\000\001x' >/workspace/call && "
        f"{CURL} --http2 -D /workspace/told -H 'content-type: application/grpc' -H 'te: trailers' "
        f"--data-binary @/workspace/call https://in.example:{shop.grpc_port}/test.Echo/Tell "
        "| tail -c +6; echo; tr -d '\\r' </workspace/told"
    )
    lines = out.splitlines()
    assert lines[0] == f"Bearer {SECRET}"[::-1], out
    assert lines[1].startswith("HTTP/2 200") or "HTTP/2 200" in out
    assert "grpc-status: 0" in lines


def test_the_secret_is_nowhere_in_the_guest(shop: Shop) -> None:
    out = shop.sh(f"cat /proc/[0-9]*/environ | grep -c {SECRET[:12]}; env | grep -c {SECRET[:12]}")
    assert out.split() == ["0", "0"]
