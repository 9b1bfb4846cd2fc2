"""Every two of the things that can happen to a sandbox, at once: one wins, the other is told.

The first is under way (stopped inside the machine, where it waits at all) when the second
arrives; both are then let go, in either order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from sandbox_engine.errors import GuestUnavailable, StateConflict
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.observe.tasks import settle, spawn

from tests.engine.services.conftest import MakeServices
from tests.fakes.services import OPERATOR, Services
from tests.fakes.steps import Hold

LEASE_S = 300
TOLD = {"conflict": StateConflict, "gone": GuestUnavailable}

FROM_RUNNING = """
            exec         pause        resume       renew        destroy      reap         die
    exec    ok/ok        ok/ok        ok/ok        ok/ok        gone/ok      gone/ok      gone/ok
    pause   ok/conflict  ok/conflict  ok/conflict  ok/ok        conflict/ok  conflict/ok  gone/ok
    renew   ok/ok        ok/ok        ok/ok        ok/ok        ok/ok        ok/ok        ok/ok
    destroy ok/conflict  ok/conflict  ok/conflict  ok/conflict  ok/ok        ok/ok        ok/ok
    reap    ok/conflict  ok/conflict  ok/conflict  ok/conflict  ok/ok        ok/ok        ok/ok
    die     ok/gone      ok/conflict  ok/conflict  ok/ok        ok/ok        ok/ok        ok/ok
"""
FROM_PAUSED = """
            exec         pause        resume       renew        destroy      reap         die
    resume  ok/conflict  ok/conflict  ok/conflict  ok/ok        conflict/ok  conflict/ok  gone/ok
    destroy ok/conflict  ok/conflict  ok/conflict  ok/conflict  ok/ok        ok/ok        ok/ok
    die     ok/gone      ok/conflict  ok/conflict  ok/ok        ok/ok        ok/ok        ok/ok
"""


class Arena:
    """One sandbox, and what can happen to it."""

    def __init__(self, services: Services, sandbox: Sandbox) -> None:
        self.services, self.sandbox = services, sandbox
        self.process = services.process(sandbox)
        self.live = services.sandboxes.find(OPERATOR, sandbox.id)
        steps, guest = services.steps, self.process.guest.steps
        kill = steps.hold("kill")
        self.holds: dict[str, Hold] = {
            "exec": guest.hold("ping"),
            "pause": steps.hold("pause"),
            "resume": steps.hold("resume"),
            "destroy": kill,
            "reap": kill,
        }
        services.clock.skip(LEASE_S + 1)  # it is due

    async def happen(self, what: str) -> None:
        happens: dict[str, Callable[[], Awaitable[object]]] = {
            "exec": self.use,
            "pause": lambda: self.services.sandboxes.pause(OPERATOR, self.sandbox.id),
            "resume": lambda: self.services.sandboxes.resume(OPERATOR, self.sandbox.id),
            "renew": self.renew,
            "destroy": lambda: self.services.sandboxes.destroy(OPERATOR, self.sandbox.id),
            "reap": lambda: self.services.reaper._reap(self.live),
            "die": self.die,
        }
        await happens[what]()

    async def use(self) -> None:
        channel = self.services.sandboxes.channel(OPERATOR, self.sandbox.id)
        await channel.call({"op": "ping"})

    async def renew(self) -> None:
        self.services.sandboxes.renew(OPERATOR, self.sandbox.id, LEASE_S)

    async def die(self) -> None:
        self.process.die()

    async def begin(self, what: str) -> asyncio.Task[None]:
        """Until it stands inside the machine, or is over."""
        task = spawn(self.happen(what), name=what)
        hold = self.holds.get(what)
        before = hold.waiting if hold is not None else 0
        for _ in range(50):
            if task.done() or (hold is not None and hold.waiting > before):
                break
            await asyncio.sleep(0)
        return task

    async def result(self, task: asyncio.Task[None]) -> str:
        """`ok`, or how it was told."""
        if self.sandbox.state is State.PAUSED and not task.done():
            await self.services.sandboxes.resume(OPERATOR, self.sandbox.id)  # an exec goes on
        await asyncio.wait((task,))
        error = task.exception()
        if error is None:
            return "ok"
        return next((word for word, kind in TOLD.items() if type(error) is kind), repr(error))


def cells(table: str) -> list[tuple[str, str, str]]:
    header, *rows = [line.split() for line in table.strip().splitlines()]
    return [
        (first, second, cell)
        for first, *row in rows
        for second, cell in zip(header, row, strict=True)
    ]


CASES = [
    pytest.param(state, *cell, newest, id=f"{state.value}-{cell[0]}-{cell[1]}-{newest}")
    for state, table in ((State.RUNNING, FROM_RUNNING), (State.PAUSED, FROM_PAUSED))
    for cell in cells(table)
    for newest in ("first", "second")
]


@pytest.mark.parametrize(("state", "first", "second", "expected", "let_go"), CASES)
async def test_one_wins_and_the_other_is_told(
    make_services: MakeServices,
    state: State,
    first: str,
    second: str,
    expected: str,
    let_go: str,
) -> None:
    services = make_services()
    sandbox = await services.create(ttl_s=LEASE_S)
    if state is State.PAUSED:
        await services.sandboxes.pause(OPERATOR, sandbox.id)
    arena = Arena(services, sandbox)
    tasks = [await arena.begin(first), await arena.begin(second)]
    for what in (first, second) if let_go == "first" else (second, first):
        if (hold := arena.holds.get(what)) is not None:
            hold.release()
        for _ in range(20):
            await asyncio.sleep(0)
    services.steps.release_all()
    arena.process.guest.steps.release_all()
    results = "/".join([await arena.result(task) for task in tasks])
    assert results == expected
    await settle()
    await check_whole(services, sandbox, {first, second})


async def check_whole(services: Services, sandbox: Sandbox, happened: set[str]) -> None:
    """Record, memory and machine agree; what is left of it can be destroyed."""
    gone = bool(happened & {"destroy", "reap"}) and not (
        happened == {"renew", "reap"} and sandbox.state is State.RUNNING
    )
    if gone:
        assert sandbox.state is State.DESTROYED
        assert services.left() == {}
        return
    (record,) = services.journal.sandboxes()
    assert record == sandbox
    assert sandbox.state in (State.RUNNING, State.PAUSED, State.FAILED)
    if sandbox.state is State.FAILED:
        assert "die" in happened
    else:
        assert services.process(sandbox).running == (sandbox.state is State.RUNNING)
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.left() == {}


async def test_a_step_that_ends_during_a_destroy_does_not_end_the_destroy(
    services: Services,
) -> None:
    """Whoever destroys again meanwhile waits for the one end there is."""
    sandbox = await services.create()
    pause, kill = services.steps.hold("pause"), services.steps.hold("kill")
    pausing = spawn(services.sandboxes.pause(OPERATOR, sandbox.id), name="pause")
    await pause.arrived()
    first = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="destroy")
    await kill.arrived()
    pause.release()
    with pytest.raises(StateConflict, match="destroying"):
        await pausing
    second = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="again")
    await asyncio.sleep(0)
    kill.release()
    await asyncio.gather(first, second)


async def test_an_exec_under_way_outlives_a_pause(services: Services) -> None:
    sandbox = await services.create()
    held = services.guest(sandbox).steps.hold("ping")
    channel = services.sandboxes.channel(OPERATOR, sandbox.id)
    asking = spawn(channel.call({"op": "ping"}), name="ping")
    await held.arrived()
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    held.release()
    await services.sandboxes.resume(OPERATOR, sandbox.id)
    assert await asking == {"type": "pong"}
