"""The hosts that the suites run on: the real one under `vm`, the fake beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.conformance.machines import Bench, MadeUp, Real
from tests.support.workshop import open_workshop

BAKING_S = 600
"""The first test may have to wait for a template."""
KINDS = [
    pytest.param("qemu", marks=[pytest.mark.vm, pytest.mark.timeout(BAKING_S)]),
    "fake",
]


@pytest.fixture(scope="module", params=KINDS)
async def bench(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Bench]:
    folder = tmp_path_factory.mktemp("bench")
    if request.param == "fake":
        fake = MadeUp(folder)
        yield fake
        fake.close()
        return
    template = request.getfixturevalue("base_template")
    async with open_workshop(folder, template, 730_001) as workshop:
        yield Real(workshop)
