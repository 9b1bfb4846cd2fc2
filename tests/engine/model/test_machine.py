"""The lifecycle, pair by pair, written down a second time."""

from __future__ import annotations

import pytest
from sandbox_engine.errors import StateConflict
from sandbox_engine.model.machine import TABLE, Input, State, step

INPUTS = {
    "use": Input.USE,
    "pause": Input.PAUSE,
    "resume": Input.RESUME,
    "save": Input.SAVE,
    "sleep": Input.HIBERNATE,
    "store": Input.ARCHIVE,
    "wake": Input.WAKE,
    "done": Input.DONE,
    "fail": Input.STEP_FAILED,
    "died": Input.VM_DIED,
    "end": Input.DESTROY,
}
# A dot is a refusal.
ROWS = """
state use pause resume save sleep store wake done fail died end
running running pausing running saving hibernating . running . . failed destroying
pausing . . . . . . . paused running failed destroying
paused . paused resuming . . . . . . failed destroying
resuming . . . . . . . running paused failed destroying
saving saving . saving . . . saving running running failed destroying
hibernating . . . . . . . hibernated running failed destroying
hibernated . . . hibernated hibernated archived waking . . . destroying
waking . . . . . . . running hibernated . destroying
archived . . . . archived . unarchiving . . . destroying
unarchiving . . . . . . . running archived . destroying
booting . . . . . . . running failed . destroying
failed . . . . . . booting . . failed destroying
destroying . . . . . . . destroyed destroying destroying destroying
destroyed . . . . . . . . . . .
"""
_HEAD, *_LINES = (line.split() for line in ROWS.strip().splitlines())
CASES = [
    (State(line[0]), INPUTS[column], None if cell == "." else State(cell))
    for line in _LINES
    for column, cell in zip(_HEAD[1:], line[1:], strict=True)
]


def test_every_pair_is_written_down() -> None:
    assert {(state, given) for state, given, _ in CASES} == {
        (state, given) for state in State for given in Input
    }


@pytest.mark.parametrize(("state", "given", "after"), CASES)
def test_a_pair(state: State, given: Input, after: State | None) -> None:
    if after is not None:
        assert step(state, given) is after
        return
    with pytest.raises(StateConflict) as refused:
        step(state, given)
    assert (refused.value.have, refused.value.given) == (state.value, given.value)


def test_every_state_can_be_reached_and_ended() -> None:
    assert {State.RUNNING, *TABLE.values()} == set(State)
    assert all((state, Input.DESTROY) in TABLE for state in State if state is not State.DESTROYED)
