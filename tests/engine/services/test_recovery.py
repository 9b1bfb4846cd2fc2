"""An engine that dies at any write of its journal, and what the next one makes of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.errors import EngineError
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.observe.tasks import cancel, settle, spawn

from tests.fakes.services import OPERATOR, Services

Verb = Callable[[Services, Sandbox], Coroutine[Any, Any, object]]
MOST_WRITES = 32


async def create(services: Services, _: Sandbox) -> None:
    await services.create()


async def pause(services: Services, sandbox: Sandbox) -> None:
    await services.sandboxes.pause(OPERATOR, sandbox.id)


async def resume(services: Services, sandbox: Sandbox) -> None:
    await services.sandboxes.resume(OPERATOR, sandbox.id)


async def renew(services: Services, sandbox: Sandbox) -> None:
    services.sandboxes.renew(OPERATOR, sandbox.id, 60)


async def destroy(services: Services, sandbox: Sandbox) -> None:
    await services.sandboxes.destroy(OPERATOR, sandbox.id)


async def fill(services: Services, _: Sandbox) -> None:
    await services.pool(warm=2).ready()


async def use(services: Services, sandbox: Sandbox) -> None:
    """Wakes it, where it sleeps."""
    await services.sandboxes.awake(OPERATOR, sandbox.id)
    await services.sandboxes.channel(OPERATOR, sandbox.id).call({"op": "ping"})


async def hibernate(services: Services, sandbox: Sandbox) -> None:
    await services.states.hibernation.hibernate(OPERATOR, sandbox.id)


async def wake(services: Services, sandbox: Sandbox) -> None:
    await services.states.hibernation.wake(OPERATOR, sandbox.id)


async def boot(services: Services, sandbox: Sandbox) -> None:
    await services.states.hibernation.wake(OPERATOR, sandbox.id)


async def fork(services: Services, sandbox: Sandbox) -> None:
    await services.states.forks.fork(OPERATOR, sandbox.id, 2)


async def checkpoint(services: Services, sandbox: Sandbox) -> None:
    await services.states.checkpoints.create(OPERATOR, sandbox.id)


async def archive(services: Services, sandbox: Sandbox) -> None:
    await services.states.hibernation.archive(services.sandboxes.find(OPERATOR, sandbox.id), 60)


async def reap(services: Services, sandbox: Sandbox) -> None:
    services.clock.skip(301)
    await services.reaper._reap(services.sandboxes.find(OPERATOR, sandbox.id))


async def die(services: Services, sandbox: Sandbox) -> None:
    services.process(sandbox).die()


BEFORE: dict[Verb, Verb] = {resume: pause, wake: hibernate, use: hibernate, boot: die}
"""What a sandbox went through before a verb."""
STATES: dict[Verb, tuple[State, ...]] = {
    pause: (State.RUNNING, State.PAUSED),
    resume: (State.RUNNING, State.PAUSED),
    hibernate: (State.RUNNING, State.HIBERNATED),
    wake: (State.RUNNING, State.HIBERNATED),
    use: (State.RUNNING, State.HIBERNATED),
    archive: (State.RUNNING, State.HIBERNATED, State.ARCHIVED),
    boot: (State.RUNNING, State.FAILED),
    die: (State.RUNNING, State.FAILED),
}
"""What one may be afterwards; otherwise it runs."""
GONE = {destroy, reap}
VERBS = [
    create, pause, resume, renew, destroy, fill, use, hibernate, wake, boot, fork, checkpoint,
    archive, reap, die,
]  # fmt: skip


class Cut:
    """Ends an engine at one write of its journal, before or after it."""

    def __init__(self, services: Services, moment: str, number: int) -> None:
        self._services, self._moment, self._number = services, moment, number
        self._first = services.journal.writes
        self.done = asyncio.Event()
        services.journal.around_write = self._write

    def _write(self, moment: str) -> None:
        written = self._services.journal.writes - self._first
        if not self.done.is_set() and moment == self._moment and written == self._number:
            self.done.set()
            self._services.cut_off()


async def cut_during(services: Services, verb: Verb, moment: str, number: int) -> Sandbox | None:
    """What a sandbox was before `verb` was cut; None where the verb has no such write."""
    sandbox = await services.create()
    if verb in BEFORE:
        await BEFORE[verb](services, sandbox)
    await settle()
    cut = Cut(services, moment, number)
    done, working = spawn(cut.done.wait(), name="cut"), spawn(verb(services, sandbox), name="verb")
    await asyncio.wait((done, working), return_when=asyncio.FIRST_COMPLETED)
    with suppress(EngineError):
        await cancel(working)
    await cancel(done)
    services.journal.around_write = lambda _: None  # what ends it now is not to be cut
    return sandbox if cut.done.is_set() else None


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", VERBS)
async def test_what_was_answered_lives_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, verb: Verb, moment: str
) -> None:
    cuts, tmp_path = 0, tmp_path_factory.mktemp("cut")  # short: paths of sockets have a limit
    for number in itertools.count(1 if moment == "after" else 0):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        services = Services(folder)
        sandbox = await cut_during(services, verb, moment, number)
        if sandbox is None:
            await services.close()
            break
        cuts += 1
        assert number < MOST_WRITES
        after = await services.successor()
        await after.recovery.run()
        found = after.sandboxes.visible(OPERATOR)
        check_whole(after, found)
        kept = next((one for one in found if one.id == sandbox.id), None)
        if verb not in GONE:
            assert kept is not None
            assert kept.state in STATES.get(verb, (State.RUNNING,))
        if verb is fork:
            assert len(found) in (1, 3), "not all or none"
        for one in found:
            if one.state is State.PAUSED:
                await after.sandboxes.resume(OPERATOR, one.id)
            if one.state is State.FAILED:
                await after.states.hibernation.wake(OPERATOR, one.id)
            await use(after, one)
        for record in after.states.checkpoints.all():
            after.states.checkpoints.delete(record.id)
        await after.close()
        assert after.left() == {}
        assert sorted(path.name for path in after.store.layer("x").parent.iterdir()) == []
    assert cuts >= 1


def check_whole(services: Services, found: list[Sandbox]) -> None:
    """What runs has its VM, and there is nothing that is not a sandbox's."""
    vms = sorted(one.vm for one in found if one.state in (State.RUNNING, State.PAUSED))
    assert sorted(one.spec.name for one in services.host.processes.values()) == vms
    assert sorted(path.name for path in services.root.iterdir()) == vms
    assert [row.name for row in services.journal.vms()] == vms
    assert sorted(one.id for one in services.journal.sandboxes()) == sorted(one.id for one in found)


async def test_numbers_are_never_given_out_twice(tmp_path: Path) -> None:
    services = Services(tmp_path)
    first = await services.create()
    services.cut_off()
    after = await services.successor()
    await after.recovery.run()
    second = await after.create()
    assert second.number > first.number
    await after.close()


async def died_meanwhile(services: Services, *sandboxes: Sandbox) -> Services:
    """The next engine, before which VMs died while there was none."""
    services.cut_off()
    for sandbox in sandboxes:
        services.process(sandbox).die()
    after = await services.successor()
    await after.recovery.run()
    return after


async def test_one_whose_vm_died_meanwhile_boots_from_its_disk(tmp_path: Path) -> None:
    services = Services(tmp_path, restart_budget=1)
    lives, died = await services.create(), await services.create()
    after = await died_meanwhile(services, died)
    found = {one.id: one for one in after.sandboxes.visible(OPERATOR)}
    assert (found[lives.id].state, found[died.id].state) == (State.RUNNING, State.FAILED)
    assert len(found[died.id].layers) == 1, "its disk is kept"
    after.states.restarts.start()
    await settle()
    check_whole(after, list(found.values()))
    assert found[died.id].state is State.RUNNING
    assert (found[died.id].restarts, found[died.id].restarts_spent) == (1, 1)
    await use(after, found[died.id])
    again = await died_meanwhile(after, found[died.id])
    (failed,) = (one for one in again.sandboxes.visible(OPERATOR) if one.id == died.id)
    again.states.restarts.start()
    await settle()
    assert failed.state is State.FAILED, "its budget is spent"
    assert len(failed.layers) == 2
    await again.states.hibernation.wake(OPERATOR, failed.id)
    assert (failed.restarts, failed.restarts_spent) == (2, 0)
    await again.close()
    assert again.left() == {}


@pytest.mark.parametrize("how", ["session", "disk"])
async def test_one_that_cannot_go_on_is_gone(tmp_path: Path, how: str) -> None:
    services = Services(tmp_path)
    session = services.sessions.open() if how == "session" else None
    caller = Caller(name="operator", session=session)
    sandbox = await services.create(caller)
    if how == "disk":
        (services.root / sandbox.vm / sandbox.disk).unlink()
    after = await died_meanwhile(services, sandbox)
    assert after.sandboxes.visible(OPERATOR) == []
    assert after.left() == {}
    await after.close()
