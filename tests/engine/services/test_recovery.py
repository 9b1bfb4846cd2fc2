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
    if verb is resume:
        await services.sandboxes.pause(OPERATOR, sandbox.id)
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
@pytest.mark.parametrize("verb", [create, pause, resume, renew, destroy, fill])
async def test_what_was_answered_lives_and_nothing_else(
    tmp_path: Path, verb: Verb, moment: str
) -> None:
    cuts = 0
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
        if verb is not destroy:
            assert kept is not None
            allowed = (State.RUNNING, State.PAUSED) if verb in (pause, resume) else (State.RUNNING,)
            assert kept.state in allowed
        for one in found:
            if one.state is State.PAUSED:
                await after.sandboxes.resume(OPERATOR, one.id)
            await after.sandboxes.channel(OPERATOR, one.id).call({"op": "ping"})
        await after.close()
        assert after.left() == {}
    assert cuts >= 1


def check_whole(services: Services, found: list[Sandbox]) -> None:
    """Every sandbox has its VM, and there is nothing that is not a sandbox's."""
    vms = sorted(one.vm for one in found)
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
