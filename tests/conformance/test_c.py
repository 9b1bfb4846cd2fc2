"""The part of the scenario that libsandbox can play."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.conformance.test_python import SCENARIO
from tests.support.engine import ROOT, Engine

HERE = Path(__file__).parent


@pytest.mark.vm
def test_c_plays_its_part_of_the_scenario(shared_engine: Engine, tmp_path: Path) -> None:
    library, program = tmp_path / "library", tmp_path / "play"
    subprocess.run(
        ["make", "-s", "-C", str(ROOT / "sdk/c"), "install", f"PREFIX={library}",
         f"BUILD={tmp_path / 'build'}"],
        check=True,
    )  # fmt: skip
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{library}/include",
         str(HERE / "c/play.c"), f"{library}/lib/libsandbox.a", "-pthread", "-o", str(program)],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [program],
        env=os.environ | {"SANDBOX_SOCKET": str(shared_engine.engine_socket)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    found = re.search(r"^c:\n  steps: \[(.*)\]$", SCENARIO, re.MULTILINE)
    assert found
    steps = found[1].split(", ")
    assert done.stdout.splitlines() == [f"ok {step}" for step in steps], done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
