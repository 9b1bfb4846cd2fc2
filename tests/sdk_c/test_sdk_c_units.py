"""The C library's inner parts, tested in C, and its session under a fuzzer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sdk_c.building import VALGRIND, c_programs, fuzzer
from tests.sdk_c.driving import run

UNITS = ["session_test", "registry_test", "sized_test"]
CORPUS = Path(__file__).parent / "c/corpus"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("flavour", ["plain", "asan"])
async def test_unit(unit: str, flavour: str) -> None:
    await run(c_programs(flavour) / unit)


@pytest.mark.parametrize("unit", UNITS)
async def test_unit_under_valgrind(unit: str) -> None:
    await run(*VALGRIND, c_programs("plain") / unit)


async def test_the_fuzzer_finds_nothing_in_a_short_run(tmp_path: Path) -> None:
    """`make fuzz` runs the same for five minutes."""
    arguments = ["-runs=60000", "-seed=1", "-max_len=4096", f"-artifact_prefix={tmp_path}/"]
    found = tmp_path / "found"
    found.mkdir()
    await run(fuzzer(), *arguments, found, CORPUS)
