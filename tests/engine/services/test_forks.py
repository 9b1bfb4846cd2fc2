"""Forks are all or none, whatever fails."""

from __future__ import annotations

import pytest
from sandbox_engine.errors import NoSpace, VmmError
from sandbox_engine.model.machine import State
from sandbox_engine.observe.tasks import settle, spawn

from tests.fakes.services import OPERATOR, Services


@pytest.mark.parametrize("step", ["launch", "start", "save_memory", "freeze_disk"])
async def test_a_step_that_fails_leaves_no_child(services: Services, step: str) -> None:
    parent = await services.create()
    services.steps.fail(step, lambda: VmmError("no"), times=1)
    with pytest.raises(VmmError):
        await services.states.forks.fork(OPERATOR, parent.id, 3)
    await settle()
    assert services.sandboxes.visible(OPERATOR) == [parent]
    assert parent.state is State.RUNNING
    assert len(services.host.processes) == services.admission.total == 1


async def test_a_full_journal_leaves_no_child(services: Services) -> None:
    parent = await services.create()
    hold = services.steps.hold("start")
    forking = spawn(services.states.forks.fork(OPERATOR, parent.id, 2), name="fork")
    await hold.arrived()
    services.journal.full = True
    hold.release()
    with pytest.raises(NoSpace):
        await forking
    await settle()
    services.journal.full = False
    for row in services.journal.vms():  # what could not be struck off: the next start does it
        if row.name != parent.vm:
            services.journal.vm_gone(row.name)
    assert services.sandboxes.visible(OPERATOR) == services.journal.sandboxes() == [parent]
    assert len(services.host.processes) == services.admission.total == 1
