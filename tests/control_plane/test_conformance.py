"""Black-box tests of this API that nobody here wrote, against real VMs.

They live beside this repository (`CONFORMANCE_DIR`); without them there is nothing to run,
which `make test` says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.api import Api
from tests.support.engine import ROOT

pytestmark = pytest.mark.vm
FOLDER = ROOT / os.environ.get("CONFORMANCE_DIR", "../shared/conformance")
SUITE = FOLDER / "test_control_plane.py"


def test_the_seed_s_control_plane(plane: Api, base_template: str) -> None:
    if not SUITE.exists():
        return
    status = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-rA", "-c", str(FOLDER / "pytest.ini"),
            "-p", "no:cacheprovider", "-p", "tests.control_plane.seed_suite",
            "-m", "control_plane", str(SUITE),
        ],
        env=os.environ
        | {
            "CONTROL_PLANE_ADDR": plane.address,
            "CONTROL_PLANE_TOKEN": plane.client("one").token,
            "CONTROL_PLANE_OTHER_TOKEN": plane.client("two").token,
            "CONTROL_PLANE_TEMPLATE": base_template,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(ROOT),
        },
        cwd=Path("/"),
        check=False,
    ).returncode  # fmt: skip
    assert status == 0, f"the API's log ends with:\n{plane.tail()}"
