"""Runs `buf` with the tools of the environment this interpreter belongs to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def buf(*arguments: str | Path) -> bool:
    """Run one buf command in the repository's root; its output goes to ours."""
    tools = Path(sys.executable).parent
    path = os.pathsep.join([str(tools), os.environ.get("PATH", os.defpath)])
    command = [str(tools / "buf"), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PATH": path}, check=False)
    return done.returncode == 0
