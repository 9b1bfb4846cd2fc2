"""Each verb at the moment in which the engine is told to stop: it is done, or nothing of it is.

The verb is under way when the stop arrives, or arrives behind it.  Whoever asked is answered
or cut off; what was answered is so when the engine runs again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.client import HTTPException
from typing import Any

import msgspec
import pytest

from tests.snapshots.chaos import STOPPING
from tests.snapshots.conftest import live_node
from tests.snapshots.nodes import Box, Failed, Node
from tests.support.wait import until

pytestmark = pytest.mark.vm


@pytest.fixture(scope="module")
def node(base_template: str) -> Iterator[Node]:
    """An engine that these tests stop and start; its one VM goes from test to test."""
    pools = [{"template": base_template, "size": "tiny", "warm": 0, "waiting": 0}]
    with live_node(base_template, pools=pools) as made:
        yield made


@pytest.fixture(scope="module")
def boxes(node: Node) -> Iterator[list[Box]]:
    """One that lives, made anew for the test behind one that ended it."""
    made: list[Box] = []
    yield made
    for box in made:
        box.release()


@pytest.fixture
def box(node: Node, boxes: list[Box]) -> Box:
    if not boxes:
        boxes.append(node.claim())
        boxes[0].run("echo kept > /root/kept")
    return boxes[0]


def on_record(node: Node, box: Box) -> str:
    """Its state in the journal, where a call would wake it; empty where it is on none."""
    with closing(sqlite3.connect(f"file:{node.engine.data}/journal.db?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT record FROM sandboxes WHERE id=?", (box.id,)).fetchall()
    return str(msgspec.json.decode(rows[0][0])["state"]) if rows else ""


class Asked(threading.Thread):
    """A verb in a thread: answered, refused as an engine that stops does, or cut off."""

    def __init__(self, verb: Callable[[], Any]) -> None:
        super().__init__()
        self._verb = verb
        self.answered = False
        self.answer: Any = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.answer = self._verb()
            self.answered = True
        except (OSError, HTTPException):
            pass
        except Failed as refusal:
            self.failure = None if refusal.status in STOPPING else refusal
        except BaseException as error:
            self.failure = error

    def end(self) -> None:
        self.join(60)
        assert not self.is_alive()
        if self.failure is not None:
            raise self.failure


def stopped_during(
    node: Node, verb: Callable[[], Any], under_way: Callable[[], bool] | None
) -> Asked:
    """Stop the engine once the verb is `under_way`, or ask behind the stop; start it again."""
    asked = Asked(verb)
    if under_way is not None:
        asked.start()
        until(lambda: under_way() or not asked.is_alive(), timeout_s=20)
        node.engine.stop()
    else:
        stop = threading.Thread(target=node.engine.stop)
        stop.start()
        asked.start()
        stop.join()
    asked.end()
    node.engine.start()
    return asked


def is_whole(box: Box) -> None:
    """It lives, and has what it had."""
    assert box.run("cat /root/kept") == "kept"


def is_gone(node: Node, box: Box) -> None:
    with pytest.raises(Failed, match="404"):
        box.run("true")
    until(lambda: node.engine.vm_folders() == [])
    assert node.engine.vmm_pids() == []


ORDER = pytest.mark.parametrize("first", ["verb", "stop"])


@ORDER
def test_exec(node: Node, box: Box, first: str) -> None:
    box.run("rm -f /run/begun")
    probe: list[bool] = []

    def begun() -> bool:
        probe[:] = [box.run("test -e /run/begun && echo yes || true") == "yes"]
        return probe[0]

    asked = stopped_during(
        node,
        lambda: box.run("touch /run/begun; exec sleep 4711"),
        begun if first == "verb" else None,
    )
    assert not asked.answered
    is_whole(box)
    until(lambda: box.run("pgrep -f '[s]leep 4711' || true") == "")


@ORDER
def test_hibernate(node: Node, box: Box, first: str) -> None:
    asked = stopped_during(
        node,
        box.hibernate,
        (lambda: on_record(node, box) != "running") if first == "verb" else None,
    )
    if first == "verb" or asked.answered:
        assert box.row()["hibernated"], "a step that was begun is finished"
    is_whole(box)


@ORDER
def test_wake(node: Node, box: Box, first: str) -> None:
    box.hibernate()
    asked = stopped_during(
        node,
        box.wake,
        (lambda: on_record(node, box) != "hibernated") if first == "verb" else None,
    )
    if first == "verb" or asked.answered:
        assert not box.row()["hibernated"]
    is_whole(box)


@ORDER
def test_fork(node: Node, box: Box, first: str) -> None:
    asked = stopped_during(
        node,
        lambda: box.fork(2),
        (lambda: on_record(node, box) == "saving") if first == "verb" else None,
    )
    rows = node.call("GET", "/v1/sandboxes")["sandboxes"]
    children = [row["id"] for row in rows if row["id"] != box.id]
    assert len(children) == 2 if asked.answered else len(children) in (0, 2), "not all or none"
    for child in children:
        node.call("POST", f"/v1/sandboxes/{child}/release")
    is_whole(box)


@ORDER
def test_checkpoint(node: Node, box: Box, first: str) -> None:
    asked = stopped_during(
        node,
        box.checkpoint,
        (lambda: on_record(node, box) == "saving") if first == "verb" else None,
    )
    kept = [one["id"] for one in node.call("GET", "/v1/checkpoints")["checkpoints"]]
    assert kept == [asked.answer] if asked.answered else len(kept) <= 1
    for moment in kept:
        branch = node.branch(moment)
        assert branch.run("cat /root/kept") == "kept"
        branch.release()
        node.call("DELETE", f"/v1/checkpoints/{moment}")
    is_whole(box)


@ORDER
def test_renew(node: Node, box: Box, first: str) -> None:
    before = box.row()["deadline"]

    def renew() -> str:
        told = node.call("POST", f"{box.path}/renew", {"ttl_seconds": 86400}, token=box.token)
        return str(told["deadline"])

    asked = stopped_during(node, renew, (lambda: False) if first == "verb" else None)
    deadline = box.row()["deadline"]
    assert deadline == asked.answer if asked.answered else deadline >= before
    is_whole(box)


@ORDER
def test_release(node: Node, box: Box, boxes: list[Box], first: str) -> None:
    asked = stopped_during(
        node,
        box.release,
        (lambda: on_record(node, box) != "running") if first == "verb" else None,
    )
    if first == "stop" and not asked.answered and on_record(node, box):
        box.release()
    boxes.clear()
    is_gone(node, box)


@ORDER
def test_reap(node: Node, box: Box, boxes: list[Box], first: str) -> None:
    node.call("POST", f"{box.path}/renew", {"ttl_seconds": 1}, token=box.token)
    if first == "verb":
        until(lambda: on_record(node, box) != "running")
        node.engine.stop()
    else:
        node.engine.stop()  # the lease ends while no engine runs
    node.engine.start()
    boxes.clear()
    until(lambda: on_record(node, box) == "")
    is_gone(node, box)
