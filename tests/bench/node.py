"""The node API's figures: a warm claim, the relay's latency and throughput, a burst."""

from __future__ import annotations

import http.client
import json
import os
import socket
import statistics
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import uvloop

from tests.bench import clones
from tests.bench.measure import Row, show, timed
from tests.support.engine import Engine, engine
from tests.support.wait import until

HOST, PORT = "127.0.0.1", 7795
TOKEN = "bench-token"
WARM = 2
BURST_POOL = 4
ROUNDS = 15
PULL_MIB = 128
IDLE_RELAYS = 200


def rows(channel_bytes_s: float) -> list[Row]:
    """Everything; the floor of the channel's throughput is measured by the caller."""
    with _engine(WARM) as made:
        node = Node(made, WARM)
        until(node.full)
        found = [node.claim_row()]
        claim = node.claim()
        found += [
            node.stat_row(claim),
            node.idle_row(claim),  # before the pull, whose freed memory would hide it
            *node.pull_rows(claim, channel_bytes_s),
        ]
        node.release(claim)
    with _engine(BURST_POOL) as made:
        node = Node(made, BURST_POOL)
        until(node.full)
        found.append(node.burst_row())
    return found


def _engine(warm: int) -> AbstractContextManager[Engine]:
    return engine(
        listen=f"{HOST}:{PORT}",
        api_token=TOKEN,
        pools=[{"template": "base", "size": "bench", "warm": warm, "waiting": 1}],
        sizes={"bench": {"cpus": 1, "memory_mib": 256}},
    )


class Node:
    """A client of one node, in as little code as a fair measure needs."""

    def __init__(self, made: Engine, warm: int) -> None:
        self._made, self._warm = made, warm
        self._http = http.client.HTTPConnection(HOST, PORT)

    def request(self, method: str, path: str, body: Any = None, token: str = TOKEN) -> Any:
        """One call on the kept connection: (status, JSON or None, headers)."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        self._http.request(method, path, data, headers)
        reply = self._http.getresponse()
        text = reply.read()
        return reply.status, json.loads(text) if text[:1] == b"{" else None, reply.headers

    def claim(self) -> dict[str, Any]:
        """One warm claim."""
        status, claim, _ = self.request("POST", "/v1/claim", {"template": "base", "size": "bench"})
        assert status == 200, claim
        return dict(claim)

    def release(self, claim: dict[str, Any]) -> None:
        """Give it back."""
        self.request("POST", f"/v1/sandboxes/{claim['id']}/release", {}, claim["token"])

    def full(self) -> bool:
        """The pool is full and quiet."""
        _, info, _ = self.request("GET", "/v1/info")
        return all(pool["warm"] >= self._warm and not pool["refilling"] for pool in info["pools"])

    def claim_row(self) -> Row:
        """A warm claim against a POST that does nothing, after the same pause."""
        claims, floors = [], []
        for _ in range(ROUNDS):
            until(self.full)
            started = time.perf_counter()
            self.request("POST", "/v1/sandboxes/sb_none/release", {})
            floors.append(time.perf_counter() - started)
            until(self.full)
            started = time.perf_counter()
            claim = self.claim()
            claims.append(time.perf_counter() - started)
            self.release(claim)
        return timed(
            "warm claim over HTTP", statistics.median(claims),
            "empty JSON POST", statistics.median(floors), 2.5,
        )  # fmt: skip

    def relay(self, claim: dict[str, Any]) -> socket.socket:
        """An upgraded connection to the sandbox's agent."""
        link = socket.create_connection((HOST, PORT))
        link.sendall(
            f"GET /v1/sandboxes/{claim['id']}/agent HTTP/1.1\r\nHost: node\r\n"
            f"Authorization: Bearer {claim['token']}\r\n"
            "Connection: Upgrade\r\nUpgrade: silkd\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            head += link.recv(4096)
        assert head.startswith(b"HTTP/1.1 101"), head
        return link

    def stat_row(self, claim: dict[str, Any]) -> Row:
        """`fs_stat` on a kept relay, in turn with pings of a like VM's agent."""
        with self.relay(claim) as link, link.makefile("rb") as lines:

            def stat() -> float:
                started = time.perf_counter()
                link.sendall(b'{"v":1,"op":"fs_stat","path":"/etc/hostname"}\n')
                assert b'"stat"' in lines.readline()
                return time.perf_counter() - started

            ping_s, stat_s = uvloop.run(clones.beside_pings(stat))
        return timed("fs_stat on a kept relay", stat_s, "agent ping, in turn", ping_s, 1.5)

    def pull_rows(self, claim: dict[str, Any], channel_bytes_s: float) -> list[Row]:
        """A large tree pulled through the relay, and what the daemon grew by meanwhile."""
        script = f"mkdir /workspace/big; head -c {PULL_MIB}M /dev/zero >/workspace/big/f"
        argv = ["sh", "-c", script]
        self.request("POST", f"/v1/sandboxes/{claim['id']}/exec", {"argv": argv}, claim["token"])
        before, peak = _rss(self._made.pid), 0
        with self.relay(claim) as link, link.makefile("rb", buffering=1 << 20) as lines:
            started = time.perf_counter()
            link.sendall(b'{"v":1,"op":"fs_pull","path":"/workspace/big"}\n')
            size = 0
            for line in lines:
                if line.startswith(b'{"type":"data"'):
                    size += (len(line) - 27) * 3 // 4
                    peak = max(peak, _rss(self._made.pid)) if size % 64 == 0 else peak
                else:
                    assert b'"done"' in line, line[:200]
                    break
            elapsed = time.perf_counter() - started
        rate = size / elapsed
        grown = max(peak, _rss(self._made.pid)) - before
        return [
            Row(
                what=f"fs_pull of {PULL_MIB} MiB through the relay",
                value=f"{rate / 2**20:.0f} MiB/s",
                floor=f"channel alone: {channel_bytes_s / 2**20:.0f} MiB/s",
                ratio=channel_bytes_s / rate,
                limit=1 / 0.6,
            ),
            Row(what="daemon memory grown by that", value=f"{grown / 2**20:.1f} MiB"),
        ]

    def idle_row(self, claim: dict[str, Any]) -> Row:
        """What an idle relay costs the daemon."""
        before = _rss(self._made.pid)
        links = [self.relay(claim) for _ in range(IDLE_RELAYS)]
        each = (_rss(self._made.pid) - before) / IDLE_RELAYS
        for link in links:
            link.close()
        return Row(what=f"daemon memory of each of {IDLE_RELAYS} idle relays",
                   value=f"{each / 1024:.0f} KiB")  # fmt: skip

    def burst_row(self, count: int = 32) -> Row:
        """Many claims at once over a small pool: each is served or told when to come back."""
        times: list[float] = []
        refused = 0
        claims: list[dict[str, Any]] = []
        lock = threading.Lock()

        def one() -> None:
            nonlocal refused
            client = Node(self._made, self._warm)
            started = time.perf_counter()
            while True:
                status, body, headers = client.request(
                    "POST", "/v1/claim", {"template": "base", "size": "bench"}
                )
                if status == 429:
                    assert headers["Retry-After"]
                    with lock:
                        refused += 1
                    time.sleep(0.05)
                    continue
                assert status == 200, body
                break
            with lock:
                times.append(time.perf_counter() - started)
                claims.append(body)
            client.release(body)

        workers = [threading.Thread(target=one) for _ in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        until(self.full)
        times.sort()
        return Row(
            what=f"{count} claims at once over a pool of {self._warm}",
            value=f"median {show(times[len(times) // 2])}, p99 {show(times[-1])}, "
            f"{refused} told to retry",
        )


def _rss(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
