"""How many VMs should wait: rises with a rush, decays over a minute, never leaves its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis.strategies import floats, integers, lists, tuples
from sandbox_engine.model.demand import DECAY_S, FIRST_LEAD_S, Demand


def rush(takes: int, *, at: float = 0.0) -> Demand:
    demand = Demand()
    for _ in range(takes):
        demand.taken(at)
    return demand


def test_nobody_asked() -> None:
    demand = Demand()
    assert demand.target(0, 2, 8) == 2
    assert demand.spent(0)


def test_what_is_taken_within_one_lead_should_wait() -> None:
    assert rush(5).target(0, 1, 8) == 5
    assert rush(50).target(0, 1, 8) == 8


def test_takes_slower_than_the_lead_are_no_rush() -> None:
    demand = Demand()
    for number in range(20):
        demand.taken(number * (FIRST_LEAD_S * 2))
    assert demand.target(40, 0, 8) <= 1


def test_a_longer_lead_asks_for_more() -> None:
    demand = Demand()
    demand.brought_up(10)
    for number in range(20):
        demand.taken(float(number))
    assert demand.lead_s == 10
    assert demand.target(19, 0, 64) >= 10


def test_it_decays_to_the_floor_within_a_minute() -> None:
    demand = rush(8)
    targets = [demand.target(at, 1, 8) for at in range(int(DECAY_S) + 1)]
    assert targets == sorted(targets, reverse=True)
    assert (targets[0], targets[30], targets[-1]) == (8, 4, 1)
    assert not demand.spent(DECAY_S - 1)
    assert demand.spent(DECAY_S)


def test_a_rush_while_it_decays_lifts_it_again() -> None:
    demand = rush(8)
    for _ in range(6):
        demand.taken(45)
    assert demand.target(45, 0, 8) == 6
    assert not demand.spent(DECAY_S)


@given(
    steps=lists(tuples(floats(0, 30), integers(0, 5))),
    floor=integers(0, 5),
    more=integers(0, 5),
)
def test_it_never_leaves_its_bounds(steps: list[tuple[float, int]], floor: int, more: int) -> None:
    demand, now = Demand(), 0.0
    for pause, takes in steps:
        now += pause
        for _ in range(takes):
            demand.taken(now)
        assert floor <= demand.target(now, floor, floor + more) <= floor + more
