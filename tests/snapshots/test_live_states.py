"""Real guests that are hibernated, woken, forked, checkpointed and branched."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.snapshots.nodes import Box, Failed, Node
from tests.support.wait import until

pytestmark = pytest.mark.vm
OWN = (
    "cat /etc/machine-id",
    "cat /proc/sys/kernel/random/boot_id",
    "cat /run/sandbox/generation",
    "head -c 32 /dev/urandom | md5sum",
    "hostname",
)
"""What no two sandboxes have in common."""
BEAT = "while :; do date +%s.%N > /run/b; mv /run/b /run/beat; sleep 0.1; done"


@pytest.fixture
def box(live: Node) -> Iterator[Box]:
    made = live.claim(metadata={"team": "a"}, env={"MODE": {"value": "prod"}})
    yield made
    try:
        made.release()
    except Failed as failure:
        assert failure.status == 404


def beats_after(box: Box, before: str) -> bool:
    return box.run("cat /run/beat") > before


def test_a_hibernated_sandbox_has_no_process_and_goes_on_where_it_was(box: Box) -> None:
    engine = box.node.engine
    box.run("echo tmpfs > /run/mark; echo disk > /root/mark")
    box.start(BEAT)
    identity = box.run("cat /etc/machine-id /proc/sys/kernel/random/boot_id; hostname; echo $MODE")
    vm = box.id.removeprefix("sb_")
    for cycle in range(5):
        box.hibernate()
        box.hibernate()  # idempotent
        assert box.row()["hibernated"]
        assert box.node.info()["hibernated"] == 1
        assert not [name for name in engine.vm_folders() if vm in name]
        if cycle % 2:
            box.wake()
            box.wake()
            assert not box.row()["hibernated"]
        assert box.run("cat /run/mark /root/mark") == "tmpfs\ndisk"
        box.run(
            f"[ {cycle} = 0 ] || md5sum --quiet -c /run/sums; echo {cycle} > /root/f{cycle}; "
            f"for folder in /run /root; do head -c 1000000 /dev/urandom > $folder/r{cycle}; done; "
            "md5sum /run/r* /root/r* > /run/sums"
        )
        before = box.run("cat /run/beat")
        until(partial(beats_after, box, before), timeout_s=10)
    assert box.run("cat /root/f*").split() == [str(cycle) for cycle in range(5)]
    assert identity == box.run(
        "cat /etc/machine-id /proc/sys/kernel/random/boot_id; hostname; echo $MODE"
    )
    assert abs(float(box.run("date +%s.%N")) - time.time()) < 2


CLOCKS = "python3 -c 'import time; print(time.time(), time.monotonic())'"
DRAWS = """
import os, random, signal, time
random.seed(1)
signal.signal(signal.SIGUSR1, lambda *_: random.seed())
open(f"/run/sandbox/reseed/{os.getpid()}", "w").close()
while True:
    drawn = str(random.getrandbits(64)) if os.path.exists("/run/go") else ""
    open("/run/draw.new", "w").write(drawn)
    os.rename("/run/draw.new", "/run/draw")
    time.sleep(0.1)
"""
LONG_S = 3.0
"""Longer than a clock may be wrong."""


def test_the_clock_on_the_wall_goes_on_and_the_monotonic_one_stood_still(box: Box) -> None:
    wall, monotonic = map(float, box.run(CLOCKS).split())
    box.hibernate()
    threading.Event().wait(LONG_S)
    later, on = map(float, box.run(CLOCKS).split())
    assert (later - wall) - (on - monotonic) > LONG_S - 0.5


def test_a_generator_that_asks_for_it_is_told_to_seed_anew(box: Box) -> None:
    box.run(f"cat > /root/draws.py <<'END'\n{DRAWS}\nEND")
    box.start("python3 /root/draws.py")
    until(lambda: box.run("ls /run/sandbox/reseed") != "", timeout_s=10)
    children = box.fork(2)
    draws = []
    for one in (box, *children):
        one.run("touch /run/go")
        until(partial(drew, one), timeout_s=10)
        draws.append(one.run("cat /run/draw"))
    for child in children:
        child.release()
    assert len(set(draws)) == 3


def drew(box: Box) -> bool:
    return box.run("cat /run/draw") != ""


def test_forks_share_the_past_and_nothing_after(box: Box) -> None:
    box.run("echo past > /root/mark; echo tmpfs > /run/mark")
    first = box.fork(2, claim_ref_prefix="team/")
    assert [child.row()["claim_ref"] for child in first] == [f"team/{c.id}" for c in first]
    assert first[0].row()["metadata"] == {"team": "a"}
    box.hibernate()
    (sleeper,) = box.fork()
    assert box.row()["hibernated"], "a fork woke its parent"
    boxes = [box, *first, sleeper]
    try:
        assert {one.run("cat /root/mark /run/mark; echo $MODE") for one in boxes} == {
            "past\ntmpfs\nprod"
        }
        for words in OWN:
            assert len({one.run(words) for one in boxes}) == len(boxes), words
        for number, one in enumerate(boxes):
            one.run(f"echo {number} > /root/mine")
        assert [one.run("cat /root/mine") for one in boxes] == ["0", "1", "2", "3"]
        (grandchild,) = first[0].fork()
        boxes.append(grandchild)
        assert grandchild.run("cat /root/mark /root/mine") == "past\n1"
    finally:
        for one in boxes[1:]:
            one.release()


def test_a_checkpoint_is_a_moment_and_a_chain_of_them_a_history(box: Box) -> None:
    moments = []
    box.start(BEAT)
    for number in range(3):
        box.run(f"echo {number} > /root/mark; echo {number} > /run/mark")
        moments.append(box.checkpoint(f"at {number}"))
    box.run("echo later > /root/mark")
    listed = [one["id"] for one in box.node.call("GET", "/v1/checkpoints")["checkpoints"]]
    assert listed[:3] == moments[::-1]
    for number in (0, 2):
        branch = box.node.branch(moments[number])
        assert branch.claim["from_checkpoint"] == moments[number]
        assert branch.run("cat /root/mark /run/mark") == f"{number}\n{number}"
        assert branch.run("echo ${MODE:-none}") == "none", "the source's variables went along"
        inner = branch.checkpoint("inner")
        branch.release()
        deep = box.node.branch(inner)
        assert deep.run("cat /root/mark") == str(number)
        deep.release()
        box.node.call("DELETE", f"/v1/checkpoints/{inner}")
    assert box.run("cat /root/mark") == "later"
    box.release()
    survivor = box.node.branch(moments[1])
    assert survivor.run("cat /root/mark") == "1"
    survivor.release()
    for moment in moments:
        box.node.call("DELETE", f"/v1/checkpoints/{moment}")
        with pytest.raises(Failed, match="404"):
            box.node.branch(moment)
    store = box.node.engine.data / "snapshots"
    assert everything(store) == ["layers", "records", "work"]


def test_a_sandbox_whose_vm_died_boots_from_its_own_disk(box: Box) -> None:
    box.run("echo kept > /root/mark; echo lost > /run/mark; sync")
    engine = box.node.engine
    folder = engine.data / "vms" / f"vm-{box.id.removeprefix('sb_')}"
    (pid,) = (pid for pid in engine.vmm_pids() if Path(f"/proc/{pid}/cwd").readlink() == folder)
    os.kill(pid, 9)
    until(lambda: box.row().get("restarts"), timeout_s=90)
    assert box.run("cat /root/mark; cat /run/mark 2>/dev/null || echo none") == "kept\nnone"
    box.hibernate()  # its memory did not begin as its template's
    assert box.run("cat /root/mark") == "kept"
    (child,) = box.fork()
    assert child.run("cat /root/mark") == "kept"
    child.release()


def test_an_engine_that_is_killed_finds_its_sleepers(own_node: Node) -> None:
    sleeper, runner = own_node.claim(), own_node.claim()
    sleeper.run("echo mark > /root/mark")
    moment = runner.checkpoint()
    runner.run("echo after > /root/mark")
    sleeper.hibernate()
    own_node.engine.restart()
    assert sleeper.row()["hibernated"]
    assert sleeper.run("cat /root/mark") == "mark"
    assert runner.run("cat /root/mark") == "after"
    second = runner.checkpoint()
    for checkpoint, words in ((moment, ""), (second, "after")):
        branch = own_node.branch(checkpoint)
        assert branch.run("cat /root/mark 2>/dev/null || true") == words
        branch.release()
        own_node.call("DELETE", f"/v1/checkpoints/{checkpoint}")
    sleeper.release()
    runner.release()
    assert everything(own_node.engine.data / "snapshots") == ["layers", "records", "work"]


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
