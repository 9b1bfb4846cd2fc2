"""kill -9 of the daemon while it hands out and takes back: what it answered is true after."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import Engine, engine
from tests.support.node import ROOT, Node, free_port
from tests.support.wait import until
from tests.system.node.conftest import TINY

pytestmark = pytest.mark.vm

WORKERS = 4
ANSWERED = 12


class Burst:
    """Clients that claim and release until the daemon is gone, and remember its answers."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        self.granted: dict[str, str] = {}
        """Claims that were answered and whose release was not asked for."""
        self.ended: set[str] = set()
        """Claims whose release was answered."""
        self._threads = [threading.Thread(target=self._work, args=(n,)) for n in range(WORKERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    @property
    def answered(self) -> int:
        return len(self.granted) + len(self.ended)

    def _work(self, number: int) -> None:
        try:
            while True:
                self._claim(keep=number % 2 == 0)
        except OSError:
            return

    def _claim(self, *, keep: bool) -> None:
        answer = self._node.request("POST", "/v1/claim", {"template": "base", "size": "tiny"})
        if answer.status != 200:
            return
        claim = answer.json
        if keep:
            with self._lock:
                self.granted[claim["id"]] = claim["token"]
            return
        path = f"/v1/sandboxes/{claim['id']}/release"
        if self._node.request("POST", path, token=claim["token"]).status == 204:
            with self._lock:
                self.ended.add(claim["id"])


def usage(data: Path) -> list[Any]:
    text = (data / "usage.jsonl").read_bytes()
    assert text.endswith(b"\n")
    return [json.loads(line) for line in text.splitlines()]


def test_answers_survive_a_kill(base_template: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    with engine(
        listen=address,
        api_token=ROOT,
        sizes={"tiny": TINY},
        pools=[{"template": base_template, "size": "tiny", "warm": 3}],
    ) as made:
        node = Node(address)
        burst = Burst(node)
        burst.start()
        until(lambda: burst.answered >= ANSWERED, timeout_s=120)
        made.kill()
        burst.join()
        made.config["pools"] = []
        made.start()
        _check(made, node, burst)
        for sandbox, token in burst.granted.items():
            assert (
                node.request("POST", f"/v1/sandboxes/{sandbox}/release", token=token).status == 204
            )
        for row in node.request("GET", "/v1/sandboxes").json["sandboxes"]:
            node.release_by_id(row["id"])
        until(lambda: made.vm_folders() == [])


def _check(made: Engine, node: Node, burst: Burst) -> None:
    rows = {row["id"] for row in node.request("GET", "/v1/sandboxes").json["sandboxes"]}
    assert burst.granted.keys() <= rows
    assert not burst.ended & rows
    until(_settled(made, rows))
    for sandbox, token in burst.granted.items():
        answer = node.request(
            "POST", f"/v1/sandboxes/{sandbox}/exec", {"argv": ["echo", "alive"]}, token=token
        )
        assert answer.json == {"exit_code": 0, "stdout": "alive\n", "stderr": ""}
    claimed = {event["id"] for event in usage(made.data) if event["ev"] == "claim"}
    assert burst.granted.keys() | burst.ended <= claimed


def _settled(made: Engine, rows: set[str]) -> Callable[[], bool]:
    """Only the VMs of the claims are left."""
    wanted = sorted("vm-" + sandbox.removeprefix("sb_") for sandbox in rows)
    return lambda: made.vm_folders() == wanted and len(made.vmm_pids()) == len(wanted)
