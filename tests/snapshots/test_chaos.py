"""Hundreds of verbs at random, the engine killed between and under them, against a model.

`SANDBOX_CHAOS_VERBS` and `SANDBOX_CHAOS_SEED` make it longer or shorter, and another one.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pytest

from tests.snapshots.chaos import TEMPLATE, Known, World
from tests.snapshots.conftest import live_node
from tests.snapshots.nodes import Node
from tests.support.wait import until

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3600)]
VERBS = int(os.environ.get("SANDBOX_CHAOS_VERBS", "300"))
SEED = int(os.environ.get("SANDBOX_CHAOS_SEED", "5"))
WEIGHTS = {
    "write": 60, "read": 30, "hibernate": 45, "wake": 20, "spawn": 10, "fork": 15, "branch": 10,
    "checkpoint": 20, "forget": 12, "promote": 6, "claim_template": 5, "claim": 10, "renew": 10,
    "release": 25, "crash": 1,
}  # fmt: skip
KILLS = 0.05
"""Of verbs: as many are cut short by the engine's death."""
MOMENTS = {"t", "ev", "id"}
SPANS = {"claim", "release", "hibernate", "wake", "vmm_exit", "vmm_failed", "vmm_restart"}


@contextmanager
def told(node: Node) -> Iterator[None]:
    """What the engine said last, where a check fails."""
    try:
        yield
    except BaseException:
        print(node.engine.log.read_text(errors="replace")[-30_000:])
        raise


@pytest.mark.usefixtures("busybox_template")
def test_whatever_happens_the_node_is_what_the_model_says() -> None:
    dice = random.Random(SEED)
    pools = [{"template": TEMPLATE, "size": "tiny", "warm": 0, "waiting": 0}]
    sizes = {"tiny": {"cpus": 1, "memory_mib": 128}}
    with live_node(TEMPLATE, pools=pools, sizes=sizes, restart_budget=1000) as node, told(node):
        world = World(node, SEED)
        for _ in range(3):
            world.claim()
        for number in range(VERBS):
            (name,) = dice.choices(list(WEIGHTS), list(WEIGHTS.values()))
            while len(world.alive) < 2:
                world.claim()
            print(f"{time.monotonic():.1f} {number} {name}", flush=True)
            if name != "crash" and dice.random() < KILLS:
                world.torn(getattr(world, name), dice.random() * 0.4, kill=dice.random() < 0.7)
            else:
                getattr(world, name)()
            if number % 50 == 49:
                node.engine.restart()
            world.check_all()
            world.check_awake()
        for known in list(world.alive):
            world.check(known)
            world.end(known)
        for moment in world.checkpoints:
            node.call("DELETE", f"/v1/checkpoints/{moment}")
        for one in node.info()["templates"]:
            node.call("DELETE", "/v1/templates?template=chaos:v1&size=tiny")
            assert one["key"]["template"] == "chaos:v1"
        data = node.engine.data
        store = data / "snapshots"
        left = sorted(str(path.relative_to(store)) for path in store.rglob("*"))
        assert left == ["layers", "records", "work"]
        until(lambda: node.engine.vm_folders() == [])
        assert node.engine.vmm_pids() == []
        lines = (data / "usage.jsonl").read_text().splitlines()
        fold_and_compare([json.loads(line) for line in lines], world.ended)


def fold_and_compare(lines: list[Any], ended: list[Known]) -> None:
    """The billed seconds of each sandbox are what the model's clock readings allow."""
    told: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for line in lines:
        if line["ev"] in SPANS:
            told[line["id"]].append((line["ev"], datetime.fromisoformat(line["t"]).timestamp()))
    for known in ended:
        events = told[known.box.id]
        assert [name for name, _ in events] == [name for name, _, _ in known.events]
        for (name, at), (_, low, high) in zip(events, known.events, strict=True):
            assert low <= at <= high, (known.box.id, name)
        least = folded([(n, hi if sign(n) < 0 else lo) for n, lo, hi in known.events])
        most = folded([(n, lo if sign(n) < 0 else hi) for n, lo, hi in known.events])
        assert min(least, most) <= folded(events) <= max(least, most)


def sign(event: str) -> int:
    """Whether a sandbox is billed from an event on (-1: its time is taken away), or until it."""
    return {"claim": -1, "wake": -1, "vmm_restart": -1, "vmm_failed": 0}.get(event, 1)


def folded(events: list[tuple[str, float]]) -> float:
    """Seconds billed: claim to release, less hibernate to wake, less exit to restart."""
    if events[-2][0] == "hibernate":  # it slept to its end
        events = [*events[:-1], ("wake", events[-1][1]), events[-1]]
    return sum(sign(name) * at for name, at in events)
