"""The hook for programs in a guest, in processes of the host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.wait import until

PROGRAM = """
import os, random, signal, sys
from sandbox_guest import reseed
reseed.STATE = sys.argv[1]
said = []
if sys.argv[2] == "chained":
    signal.signal(signal.SIGUSR1, lambda *_: said.append("before"))
random.seed(1)
reseed.register(lambda: said.append("one"))
reseed.register(lambda: said.append("two"))
if sys.argv[2] == "forked":
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        sys.exit()
print(os.getpid(), flush=True)
sys.stdin.readline()
print(random.getrandbits(64), *said, flush=True)
"""
UNTOLD = "10499958131665514997"
"""What a generator draws that was seeded with 1."""


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "reseed").mkdir()
    yield tmp_path


def drawn(state: Path, kind: str, *, told: bool) -> list[str]:
    words = [sys.executable, "-c", PROGRAM, str(state), kind]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stdin is not None
        pid = int(program.stdout.readline())
        until((state / "reseed" / str(pid)).exists)
        if told:
            number = int((state / "reseed" / str(pid)).read_text())
            assert number == signal.SIGUSR1
            os.kill(pid, number)
        program.stdin.write("\n")
        program.stdin.flush()
        return program.stdout.read().split()


@pytest.mark.parametrize("kind", ["plain", "forked"])
def test_who_is_told_draws_anew_and_runs_its_callbacks(state: Path, kind: str) -> None:
    untold = drawn(state, kind, told=False)
    assert (untold == [UNTOLD]) == (kind == "plain"), "a fork in the guest is seeded by Python"
    first, second = drawn(state, kind, told=True), drawn(state, kind, told=True)
    assert first[1:] == second[1:] == ["one", "two"]
    assert len({UNTOLD, first[0], second[0]}) == 3


def test_what_the_signal_did_before_it_still_does(state: Path) -> None:
    assert drawn(state, "chained", told=True)[1:] == ["one", "two", "before"]


def test_a_thread_and_a_host_without_an_agent_are_refused(tmp_path: Path) -> None:
    script = (
        "import sys, threading; from sandbox_guest import reseed; reseed.STATE = sys.argv[1];"
        "told = []\n"
        "def work():\n"
        "    try: reseed.register()\n"
        "    except ValueError: told.append('thread')\n"
        "one = threading.Thread(target=work); one.start(); one.join()\n"
        "try: reseed.register()\n"
        "except OSError: told.append('agent')\n"
        "print(*told)"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.check_output(words, text=True).split() == ["thread", "agent"]
