"""Compile the agent's one native file, `spawn.c`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_name("spawn.c")
FLAGS = (
    "-std=c11", "-O2", "-shared", "-fPIC", "-nostdlib", "-ffreestanding",
    "-fno-stack-protector", "-fvisibility=default", "-Wall", "-Wextra", "-Werror",
)  # fmt: skip


class CompileFailed(Exception):
    """There is no C compiler, or it refused the file; the message is the compiler's."""


def build_spawn(out_path: Path) -> Path:
    """Compile `spawn.c` into the shared library `out_path`, replaced in one step.

    Raises `CompileFailed`.
    """
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise CompileFailed("no C compiler: install gcc")
    partial = out_path.with_name(out_path.name + ".partial")
    done = subprocess.run(
        [compiler, *FLAGS, "-o", str(partial), str(SOURCE)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CompileFailed(done.stderr.strip())
    partial.replace(out_path)
    return out_path


if __name__ == "__main__":
    build_spawn(Path(sys.argv[1]))
