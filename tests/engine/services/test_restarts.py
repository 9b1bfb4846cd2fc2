"""A VM that dies in the middle of a step: the step is told, and the sandbox boots again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from sandbox_engine.errors import EngineError
from sandbox_engine.model.machine import State
from sandbox_engine.observe.tasks import settle, spawn

from tests.engine.services.conftest import MakeServices
from tests.fakes.services import OPERATOR, Services

Verb = Callable[[Services, str], Coroutine[Any, Any, object]]
VERBS: dict[str, Verb] = {
    "fork": lambda services, box: services.states.forks.fork(OPERATOR, box, 2),
    "checkpoint": lambda services, box: services.states.checkpoints.create(OPERATOR, box),
    "promote": lambda services, box: services.states.promotions.promote(OPERATOR, box, "proj"),
    "hibernate": lambda services, box: services.states.hibernation.hibernate(OPERATOR, box),
    "pause": lambda services, box: services.sandboxes.pause(OPERATOR, box),
}
STEPS = [
    (verb, step)
    for verb in VERBS
    for step in ("pause", "save_state", "save_memory", "freeze_disk")
    if (step == "pause" or verb != "pause") and (step != "freeze_disk" or verb != "hibernate")
]


@pytest.mark.parametrize(("verb", "step"), STEPS)
async def test_it_dies_in_a_step(make_services: MakeServices, verb: str, step: str) -> None:
    services = make_services(restart_budget=1)
    sandbox = await services.create()
    hold = services.steps.hold(step)
    task = spawn(VERBS[verb](services, sandbox.id), name=verb)
    await hold.arrived()
    services.process(sandbox).die()
    with pytest.raises(EngineError):
        await task
    services.steps.release_all()
    await settle()
    assert (sandbox.state, sandbox.restarts, sandbox.failure) == (State.RUNNING, 1, "")
    assert services.journal.sandboxes() == [sandbox]
    assert services.sandboxes.visible(OPERATOR) == [sandbox], "a child is there"
    assert len(services.host.processes) == services.admission.total == 1
    assert services.states.checkpoints.all() == services.states.promotions.all() == []
    layers = {path.stem for path in services.store.layer("x").parent.iterdir()}
    assert layers == set(sandbox.layers)
    await services.sandboxes.channel(OPERATOR, sandbox.id).call({"op": "ping"})


async def test_one_that_is_destroyed_while_it_boots_is_gone(make_services: MakeServices) -> None:
    services = make_services(restart_budget=1)
    sandbox = await services.create()
    hold = services.steps.hold("launch")
    services.process(sandbox).die()
    await hold.arrived()
    assert sandbox.state is State.BOOTING
    ending = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="destroy")
    hold.release()
    services.steps.release_all()
    await ending
    await settle()
    assert services.left() == {}
    assert list(services.store.layer("x").parent.iterdir()) == []


async def test_a_stop_begins_no_boot(make_services: MakeServices) -> None:
    services = make_services(restart_budget=1)
    sandbox = await services.create()
    services.states.restarts.stop()
    services.process(sandbox).die()
    await settle()
    assert (sandbox.state, sandbox.restarts_spent) == (State.FAILED, 0)
