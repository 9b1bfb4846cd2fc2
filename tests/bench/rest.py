"""Figures of catalog volumes and previews: claims with and without, a preview against a relay."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.bench.measure import Row, show
from tests.support.engine import build_template, engine
from tests.support.images import make_image
from tests.support.node import ROOT, Node, free_port
from tests.support.wait import until

ROUNDS = 5
NAMES = tuple(f"v{number}" for number in range(8))
BYTES = 64 << 20
SERVE = f"""
import socket
server = socket.create_server(("127.0.0.1", 8080))
while True:
    peer, _ = server.accept()
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: {BYTES}\\r\\n\\r\\n")
    for _ in range({BYTES >> 16}):
        peer.sendall(bytes(1 << 16))
    peer.close()
"""
MOUNT = """
import ctypes, glob, os, time
(found,) = [each for each in glob.glob("/sys/block/*/serial") if open(each).read().strip() == "v0"]
device = "/dev/" + found.split("/")[3]
os.makedirs("/mnt/v0")
libc = ctypes.CDLL(None, use_errno=True)
began = time.perf_counter()
failed = libc.mount(device.encode(), b"/mnt/v0", b"ext4", 1, None)
took = time.perf_counter() - began
assert not failed, os.strerror(ctypes.get_errno())
print(took)
"""


def rows() -> list[Row]:
    """Everything, on one engine."""
    build_template(
        "shelf",
        "debian:bookworm",
        include=["git", "python3"],
        memory_mib=256,
        vcpus=1,
        disk_mib=1024,
        volumes=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        catalog = [{"name": n, "path": str(make_image(Path(folder, n)))} for n in NAMES]
        with engine(
            listen=f"127.0.0.1:{free_port()}",
            api_token=ROOT,
            preview_listen=f"127.0.0.1:{free_port()}",
            sizes={"bench": {"cpus": 1, "memory_mib": 256}},
            pools=[{"template": "shelf", "size": "bench", "warm": 1}],
            volumes=catalog,
        ) as made:
            api = Node(made.config["listen"])
            return [*_volume_rows(api), _preview_row(api)]


def _volume_rows(api: Node) -> list[Row]:
    asks = {
        "none": _asked(0),
        "bare": _asked(1) | {"volumes_attach_only": True},
        "one": _asked(1),
        "eight": _asked(8),
    }
    times: dict[str, list[float]] = {what: [] for what in asks}
    mounts: list[float] = []
    for number in range(ROUNDS + 1):
        for what, asked in asks.items():
            until(lambda: api.request("GET", "/v1/info").json["pools"][0]["warm"] == 1, 120)
            began = time.perf_counter()
            claim = api.claim("shelf", size="bench", **asked)
            took = time.perf_counter() - began
            if number:
                times[what].append(took)
            if number and what == "bare":
                mounts.append(float(_output(api, claim, MOUNT)))
            api.release(claim)
    plain, bare, one, eight = (statistics.median(each) for each in times.values())
    without = f"the same without: {show(plain)}"
    mount = statistics.median(mounts)
    return [
        # By emulation a mount is cold code in each clone: the guest's own part is its first one.
        Row(
            what="claim with one cached volume",
            value=show(one),
            floor=f"{without}, and the guest's own mount(2): {show(mount)}",
            ratio=one / (plain + mount),
            limit=1.25,
        ),
        Row(
            what="claim with one volume attached only",
            value=show(bare),
            floor=without,
            ratio=bare / plain,
        ),
        Row(
            what="claim with eight volumes",
            value=show(eight),
            floor=f"with one: {show(one)}",
            ratio=eight / one,
            limit=2.0,
        ),
    ]


def _asked(count: int) -> dict[str, Any]:
    return {"volumes": [{"name": name} for name in NAMES[:count]]}


def _preview_row(api: Node) -> Row:
    claim = api.claim("shelf", size="bench")
    relay = api.upgrade(claim)
    relay.send(op="exec", argv=["python3", "-c", SERVE], detach=True)
    relay.frame()
    relay.close()
    until(lambda: _run(api, claim, "grep -q :1F90 /proc/net/tcp") == 0)
    body = {"token": claim["token"], "port": 8080}
    url = api.request("POST", f"/v1/sandboxes/{claim['id']}/preview", body).json["url"]
    relays, previews = [], []
    for number in range(ROUNDS + 1):
        began = time.perf_counter()
        port = api.upgrade(claim, "ports/8080", early=b"GET / HTTP/1.1\r\n\r\n")
        assert len(port.read()) > BYTES
        port.close()
        between = time.perf_counter()
        with urlopen(url) as answer:
            assert len(answer.read()) == BYTES
        if number:
            relays.append(between - began)
            previews.append(time.perf_counter() - between)
    api.release(claim)
    relay_s, preview_s = statistics.median(relays), statistics.median(previews)
    return Row(
        what="preview of 64 MiB",
        value=f"{BYTES / preview_s / 1e6:.0f} MB/s",
        floor=f"the ports relay: {BYTES / relay_s / 1e6:.0f} MB/s",
        ratio=preview_s / relay_s,
        limit=1 / 0.6,
    )


def _run(api: Node, claim: Any, script: str) -> int:
    path = f"/v1/sandboxes/{claim['id']}/exec"
    body = {"argv": ["sh", "-c", script]}
    return int(api.request("POST", path, body, token=claim["token"]).json["exit_code"])


def _output(api: Node, claim: Any, program: str) -> str:
    path = f"/v1/sandboxes/{claim['id']}/exec"
    body = {"argv": ["python3", "-c", program]}
    answer = api.request("POST", path, body, token=claim["token"]).json
    assert answer["exit_code"] == 0, answer
    return str(answer["stdout"])
