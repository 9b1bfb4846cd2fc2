"""Runs `buf` with the tools of the environment this interpreter belongs to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.codegen import languages

ROOT = languages.ROOT


def buf(*arguments: str | Path) -> bool:
    """Run one buf command in the repository's root; its output goes to ours."""
    return run(ROOT, *arguments)


def run(within: Path, *arguments: str | Path) -> bool:
    """Run one buf command in a folder; true if it ended well."""
    tools = Path(sys.executable).parent
    folders = [str(plugins.folder) for plugins in languages.all_plugins()]
    path = os.pathsep.join([str(tools), *folders, os.environ.get("PATH", os.defpath)])
    command = [str(tools / "buf"), *map(str, arguments)]
    done = subprocess.run(command, cwd=within, env={**os.environ, "PATH": path}, check=False)
    return done.returncode == 0
