"""Live fixtures: real VMs behind a real daemon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engine import Engine
from tests.support.frames import Frames


@pytest.fixture
def frames(shared_engine: Engine) -> Iterator[Frames]:
    """A connection; what it owns dies with it."""
    with Frames(shared_engine.engine_socket) as connection:
        yield connection


@pytest.fixture
def sandbox(frames: Frames) -> int:
    """A fresh sandbox of `base`, owned by `frames`."""
    return int(frames.create("base").sandbox_id)
