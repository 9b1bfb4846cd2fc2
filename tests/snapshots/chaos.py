"""A model of what sandboxes hold, whether they sleep and what they were billed for.

Every verb is done to the node and to the model.  A verb that the engine was killed under
may have happened or not; the model then takes over what the node says, where both are
allowed, and everything else has to be as it was.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from tests.snapshots.nodes import Box, Failed, Node
from tests.support.wait import until

LIMIT = 6
"""Sandboxes at once: as many VMs."""
TEMPLATE = "busybox"
"""Small, and quick to ask: what follows starts as few processes as can be."""
LEASE_S = 86_400
"""Longer than any run of this."""
SHOW = (
    "for f in /etc/c? /run/c?; do [ -f $f ] && read -r t < $f && echo $f $t; done; "
    "read -r p 2>/dev/null < /run/pid && kill -0 $p 2>/dev/null && echo alive yes; true"
)
PROCESS = "setsid sh -c 'echo $$ > /run/pid; exec sleep 100000' </dev/null >/dev/null 2>&1 & "
PROCESS += "until [ -s /run/pid ]; do sleep 0.1; done"
STOPPING = (409, 429, 502, 503)
"""How an engine that stops refuses what it has not begun, or cannot end."""


@dataclass
class Image:
    """What a sandbox holds, or a saved state of one."""

    disk: dict[str, str] = field(default_factory=dict)
    memory: dict[str, str] = field(default_factory=dict)
    process: bool = False

    def copy(self) -> Image:
        return Image(dict(self.disk), dict(self.memory), self.process)

    def shown(self) -> dict[str, str]:
        files = {f"/etc/{name}": text for name, text in self.disk.items()}
        files |= {f"/run/{name}": text for name, text in self.memory.items()}
        return files | ({"alive": "yes"} if self.process else {})


@dataclass
class Known:
    """A sandbox, as the model has it."""

    box: Box
    image: Image
    asleep: bool = False
    events: list[tuple[str, float, float]] = field(default_factory=list)
    """What the usage journal must say of it: event, not before, not after."""


class World:
    """The node and the model of it."""

    def __init__(self, node: Node, seed: int) -> None:
        self.node, self.random = node, random.Random(seed)
        self.alive: list[Known] = []
        self.ended: list[Known] = []
        self.checkpoints: dict[str, Image] = {}
        self.template: Image | None = None
        self.touched: Known | None = None
        """Whom the verb under way is about."""
        self.written = ("", "")

    # -- verbs -------------------------------------------------------------------

    def claim(self) -> None:
        self._born(lambda: [self._claimed(TEMPLATE)], Image())

    def claim_template(self) -> None:
        if self.template is not None:
            self._born(lambda: [self._claimed("chaos:v1")], self.template)

    def branch(self) -> None:
        if self.checkpoints:
            name = self.random.choice(list(self.checkpoints))
            self._born(
                lambda: [self.node.branch(name, ttl_seconds=LEASE_S)], self.checkpoints[name]
            )

    def fork(self) -> None:
        known, count = self._any(), self.random.randint(1, 2)
        if len(self.alive) + count <= LIMIT:
            self._born(lambda: known.box.fork(count, ttl_seconds=LEASE_S), known.image)

    def write(self) -> None:
        known = self._any()
        name, text = f"c{self.random.randrange(4)}", f"{self.random.getrandbits(64):x}"
        script = "".join(
            f"echo {text} > {folder}/.{name} && mv {folder}/.{name} {folder}/{name};"
            for folder in ("/etc", "/run")
        )
        self.written = (name, text)
        with self._used(known):
            known.box.run(script + "true")
            known.image.disk[name] = known.image.memory[name] = text

    def read(self) -> None:
        self.check(self._any())

    def spawn(self) -> None:
        known = self._any()
        if not known.image.process:
            with self._used(known):
                known.box.run(PROCESS)
                known.image.process = True

    def crash(self) -> None:
        """Its VMM is killed, under the engine or while there is none: it boots from its disk."""
        known = self._any()
        with self._used(known):
            known.box.run("sync")
        own = known.box.id.removeprefix("sb_")
        engine = self.node.engine
        (pid,) = (
            pid for pid in engine.vmm_pids() if own in str(Path(f"/proc/{pid}/cwd").readlink())
        )
        began, boots = time.time(), known.box.row().get("restarts", 0)
        known.image.memory, known.image.process = {}, False
        unseen = self.random.random() < 0.5
        if unseen:
            engine.kill()
        os.kill(pid, signal.SIGKILL)
        if unseen:
            until(lambda: pid not in engine.vmm_pids())
            engine.start()
        until(lambda: known.box.row().get("restarts") == boots + 1, timeout_s=90)
        known.events += [(name, began, time.time()) for name in ("vmm_exit", "vmm_restart")]

    def hibernate(self) -> None:
        known = self._any()
        began = time.time()
        known.box.hibernate()
        if not known.asleep:
            known.asleep = True
            known.events.append(("hibernate", began, time.time()))

    def wake(self) -> None:
        known = self._any()
        with self._used(known):
            known.box.wake()

    def renew(self) -> None:
        known = self._any()
        told = self.node.call(
            "POST",
            f"{known.box.path}/renew",
            {"ttl_seconds": LEASE_S - self.random.randrange(3600)},
            token=known.box.token,
        )
        assert known.box.row()["deadline"] == told["deadline"]

    def checkpoint(self) -> None:
        known = self._any()
        image = known.image.copy()
        if len(self.checkpoints) < 4:
            self.checkpoints[known.box.checkpoint()] = image

    def forget(self) -> None:
        if self.checkpoints:
            name = self.random.choice(list(self.checkpoints))
            self.node.call("DELETE", f"/v1/checkpoints/{name}")
            del self.checkpoints[name]

    def promote(self) -> None:
        known = self._any()
        self.template = None  # cut short, it is either
        body = {"token": known.box.token, "template": "chaos:v1"}
        self.node.call("POST", f"{known.box.path}/promote", body)
        self.template = known.image.copy()

    def release(self) -> None:
        if len(self.alive) > 2:
            self.end(self._any())

    def end(self, known: Known) -> None:
        began = time.time()
        known.box.release()
        self._gone(known, began)

    # -- around them -------------------------------------------------------------

    def _claimed(self, template: str) -> Box:
        return self.node.claim(template=template, ttl_seconds=LEASE_S)

    def _any(self) -> Known:
        self.touched = self.random.choice(self.alive)
        return self.touched

    def _born(self, make: Callable[[], list[Box]], image: Image) -> None:
        if len(self.alive) >= LIMIT:
            return
        image, began = image.copy(), time.time()
        for box in make():
            claimed = ("claim", began, time.time())
            self.alive.append(Known(box, image.copy(), events=[claimed]))

    def _gone(self, known: Known, began: float) -> None:
        known.events.append(("release", began, time.time()))
        self.alive.remove(known)
        self.ended.append(known)

    @contextmanager
    def _used(self, known: Known) -> Iterator[None]:
        """A use: it wakes."""
        began = time.time()
        yield
        if known.asleep:
            known.asleep = False
            known.events.append(("wake", began, time.time()))

    # -- kills -------------------------------------------------------------------

    def torn(self, verb: Callable[[], None], after_s: float, *, kill: bool) -> None:
        """Kill or stop the engine `after_s` into a verb, start it again, and see what is.

        The verb may have been refused then: the engine was stopping.
        """
        self.touched, self.written = None, ("", "")
        began = time.time()
        failure: BaseException | None = None

        def work() -> None:
            nonlocal failure
            try:
                verb()
            except (OSError, HTTPException):
                pass  # it was cut
            except Failed as refusal:
                failure = None if not kill and refusal.status in STOPPING else refusal
            except BaseException as error:
                failure = error

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(after_s)
        if kill:
            self.node.engine.kill()
        else:
            self.node.engine.stop()
        thread.join()
        self.node.engine.start()
        if failure is not None:
            raise failure
        self._settle(began)

    def _settle(self, began: float) -> None:
        rows = {row["id"]: row for row in self.node.call("GET", "/v1/sandboxes")["sandboxes"]}
        known = self.touched
        for unknown in rows.keys() - {one.box.id for one in self.alive}:
            self.node.call("POST", f"/v1/sandboxes/{unknown}/release")
        listed = {one["id"] for one in self.node.call("GET", "/v1/checkpoints")["checkpoints"]}
        for moment in listed - self.checkpoints.keys():
            self.node.call("DELETE", f"/v1/checkpoints/{moment}")
        for moment in self.checkpoints.keys() - listed:
            del self.checkpoints[moment]
        if known is None or known not in self.alive:
            return
        if known.box.id not in rows:
            self._gone(known, began)
            return
        if rows[known.box.id]["hibernated"] != known.asleep:
            known.asleep = not known.asleep
            event = "hibernate" if known.asleep else "wake"
            known.events.append((event, began, time.time()))
        with self._used(known):
            told = dict(line.split(" ", 1) for line in known.box.run(SHOW).splitlines())
        name, text = self.written
        for folder, files in (("/etc", known.image.disk), ("/run", known.image.memory)):
            if text and told.get(f"{folder}/{name}") == text:
                files[name] = text
        known.image.process = known.image.process or "alive" in told

    # -- checking ----------------------------------------------------------------

    def check(self, known: Known) -> None:
        """What it holds is what the model says; looking at it wakes it."""
        with self._used(known):
            told = known.box.run(SHOW)
        assert dict(line.split(" ", 1) for line in told.splitlines()) == known.image.shown()

    def check_awake(self) -> None:
        """One that runs holds what the model says."""
        awake = [known for known in self.alive if not known.asleep]
        if awake:
            self.check(self.random.choice(awake))

    def check_all(self) -> None:
        """Who there is, who sleeps, whose token opens what; wakes nobody."""
        rows = {row["id"]: row for row in self.node.call("GET", "/v1/sandboxes")["sandboxes"]}
        assert rows.keys() == {known.box.id for known in self.alive}
        for known in self.alive:
            assert rows[known.box.id]["hibernated"] == known.asleep, known
            self.node.call("GET", f"{known.box.path}/owner", token=known.box.token)
        listed = {one["id"] for one in self.node.call("GET", "/v1/checkpoints")["checkpoints"]}
        assert listed == self.checkpoints.keys()
        first, *others = self.alive
        for other in others[:1]:
            try:
                self.node.call("GET", f"{first.box.path}/owner", token=other.box.token)
            except Failed as failure:
                assert failure.status == 404
            else:
                raise AssertionError("another's token opens it")
