"""What a client of the node API waits for, tier by tier, in the rows that others publish.

Such tables give plain times, so the floor of this one is in the same run above it: a bare
restore for what restores, a ping for what talks to the guest.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from tests.bench.measure import show
from tests.support.engine import engine
from tests.support.node import ROOT, Node, free_port
from tests.support.wait import until

ROUNDS = 5
AT_ONCE = 16
SIZES = {
    "warm": {"cpus": 1, "memory_mib": 256},
    "clone": {"cpus": 1, "memory_mib": 256},  # has no pool
    "cold": {"cpus": 1, "memory_mib": 384},  # has no snapshot
}
HEADING = """\
Over HTTP, as a client of the node API sees them (256 MiB guest, cold 384 MiB):

| operation | median | least | most | times |
|---|---|---|---|---|"""


def section() -> str:
    """The table, in Markdown."""
    with engine(
        listen=f"127.0.0.1:{free_port()}",
        api_token=ROOT,
        sizes=SIZES,
        pools=[{"template": "base", "size": "warm", "warm": 1, "waiting": 1}],
    ) as made:
        api = Node(made.config["listen"])
        found = {tier: _claims(api, tier) for tier in SIZES}
        found |= _on_one(api)
        found[f"{AT_ONCE} clones at once, the last"] = [_at_once(api) for _ in range(2)]
    return "\n".join([HEADING, *(_line(name, times) for name, times in found.items())])


def _line(name: str, times: list[float]) -> str:
    shown = (show(statistics.median(times)), show(min(times)), show(max(times)))
    what = f"claim, {name}" if name in SIZES else name
    return f"| {what} | {' | '.join(shown)} | {len(times)} |"


def _took(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _quiet(api: Node) -> bool:
    (pool,) = api.request("GET", "/v1/info").json["pools"]
    return pool["warm"] == 1 and not pool["refilling"]


def _claims(api: Node, tier: str) -> list[float]:
    times: list[float] = []
    for number in range(ROUNDS + 1):
        until(lambda: _quiet(api), 120)
        took, claim = _took(lambda: api.claim("base", size=tier))
        api.release(claim)
        if number:
            times.append(took)
    return times


def _on_one(api: Node) -> dict[str, list[float]]:
    claim = api.claim("base", size="warm")
    where, token = f"/v1/sandboxes/{claim['id']}", claim["token"]
    found: dict[str, list[float]] = {"exec of /bin/true": [], "hibernate": [], "wake": []}
    steps = {
        "exec of /bin/true": ("exec", {"argv": ["/bin/true"]}),
        "hibernate": ("hibernate", {}),
        "wake": ("wake", {}),
    }
    until(lambda: _quiet(api), 120)
    for number in range(ROUNDS + 1):
        for name, (verb, body) in steps.items():
            ask = partial(api.request, "POST", f"{where}/{verb}", body, token=token)
            took, answer = _took(ask)
            assert answer.status < 300, answer
            if number:
                found[name].append(took)
    api.release(claim)
    return found


def _at_once(api: Node) -> float:
    until(lambda: _quiet(api), 120)
    with ThreadPoolExecutor(AT_ONCE) as threads:
        took, claims = _took(
            lambda: list(threads.map(lambda _: api.claim("base", size="clone"), range(AT_ONCE)))
        )
    for claim in claims:
        api.release(claim)
    return took
