"""The seed's "Idempotency": one run, its first answer replayed, and what is not kept."""

from __future__ import annotations

import asyncio

import pytest
from sandbox_api.errors import ApiError
from sandbox_api.replay import KEEP_S, MAX_BYTES, MAX_ENTRIES, Replays

from tests.control_plane.world import Plane, begin, code
from tests.support.node import Answer

KEY = {"Idempotency-Key": "one"}


def runs(world: Plane, session: str) -> int:
    return sum(each["op"] == "exec" for each in world.guest(session).calls)


async def test_the_first_answer_is_replayed_for_ten_minutes(world: Plane) -> None:
    session = await world.open()
    first = await world.exec(session, "echo", "a", headers=KEY)
    world.clock.at += KEEP_S - 1
    again = await world.exec(session, "echo", "a", headers=KEY)
    assert (first.status, first.raw) == (again.status, again.raw)
    assert runs(world, session) == 1
    world.clock.at += 1
    await world.exec(session, "echo", "a", headers=KEY)
    assert runs(world, session) == 2


async def test_the_same_key_at_once_runs_once(world: Plane) -> None:
    session = await world.open()
    held = world.guest(session).steps.hold("exec")
    tasks = [begin(world.exec(session, "echo", "a", headers=KEY)) for _ in range(8)]
    await held.arrived()
    held.release()
    answers: list[Answer] = await asyncio.gather(*tasks)
    assert {(each.status, each.json["stdout"]) for each in answers} == {(200, "a\n")}
    assert runs(world, session) == 1


async def test_another_request_under_the_key_is_a_conflict(world: Plane) -> None:
    session = await world.open()
    await world.exec(session, "echo", "a", headers=KEY)
    refused = await world.exec(session, "echo", "b", headers=KEY)
    assert (refused.status, code(refused)) == (409, "idempotency_conflict")


async def test_a_key_is_its_session_s(world: Plane) -> None:
    for session in (await world.open(key="a"), await world.open(key="b")):
        await world.exec(session, "true", headers=KEY)
        assert runs(world, session) == 1


async def test_5xx_answers_are_not_kept(world: Plane) -> None:
    session = await world.open()
    guest = world.guest(session)
    from tests.fakes.guest import GuestStream, Message

    async def broken(stream: GuestStream, _: Message) -> None:
        await stream.fail(4, "a disk error")

    works, guest.operations["exec"] = guest.operations["exec"], broken
    refused = await world.exec(session, "true", headers=KEY)
    assert (refused.status, code(refused)) == (500, "guest_io")
    guest.operations["exec"] = works
    assert (await world.exec(session, "true", headers=KEY)).status == 200


async def test_4xx_answers_are_kept(world: Plane) -> None:
    session = await world.open()
    answers = [await world.exec(session, "none", headers=KEY) for _ in range(2)]
    assert [each.status for each in answers] == [404, 404]
    assert runs(world, session) == 1


async def test_a_client_that_went_finds_the_answer(world: Plane) -> None:
    session = await world.open()
    held = world.guest(session).steps.hold("exec")
    going = begin(world.exec(session, "echo", "a", headers=KEY))
    await held.arrived()
    going.cancel()
    await asyncio.gather(going, return_exceptions=True)
    held.release()
    assert (await world.exec(session, "echo", "a", headers=KEY)).json["stdout"] == "a\n"
    assert runs(world, session) == 1


async def test_events_are_replayed_as_they_were(world: Plane) -> None:
    session = await world.open()
    first = await world.exec(session, "echo", "a", stream=True, headers=KEY)
    again = await world.exec(session, "echo", "a", stream=True, headers=KEY)
    assert first.raw == again.raw
    assert runs(world, session) == 1


@pytest.mark.parametrize("key", ["", "a" * 256, "a\tb"])
async def test_a_key_that_cannot_be_is_400(world: Plane, key: str) -> None:
    session = await world.open()
    refused = await world.exec(session, "true", headers={"Idempotency-Key": key})
    assert (refused.status, code(refused)) == (400, "invalid_argument")


def fill(replays: Replays, owner: str, count: int, size: int = 1) -> None:
    for number in range(count):
        answer, first = replays.find(owner, "ses", str(number), b"")
        assert first
        answer.begin(200, {})
        answer.write(bytes(size))
        answer.end()
        replays.finished(owner, "ses", str(number), keep=True)


def kept(replays: Replays, owner: str) -> list[str]:
    return [key for name, _, key in replays._kept if name == owner]


async def test_128_entries_are_kept() -> None:
    replays = Replays()
    fill(replays, "one", MAX_ENTRIES)
    assert len(kept(replays, "one")) == MAX_ENTRIES == 128
    answer, first = replays.find("one", "ses", "more", b"")
    assert first and answer.status == 0
    assert "0" not in kept(replays, "one") and "1" in kept(replays, "one")


async def test_who_has_most_makes_room() -> None:
    replays = Replays()
    fill(replays, "quiet", 3)
    fill(replays, "greedy", 500)
    assert len(kept(replays, "quiet")) == 3
    assert len(replays._kept) == MAX_ENTRIES


async def test_large_answers_make_room_too() -> None:
    replays = Replays()
    fill(replays, "one", 10, size=MAX_BYTES // 4)
    assert kept(replays, "one") == ["6", "7", "8", "9"]


async def test_a_key_with_another_request_raises() -> None:
    replays = Replays()
    fill(replays, "one", 1)
    with pytest.raises(ApiError, match="another request"):
        replays.find("one", "ses", "0", b"other")
