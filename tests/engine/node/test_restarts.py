"""Claims whose VM died: booted again from their own disks by themselves, but only so often."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sandbox_engine.services import restarts

from tests.engine.node.machines import FakeMachine
from tests.engine.node.world import World
from tests.support.node import Answer
from tests.support.wait import until

MakeNode = Callable[..., World]
SPENT = "its virtual machine died; its budget of 2 restarts is spent: wake it to boot it once more"


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "RETRY_S", 0.01)


def row(node: World, box: Any) -> Any:
    return node.request("GET", f"/v1/sandboxes/{box['id']}").json


def wake(node: World, box: Any) -> int:
    return node.request("POST", f"/v1/sandboxes/{box['id']}/wake").status


def run(node: World, box: Any) -> Answer:
    path = f"/v1/sandboxes/{box['id']}/exec"
    return node.request("POST", path, {"argv": ["echo"]}, token=box["token"])


def events(node: World) -> list[str]:
    lines = (node.folder / "usage.jsonl").read_bytes().splitlines()
    return [json.loads(line)["ev"] for line in lines]


def machines(node: World, box: Any) -> list[FakeMachine]:
    name = box["id"].removeprefix("sb_")
    return [one for key, one in list(node.driver.machines.items()) if name in key]


def die(node: World, box: Any) -> None:
    """The VM of a claim that runs dies."""
    (machine,) = machines(node, box)

    async def end() -> None:
        machine.die()

    node.call(end())


def boots(node: World, box: Any) -> bool:
    return node.journal_state(box["id"]) == "booting"


def restarted(node: World, box: Any, times: int) -> Callable[[], bool]:
    return lambda: (
        row(node, box).get("restarts") == times and node.journal_state(box["id"]) == "running"
    )


def test_it_comes_back_by_itself_until_its_budget_is_spent(make_node: MakeNode) -> None:
    node = make_node(restart_budget=2)
    box = node.claim(env={"MODE": {"value": "prod"}})
    for times in (1, 2):
        die(node, box)
        until(restarted(node, box, times))
        assert "failed" not in row(node, box)
        assert run(node, box).status == 200
    die(node, box)
    assert row(node, box)["failed"] == SPENT
    assert node.request("GET", "/v1/info").json["failed"] == 1
    refused = run(node, box)
    assert refused.status == 409
    assert SPENT in refused.error
    assert events(node) == [
        "claim", "vmm_exit", "vmm_restart", "vmm_exit", "vmm_restart", "vmm_exit", "vmm_failed",
    ]  # fmt: skip
    assert wake(node, box) == 204
    assert run(node, box).status == 200
    die(node, box)  # an explicit wake gave the budget back
    until(restarted(node, box, 4))
    node.release(box)


def test_a_budget_of_none_leaves_it_failed(make_node: MakeNode) -> None:
    node = make_node(restart_budget=0)
    box = node.claim()
    die(node, box)
    assert row(node, box)["failed"] == "its virtual machine died; wake it to boot it from its disk"
    assert events(node) == ["claim", "vmm_exit", "vmm_failed"]
    node.release(box)


def test_a_boot_that_fails_is_tried_again_and_counts(make_node: MakeNode) -> None:
    node = make_node(restart_budget=2)
    box = node.claim()
    node.driver.broken = "no machine starts"
    die(node, box)
    until(lambda: row(node, box).get("failed") == SPENT)
    assert events(node) == ["claim", "vmm_exit", "vmm_failed"]
    assert wake(node, box) == 500
    node.driver.broken = ""
    assert wake(node, box) == 204
    found = row(node, box)
    assert (found["restarts"], "failed" in found) == (1, False)
    node.release(box)


def test_a_use_waits_for_the_boot_and_a_release_ends_it(make_node: MakeNode) -> None:
    node = make_node(restart_budget=1)
    first, second = node.claim(), node.claim()
    node.hold_boots()
    with ThreadPoolExecutor(2) as pool:
        for box in (first, second):
            die(node, box)
            until(partial(boots, node, box))
        using = pool.submit(run, node, first)
        node.settle()
        assert not using.done()
        assert "failed" not in row(node, first)
        releasing = pool.submit(node.request, "POST", f"/v1/sandboxes/{second['id']}/release")
        until(lambda: node.journal_state(second["id"]) in ("destroying", "gone"))
        node.let_boots_go()
        assert using.result().status == 200
        assert releasing.result().status == 204
    until(lambda: not machines(node, second))
    assert machines(node, first)
    node.release(first)
    assert not machines(node, first)
    store = node.folder / "snapshots"
    assert list((store / "layers").iterdir()) == []


@pytest.mark.parametrize(("budget", "good"), [(-1, False), (0, True), (1000, True), (1001, False)])
def test_the_budget_s_limits(budget: int, *, good: bool) -> None:
    import msgspec
    from sandbox_engine.config import Config

    text = json.dumps({"restart_budget": budget})
    if good:
        assert msgspec.json.decode(text, type=Config).restart_budget == budget
        return
    with pytest.raises(msgspec.ValidationError, match=r"restart_budget"):
        msgspec.json.decode(text, type=Config)
