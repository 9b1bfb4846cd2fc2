"""`usage fold`: the seed's rules, computed here a second time and in another way."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from
from sandbox_cli.fold import by_tenant, fold

from tests.cli.conftest import Cli

START = 1_790_000_000
LEGAL = {
    "running": {"hibernate": "hibernated", "vmm_exit": "down", "fork": "running"},
    "hibernated": {"wake": "running", "archive": "archived", "checkpoint": "hibernated"},
    "archived": {"unarchive": "waking"},
    "waking": {"wake": "running"},
    "down": {"vmm_failed": "down", "vmm_restart": "running"},
}
"""What an engine writes after what."""


def line(at: float, ev: str, sandbox: str = "sb_1", **more: Any) -> str:
    moment = datetime.fromtimestamp(START + at, UTC).isoformat().replace("+00:00", "Z")
    return json.dumps({"t": moment, "ev": ev, "id": sandbox, "vm": "vm-1", **more})


def history(choices: list[int], gaps: list[int], end: str) -> list[tuple[int, str]]:
    """A life: which of the legal events comes next, and after how long."""
    state, at, events = "running", 0, [(0, "claim")]
    for choice, gap in zip(choices, gaps, strict=False):
        legal = sorted(LEGAL[state])
        event = legal[choice % len(legal)]
        at += gap
        state = LEGAL[state][event]
        events.append((at, event))
    if state == "archived":
        events.append((at + 7, "archive_delete"))
    return [*events, (at + 7, end)]


def spans(events: list[tuple[int, str]], begin: str, ends: set[str]) -> int:
    """The sum over `begin` of the time to the first of `ends` after it."""
    total = 0
    for number, (at, event) in enumerate(events):
        if event == begin:
            total += next(later for later, name in events[number + 1 :] if name in ends) - at
    return total


@given(
    choices=lists(integers(0, 9), max_size=12),
    gaps=lists(integers(0, 1000), min_size=12, max_size=12),
    end=sampled_from(["release", "reap"]),
)
def test_the_sums_are_those_of_the_rules(choices: list[int], gaps: list[int], end: str) -> None:
    events = history(choices, gaps, end)
    ended = {"release", "reap"}
    whole = spans(events, "claim", ended)
    asleep = spans(events, "hibernate", {"wake"} | ended)
    shelved = spans(events, "archive", {"unarchive", "archive_delete"})
    down = spans(events, "vmm_exit", {"vmm_restart"} | ended)
    (bill,) = fold([line(at, event) for at, event in events], until=START + 10**9)
    assert bill.seconds == {
        "running": whole - asleep - down,
        "hibernated": asleep - shelved,
        "archived": shelved,
        "down": down,
    }
    assert not bill.open


def test_what_has_not_ended_is_cut_off() -> None:
    lines = [line(0, "claim"), line(10, "hibernate")]
    (bill,) = fold(lines, until=START + 15)
    assert (bill.seconds["running"], bill.seconds["hibernated"], bill.open) == (10, 5, True)


def ends(at: float) -> dict[str, str]:
    return {"deadline": datetime.fromtimestamp(START + at, UTC).isoformat()}


@pytest.mark.parametrize(
    ("lines", "until", "running", "hibernated"),
    [
        pytest.param([line(0, "claim", **ends(300))], 1000, 300, 0, id="a crash"),
        pytest.param([line(0, "claim", **ends(300))], 200, 200, 0, id="it may live still"),
        pytest.param([line(0, "claim", **ends(300))], 300, 300, 0, id="at its deadline"),
        pytest.param(
            [line(0, "claim", **ends(300)), line(10, "hibernate", **ends(300))], 999, 10, 290,
            id="asleep",
        ),
        pytest.param(
            [line(0, "claim", **ends(300)), line(290, "hibernate", **ends(300)),
             line(295, "wake", **ends(900))], 5000, 895, 5, id="a lease that was renewed",
        ),
        pytest.param(
            [line(0, "claim", **ends(300)), line(400, "release")], 5000, 400, 0,
            id="an end that is told wins",
        ),
        pytest.param(
            [line(0, "claim", **ends(300)), line(400, "hibernate")], 5000, 400, 0,
            id="a deadline that has passed adds nothing",
        ),
    ],
)  # fmt: skip
def test_an_interval_that_a_crash_left_open_goes_up_to_the_deadline(
    lines: list[str], until: int, running: int, hibernated: int
) -> None:
    (bill,) = fold(lines, until=START + until)
    assert (bill.seconds["running"], bill.seconds["hibernated"]) == (running, hibernated)
    assert bill.open == ("release" not in lines[-1])


def test_tenants_have_sums() -> None:
    lines = [
        line(0, "claim", "a", tenant="acme"),
        line(1, "claim", "b", tenant="acme", volumes=["data"], volumes_rw=["data"]),
        line(2, "claim", "c"),
        line(5, "release", "a"),
        line(5, "release", "b"),
        line(9, "reap", "c"),
    ]
    bills = fold(lines, until=START)
    assert [bill.volumes_rw for bill in bills] == [[], ["data"], []]
    sums = [(total.tenant, total.seconds["running"]) for total in by_tenant(bills)]
    assert sums == [("", 7), ("acme", 9)]


def test_the_command_reads_files_in_order(cli: Cli, tmp_path: Path) -> None:
    old, new = tmp_path / "usage.jsonl.1", tmp_path / "usage.jsonl"
    old.write_text(line(0, "claim", key="k", tenant="acme") + "\n")
    new.write_text(line(60, "release") + "\n")
    done = cli("usage", "fold", str(old), str(new), "-o", "json")
    assert done.code == 0
    (row,) = json.loads(done.out)
    assert row == {
        "id": "sb_1", "tenant": "acme", "key": "k", "compute_seconds": 60.0,
        "hibernated_seconds": 0.0, "archived_seconds": 0.0, "down_seconds": 0.0,
        "volumes": [], "volumes_rw": [], "open": False,
    }  # fmt: skip
    text = cli("usage", "fold", str(old), str(new), "--by", "tenant")
    assert text.out.startswith("acme  running 60.000 s")
    cut = cli("usage", "fold", str(old), "--until", "2026-09-21T14:13:30Z")
    assert "(not ended)" in cut.out


@pytest.mark.parametrize("text", ["{", "[]", '{"t": "x", "id": "a", "ev": "claim"}', '{"id": "a"}'])
def test_a_line_that_is_none_is_named(cli: Cli, tmp_path: Path, text: str) -> None:
    journal = tmp_path / "usage.jsonl"
    journal.write_text(line(0, "claim") + "\n" + text + "\n")
    done = cli("usage", "fold", str(journal))
    assert done.code == 1
    assert "line 2 is no usage event" in done.err


def test_wrong_arguments(cli: Cli, tmp_path: Path) -> None:
    assert cli("usage", "fold", str(tmp_path / "none")).code == 1
    assert cli("usage", "fold", "--until", "soon", str(tmp_path)).code != 0
