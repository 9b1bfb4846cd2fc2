"""The scenario, played by both clients of the Python SDK against one live engine."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import Engine

HERE = Path(__file__).parent
SCENARIO = (HERE / "scenario.yaml").read_text()
STEPS = re.findall(r"^  - step: (\w+)$", SCENARIO, re.MULTILINE)


def test_the_scenario_s_digest_is_of_its_formula() -> None:
    pattern = bytes((i * 31 + (i >> 8)) % 256 for i in range(1 << 20))
    assert f'sha256: "{hashlib.sha256(pattern).hexdigest()}"' in SCENARIO


@pytest.mark.vm
@pytest.mark.parametrize("client", ["sync", "async"])
def test_python_plays_the_scenario(client: str, shared_engine: Engine) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "python" / "play.py"), client],
        env=os.environ | {"SANDBOX_GRPC_SOCKET": str(shared_engine.grpc_socket)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout.splitlines() == [f"ok {step}" for step in STEPS], done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
