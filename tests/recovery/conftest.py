"""Engines of their own: these tests kill them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engine import Engine, engine


@pytest.fixture
def own_engine(base_template: str) -> Iterator[Engine]:
    """A running engine that a test may kill; one warm VM of `base`."""
    with engine(pools=[{"template": base_template, "warm": 1, "waiting": 1}]) as made:
        yield made
