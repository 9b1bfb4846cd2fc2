"""Clones without a daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.workshop import Workshop, open_workshop


@pytest.fixture(scope="module")
async def workshop(
    tmp_path_factory: pytest.TempPathFactory, base_template: str
) -> AsyncIterator[Workshop]:
    async with open_workshop(tmp_path_factory.mktemp("vms"), base_template, 720_000) as made:
        yield made
