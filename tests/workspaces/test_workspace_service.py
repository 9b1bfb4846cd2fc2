"""Who has a workspace, when it ends, and what the next engine makes of it; over fakes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_engine.errors import (
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    PoolExhausted,
    SessionBusy,
    SessionExpired,
    SessionUnknown,
    StateConflict,
    VmmError,
    WorkspaceDamaged,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.machine import Input, State
from sandbox_engine.model.workspace import MAX_TTL_S
from sandbox_engine.observe.tasks import settle, spawn
from sandbox_engine.ports.vmm import WORKSPACE_DISK

from tests.fakes.guest import GuestStream, Message
from tests.fakes.services import OPERATOR, Services

OTHER = Caller(name="other")


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    made = Services(tmp_path)
    made.pool(warm=0)
    yield made
    await made.close()
    assert made.left() == {}


async def test_it_is_given_to_the_machine_and_comes_back(services: Services) -> None:
    sandbox = await services.create(session_key="k")
    (volume,) = services.volumes.names()
    found = services.workspaces.get(OPERATOR, "k")
    assert found.sandbox == sandbox.id
    inode = (services.volumes.folder / volume).stat().st_ino
    await services.sandboxes.awake(OPERATOR, sandbox.id)
    assert services.process(sandbox).disks == {WORKSPACE_DISK: inode}
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.workspaces.get(OPERATOR, "k").sandbox == ""
    await services.create(session_key="k")
    assert services.volumes.names() == [volume]
    assert services.volumes.repaired == []


async def test_two_owners_of_one_key_have_two(services: Services) -> None:
    await services.create(session_key="k")
    await services.create(OTHER, session_key="k")
    assert len(services.volumes.names()) == 2
    assert [each.key for each in services.workspaces.all(OTHER)] == ["k"]


async def test_one_sandbox_at_a_time(services: Services) -> None:
    first = await services.create(session_key="k")
    with pytest.raises(SessionBusy, match=first.id):
        await services.create(session_key="k")
    with pytest.raises(SessionBusy):
        services.workspaces.delete(OPERATOR, "k")


@pytest.mark.parametrize("key", ["", "a" * 128, 'a"b', "a\\b", "ü", "a\nb"])
async def test_keys_that_cannot_be(services: Services, key: str) -> None:
    with pytest.raises(InvalidArgument):
        await services.create(session_key=key)
    assert services.volumes.names() == []


async def test_a_create_does_not_wait_for_the_mount_but_every_use_does(services: Services) -> None:
    held = services.steps.hold("attach_disk")
    sandbox = await services.create(session_key="k")
    assert not services.journal.workspaces()[0].clean, "a guest may have it from here on"
    uses: list[asyncio.Task[Any]] = [
        spawn(services.sandboxes.awake(OPERATOR, sandbox.id), name="use"),
        spawn(services.sandboxes.pause(OPERATOR, sandbox.id), name="pause"),
    ]
    await held.arrived()
    assert not any(use.done() for use in uses)
    held.release()
    await asyncio.gather(*uses)
    assert services.process(sandbox).disks.keys() == {WORKSPACE_DISK}
    assert sandbox.state is State.PAUSED


async def test_what_cannot_be_mounted_fails_each_use_and_is_checked_before_the_next(
    services: Services,
) -> None:
    services.steps.fail("attach_disk", lambda: VmmError("it refuses"), times=1)
    sandbox = await services.create(session_key="k")
    for _ in range(2):
        with pytest.raises(GuestUnavailable, match="cannot be mounted: it refuses"):
            await services.sandboxes.awake(OPERATOR, sandbox.id)
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    second = await services.create(session_key="k")
    assert services.volumes.repaired == services.volumes.names()  # a guest may have had it
    await services.sandboxes.awake(OPERATOR, second.id)


async def test_one_that_ends_while_it_is_mounted_is_unmounted(services: Services) -> None:
    held = services.steps.hold("attach_disk")
    sandbox = await services.create(session_key="k")
    await held.arrived()
    end = spawn(services.sandboxes.destroy(OPERATOR, sandbox.id), name="end")
    with pytest.raises(SessionBusy):
        await services.create(session_key="k")
    held.release()
    await end
    await services.create(session_key="k")
    assert services.volumes.repaired == []


async def test_one_that_ends_at_once_never_got_it(services: Services) -> None:
    sandbox = await services.create(session_key="k")
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.steps.counts["attach_disk"] == 0
    await services.create(session_key="k")
    assert services.volumes.repaired == []


async def test_a_create_that_fails_gives_it_back(services: Services) -> None:
    with pytest.raises(InvalidArgument, match="memory_mib"):
        await services.create(session_key="k", memory_mib=1)
    await settle()
    await services.create(session_key="k")
    assert services.volumes.repaired == []


async def test_no_machine_in_time_gives_it_back(services: Services) -> None:
    held = services.steps.hold("launch")
    with pytest.raises(PoolExhausted):
        await services.create(session_key="k", pool_wait_ms=1)
    held.release()
    await services.create(session_key="k")
    assert services.volumes.repaired == []


async def test_a_full_host_leaves_no_record(services: Services) -> None:
    services.volumes.full = True
    with pytest.raises(NoSpace):
        await services.create(session_key="k")
    with pytest.raises(SessionUnknown):
        services.workspaces.get(OPERATOR, "k")
    services.volumes.full = False
    await services.create(session_key="k")


async def test_a_machine_that_died_had_it_unclean(services: Services) -> None:
    sandbox = await services.create(session_key="k")
    services.process(sandbox).die()
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    services.volumes.damaged = True
    with pytest.raises(WorkspaceDamaged):
        await services.create(session_key="k")
    services.volumes.damaged = False
    await services.create(session_key="k")
    assert services.volumes.repaired == services.volumes.names()


async def test_a_guest_that_does_not_unmount_had_it_unclean(services: Services) -> None:
    sandbox = await services.create(session_key="k")

    async def refuse(stream: GuestStream, _: Message) -> None:
        await stream.fail(4, "busy")

    await services.sandboxes.awake(OPERATOR, sandbox.id)
    services.guest(sandbox).operations["configure"] = refuse
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    await services.create(session_key="k")
    assert services.volumes.repaired == services.volumes.names()


async def test_a_paused_one_is_unmounted_too(services: Services) -> None:
    sandbox = await services.create(session_key="k")
    await services.sandboxes.pause(OPERATOR, sandbox.id)
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    await services.create(session_key="k")
    assert services.volumes.repaired == []


async def test_its_time_ends_while_a_sandbox_has_it(services: Services) -> None:
    sandbox = await services.create(session_key="k", workspace_ttl_s=60)
    services.clock.skip(61)
    services.workspaces.reap()
    assert len(services.volumes.names()) == 1  # not from under a guest
    with pytest.raises(SessionExpired):
        services.workspaces.renew(OPERATOR, "k", 60)
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    assert services.volumes.names() == []


async def test_an_owner_who_comes_late_is_told_so(services: Services) -> None:
    sandbox = await services.create(session_key="k", workspace_ttl_s=60)
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    services.clock.skip(61)
    services.workspaces.reap()
    assert services.volumes.names() == []
    with pytest.raises(SessionExpired):
        services.workspaces.renew(OPERATOR, "k", 60)
    with pytest.raises(SessionUnknown):
        services.workspaces.get(OPERATOR, "k")
    services.clock.skip(MAX_TTL_S)
    services.workspaces.reap()
    with pytest.raises(SessionUnknown):
        services.workspaces.renew(OPERATOR, "k", 60)


async def test_after_its_time_a_create_makes_a_new_one(services: Services) -> None:
    sandbox = await services.create(session_key="k", workspace_ttl_s=60)
    first = services.volumes.names()
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    services.clock.skip(61)
    await services.create(session_key="k")
    assert len(services.volumes.names()) == 1
    assert services.volumes.names() != first


async def test_an_owner_may_delete_it(services: Services) -> None:
    sandbox = await services.create(session_key="k")
    await services.sandboxes.destroy(OPERATOR, sandbox.id)
    with pytest.raises(SessionUnknown):
        services.workspaces.delete(OTHER, "k")
    services.workspaces.delete(OPERATOR, "k")
    assert services.volumes.names() == []


async def test_the_next_engine_knows_who_has_what(tmp_path: Path) -> None:
    first = Services(tmp_path)
    first.pool(warm=0)
    held = await first.create(session_key="held")
    free = await first.create(session_key="free")
    await first.sandboxes.destroy(OPERATOR, free.id)
    lost = await first.create(session_key="lost")
    (tmp_path / "volumes" / "nobodys").touch()
    first.process(lost).die()
    first.cut_off()
    second = await first.successor()
    await second.recovery.run()
    with pytest.raises(SessionBusy, match=held.id):
        await second.create(session_key="held")
    await second.create(session_key="free")
    assert second.volumes.repaired == []
    await second.create(session_key="lost")
    assert len(second.volumes.repaired) == 1
    assert len(second.volumes.names()) == 3
    await second.close()


async def test_an_image_that_somebody_removed_keeps_no_engine_from_starting(
    tmp_path: Path,
) -> None:
    first = Services(tmp_path)
    first.pool(warm=0)
    sandbox = await first.create(session_key="k")
    await first.sandboxes.awake(OPERATOR, sandbox.id)
    first.cut_off()
    (volume,) = first.volumes.names()
    first.volumes.remove(volume)
    second = await first.successor()
    await second.recovery.run()
    assert second.sandboxes.get(OPERATOR, sandbox.id).state is State.RUNNING
    await second.sandboxes.destroy(OPERATOR, sandbox.id)
    await second.create(session_key="k")
    await second.close()


@pytest.mark.parametrize("step", ["attach_disk", "configure"])
async def test_the_next_engine_mounts_what_was_not_mounted_yet(tmp_path: Path, step: str) -> None:
    first = Services(tmp_path)
    first.pool(warm=0)
    held = first.steps.hold("attach_disk")
    sandbox = await first.create(session_key="k")
    await held.arrived()
    if step == "configure":  # the disk has it, and the guest was not told
        inode = (tmp_path / "volumes" / first.volumes.names()[0]).stat().st_ino
        first.process(sandbox).disks[WORKSPACE_DISK] = inode
    first.cut_off()
    second = await first.successor()
    await second.recovery.run()
    await second.sandboxes.awake(OPERATOR, sandbox.id)
    assert second.process(sandbox).disks.keys() == {WORKSPACE_DISK}
    told = [call["workspace"] for call in second.guest(sandbox).configured if "workspace" in call]
    assert told == [{"serial": WORKSPACE_DISK}]
    await second.sandboxes.destroy(OPERATOR, sandbox.id)
    await second.create(session_key="k")
    assert second.volumes.repaired == []
    held.release()
    await second.close()


@pytest.mark.parametrize("given", [Input.SAVE, Input.HIBERNATE])
async def test_no_state_is_saved_of_a_sandbox_with_one(services: Services, given: Input) -> None:
    sandbox = await services.create(session_key="k")
    live = services.sandboxes.find(OPERATOR, sandbox.id)
    with pytest.raises(StateConflict, match="given a workspace"):
        services.sandboxes.advance(live, given)
    assert sandbox.state is State.RUNNING
