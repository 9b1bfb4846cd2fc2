"""Compiling the C and C++ programs, once a session and a flavour."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

VALGRIND = [
    "valgrind",
    "-q",
    "--error-exitcode=99",
    "--leak-check=full",
    "--show-leak-kinds=all",
    "--errors-for-leak-kinds=all",
    "--track-fds=no",
]


def make(folder: str, *arguments: str) -> None:
    """Run make and show what it said if it failed."""
    done = subprocess.run(
        ["make", "-s", "-j2", "-C", str(ROOT / folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@functools.cache
def c_programs(flavour: str) -> Path:
    """The folder of the C programs: `plain`, `asan` (with UBSan) or `tsan`."""
    make("tests/sdk_c/c", f"FLAVOUR={flavour}")
    return BUILD / "tests/sdk_c" / flavour


@functools.cache
def fuzzer() -> Path:
    """The libFuzzer program."""
    make("tests/sdk_c/c", "FLAVOUR=fuzz", "CC=clang", "fuzz")
    return BUILD / "tests/sdk_c/fuzz/session_fuzz"
