"""Which request may start when: the rules of "Request correlation", one after the other."""

from __future__ import annotations

from hypothesis import given
from hypothesis.strategies import booleans, integers, lists, tuples
from sandbox_engine.api.frames.turns import Turn, Turns


def names(*turns: Turn[str] | None) -> list[str]:
    return [turn.item for turn in turns if turn is not None]


def test_requests_with_ids_start_at_once() -> None:
    turns: Turns[str] = Turns()
    started = [turns.arrive(name, ordered=False, create=True) for name in "abc"]
    assert names(*started) == ["a", "b", "c"]


def test_requests_without_ids_start_one_after_the_other() -> None:
    turns: Turns[str] = Turns()
    first = turns.arrive("a", ordered=True, create=True)
    assert first is not None
    assert turns.arrive("b", ordered=True, create=True) is None
    assert turns.arrive("c", ordered=True, create=False) is None
    second = turns.leave(first)
    assert second is not None
    third = turns.leave(second)
    assert names(second, third) == ["b", "c"]


def test_one_without_an_id_waits_for_creates_in_flight() -> None:
    turns: Turns[str] = Turns()
    creates = [turns.arrive(name, ordered=False, create=True) for name in "ab"]
    assert turns.arrive("legacy", ordered=True, create=False) is None
    assert creates[0] is not None
    assert creates[1] is not None
    assert turns.leave(creates[1]) is None
    assert names(turns.leave(creates[0])) == ["legacy"]


def test_it_does_not_wait_for_other_requests_with_ids() -> None:
    turns: Turns[str] = Turns()
    turns.arrive("exec", ordered=False, create=False)
    assert names(turns.arrive("legacy", ordered=True, create=False)) == ["legacy"]


def test_it_does_not_wait_for_creates_that_came_later() -> None:
    turns: Turns[str] = Turns()
    first = turns.arrive("a", ordered=True, create=False)
    assert first is not None
    assert turns.arrive("b", ordered=True, create=False) is None
    assert names(turns.arrive("create", ordered=False, create=True)) == ["create"]
    assert names(turns.leave(first)) == ["b"]


def test_requests_with_ids_pass_the_queue() -> None:
    turns: Turns[str] = Turns()
    turns.arrive("a", ordered=True, create=True)
    turns.arrive("b", ordered=True, create=True)
    assert names(turns.arrive("c", ordered=False, create=False)) == ["c"]
    assert turns.waiting == 1


@given(
    requests=lists(tuples(booleans(), booleans()), max_size=30),
    order=lists(integers(0, 1000), min_size=60, max_size=60),
)
def test_whatever_ends_when_everything_is_served_and_in_order(
    requests: list[tuple[bool, bool]], order: list[int]
) -> None:
    turns: Turns[int] = Turns()
    running: list[Turn[int]] = []
    answered: list[Turn[int]] = []
    pending = list(enumerate(requests))
    for choice in order:
        if pending and (choice % 2 or not running):
            number, (ordered, create) = pending.pop(0)
            started = turns.arrive(number, ordered=ordered, create=create)
        elif running:
            done = running.pop(choice % len(running))
            answered.append(done)
            started = turns.leave(done)
        else:
            break
        if started is not None:
            running.append(started)
        assert sum(turn.ordered for turn in running) <= 1
    while running:
        done = running.pop()
        answered.append(done)
        if (started := turns.leave(done)) is not None:
            running.append(started)
    assert turns.waiting == 0
    assert len(answered) == len(requests) - len(pending)
    legacy = [turn.number for turn in answered if turn.ordered]
    assert legacy == sorted(legacy)
