"""What a guest notices of a fork and of a long sleep: what docs/fork-correctness.md promises.

One sandbox with a workload (`workload.py`, a terminal, a detached command, an upload under
way) is forked, and then put to sleep; the tests look at the parent, the child and the sleeper.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from sandbox.v1 import guest_pb2, guest_pb2_grpc

from tests.snapshots.nodes import Box, Node
from tests.snapshots.test_live_states import LONG_S
from tests.support import node as support
from tests.support.wait import until

pytestmark = pytest.mark.vm

TICK_S = 0.1
SLACK_S = 1.0
"""What a loaded host may hold a guest up."""
SHOW_WHOLE = """
import hashlib, os
names = [name for name in os.listdir("/root/files") if name.isdigit()]
bodies = {name: open(f"/root/files/{name}", "rb").read() for name in names}
print(*(name for name, body in bodies.items()
        if len(body) == 20032 and hashlib.sha256(body[32:]).digest() == body[:32]))
print(*names)
"""
HALF = "/workspace/half"
DETACHED = "setsid sh -c 'while :; do sleep 1; done' </dev/null >/dev/null 2>&1 & echo $!"


def state(box: Box) -> Any:
    """What the workload sees now."""
    return json.loads(box.run("cat /run/state.json"))


def files(box: Box) -> set[str]:
    """Those that the workload wrote, each of which is whole."""
    whole, there = box.run(f"python3 -c '{SHOW_WHOLE}'").split("\n")
    assert set(whole.split()) == set(there.split())
    return set(there.split())


class Terminal:
    """A terminal of a guest, through a relay."""

    def __init__(self, box: Box, pid: int | None = None) -> None:
        self._relay = _relay(box)
        if pid is None:
            self._relay.send(op="pty_open", cols=80, rows=24)
            self.pid = int(self._relay.frame()["pid"])
        else:
            self.pid = pid
            self._relay.send(op="attach", pid=pid)

    def type(self, text: str, expected: str) -> None:
        """Type, and wait for what it writes."""
        self._relay.send(op="stdin", data=base64.b64encode(text.encode()).decode())
        got = ""
        while expected not in got:
            frame = self._relay.frame()
            got += base64.b64decode(frame.get("data", "")).decode()

    def close(self) -> None:
        self._relay.close()


def _relay(box: Box, call: str = "agent") -> support.Relay:
    made = support.Node(f"127.0.0.1:{box.node.port}").upgrade(box.claim, call)
    assert made.status == 101
    return made


class Upload:
    """A file that is on its way: half of it was sent."""

    def __init__(self, box: Box) -> None:
        self._channel = grpc.insecure_channel(f"unix:{box.node.engine.grpc_socket}")
        self._said: queue.Queue[guest_pb2.WriteFileRequest | None] = queue.Queue()
        start = guest_pb2.WriteFileStart(sandbox_id=box.id, path=HALF)
        self._said.put(guest_pb2.WriteFileRequest(start=start))
        self._said.put(guest_pb2.WriteFileRequest(data=b"first "))
        stub = guest_pb2_grpc.GuestServiceStub(self._channel)
        self._call = stub.WriteFile.future(iter(self._said.get, None))
        until(lambda: box.run("ls -A /workspace | wc -l") == "1")  # its temporary file

    def finish(self) -> None:
        self._said.put(guest_pb2.WriteFileRequest(data=b"second"))
        self._said.put(guest_pb2.WriteFileRequest(done=guest_pb2.WriteFileDone()))
        assert self._call.result(30).size == len("first second")
        self._said.put(None)
        self._channel.close()


class Moment:
    """The parent, the child that was forked of it, and what was seen just before."""

    def __init__(self, parent: Box) -> None:
        self.parent = parent
        parent.run("echo tmpfs > /run/mark")
        source = Path(__file__).with_name("workload.py").read_text()
        parent.run(f"cat > /root/workload.py <<'END'\n{source}\nEND")
        parent.start("exec python3 /root/workload.py > /root/workload.log 2>&1")
        until(lambda: parent.run("cat /run/state.json 2>/dev/null || true") != "", timeout_s=60)
        self.terminal = Terminal(parent)
        self.terminal.type("A=kept; echo rea''dy\n", "ready")
        self.detached = int(parent.run(DETACHED))
        self.link = self.linked("first")
        self.upload = Upload(parent)
        until(lambda: state(parent)["echoed"] > 0 and state(parent)["files"] > 2)
        self.files = files(parent)
        self.before = state(parent)
        (self.child,) = parent.fork()

    def linked(self, name: str) -> support.Relay:
        """A connection from outside to the workload's server."""
        made = _relay(self.parent, "ports/7001")
        made.socket.sendall(name.encode())
        assert made.read(len(name)) == name.encode()
        return made


@pytest.fixture(scope="module")
def moment(live: Node) -> Iterator[Moment]:
    parent = live.claim(ttl_seconds=3600)
    made = Moment(parent)
    yield made
    made.link.close()
    made.terminal.close()
    made.child.release()
    parent.release()


def echoed_more(box: Box, before: Any) -> bool:
    return bool(state(box)["echoed"] > before["echoed"])


def drew(box: Box) -> bool:
    return bool(state(box)["drawn"])


def both(moment: Moment) -> list[Box]:
    return [moment.parent, moment.child]


def test_processes_and_memory_go_on_in_both(moment: Moment) -> None:
    for box in both(moment):
        assert box.run("cat /run/mark") == "tmpfs"
        box.run(f"kill -0 {moment.detached}")
        until(partial(echoed_more, box, moment.before))


def test_a_terminal_goes_on_in_both(moment: Moment) -> None:
    moment.terminal.type("echo par''ent $A\n", "parent kept")
    inherited = Terminal(moment.child, moment.terminal.pid)
    inherited.type("echo chi''ld $A\n", "child kept")
    inherited.close()


def test_a_connection_from_outside_is_the_parents_alone(moment: Moment) -> None:
    until(lambda: state(moment.child)["ended"] != [])
    assert [name for name, _ in state(moment.child)["ended"]] == ["first"]
    moment.link.socket.sendall(b"still")
    assert moment.link.read(5) == b"still"
    assert state(moment.parent)["ended"] == []


def test_an_upload_is_whole_in_the_parent_and_absent_in_the_child(moment: Moment) -> None:
    until(lambda: moment.child.run("ls -A /workspace") == "")
    moment.upload.finish()
    assert moment.parent.run(f"cat {HALF}; ls -A /workspace") == "first secondhalf"


def test_a_warm_generator_draws_anew_in_the_child(moment: Moment) -> None:
    for box in both(moment):
        box.run("touch /run/go")
        until(partial(drew, box))
    assert state(moment.parent)["drawn"] != state(moment.child)["drawn"]


def test_files_are_whole_in_both(moment: Moment) -> None:
    for box in both(moment):
        assert files(box) >= moment.files


def test_no_timer_storms_after_a_long_sleep(moment: Moment) -> None:
    """Monotonic timers missed nothing; one of the wall clock tells in one go what it missed."""
    parent = moment.parent
    before = state(parent)
    parent.hibernate()
    threading.Event().wait(LONG_S)
    parent.wake()
    until(lambda: state(parent)["echoed"] > before["echoed"] + 5)
    after = state(parent)
    awake_s = after["monotonic_s"] - before["monotonic_s"]
    slept_s = after["time"] - before["time"] - awake_s
    assert slept_s > LONG_S - 0.5
    most = (awake_s + SLACK_S) / TICK_S

    def more(timer: str, what: str) -> int:
        return int(after[timer][what] - before[timer][what])

    assert more("monotonic", "ticks") <= most
    assert more("wall", "fired") <= most
    assert more("wall", "ticks") >= slept_s / TICK_S - 1


def test_after_a_sleep_the_connection_from_outside_has_ended(moment: Moment) -> None:
    until(lambda: "first" in [name for name, _ in state(moment.parent)["ended"]])
    moment.link.socket.settimeout(30)
    try:
        assert moment.link.read(1) == b""
    except (TimeoutError, ConnectionError) as error:
        assert isinstance(error, ConnectionError)
    moment.link.close()
    moment.link = moment.linked("second")


def test_after_a_sleep_the_terminal_is_attached_to_again(moment: Moment) -> None:
    moment.terminal.close()
    moment.terminal = Terminal(moment.parent, moment.terminal.pid)
    moment.terminal.type("echo wo''ken $A\n", "woken kept")
    moment.parent.run(f"kill -0 {moment.detached}")
    assert moment.parent.run("cat /run/mark") == "tmpfs"


def test_what_was_there_at_a_fork_outlives_the_childs_vm(moment: Moment) -> None:
    """The guest's files were synced before the moment: a boot from that disk finds them whole."""
    child = moment.child
    folder = f"vm-{child.id.removeprefix('sb_')}"
    (pid,) = (
        pid
        for pid in child.node.engine.vmm_pids()
        if Path(f"/proc/{pid}/cwd").readlink().name == folder
    )
    os.kill(pid, signal.SIGKILL)
    until(lambda: child.row().get("restarts") == 1, timeout_s=90)
    assert files(child) >= moment.files


def test_a_parent_sleeps_again_and_again_while_its_children_live(live: Node) -> None:
    """No memory and no disk that a child stands on is written again."""
    parent = live.claim()
    children: list[Box] = []
    try:
        for cycle in range(3):
            parent.run(f"echo {cycle} | tee /root/mark > /run/mark")
            if cycle:
                parent.hibernate()
            children += parent.fork()
            assert parent.row()["hibernated"] == bool(cycle), "a fork woke its parent"
            if cycle == 1:  # few VMs at once
                children.pop(0).release()
        for cycle, child in enumerate(children, start=1):
            assert child.run("cat /root/mark /run/mark") == f"{cycle}\n{cycle}"
        parent.run("echo last > /root/mark")
        assert children[-1].run("cat /root/mark") == "2"
    finally:
        for box in (*children, parent):
            box.release()


LINKS = 20


def test_a_chain_of_checkpoints_costs_each_link_alike(live: Node) -> None:
    """Each link stores what it changed and nothing of the links before it."""
    box = live.claim()
    moments: list[str] = []
    store = live.engine.data / "snapshots"
    others = set((store / "layers").iterdir())

    def layers() -> set[Path]:
        """Those of this chain: others of earlier tests may be on their way out."""
        return set((store / "layers").iterdir()) - others

    for link in range(LINKS):
        box.run(f"echo {link} > /root/link-{link}")
        moments.append(box.checkpoint())
        box.release()
        box = live.branch(moments[-1])
    assert box.run("cat /root/link-* | sort -n").split() == [str(link) for link in range(LINKS)]
    box.release()
    until(lambda: len(layers()) == LINKS)
    first, last = (
        (store / "records" / name / "current" / "memory").stat().st_size
        for name in (moments[1], moments[-1])
    )
    assert last < first * 1.5, "a link stores the memory of those before it"
    disks = sorted(path.stat().st_blocks for path in layers())
    assert disks[-1] < disks[0] * 4, "a link stores the disk of those before it"
    for name in moments:
        live.call("DELETE", f"/v1/checkpoints/{name}")
    until(lambda: not layers())
