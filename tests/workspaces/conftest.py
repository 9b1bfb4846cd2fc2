"""An engine of its own whose template is the suite's, and a connection to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engine import Engine, engine
from tests.support.frames import Frames


@pytest.fixture(scope="session")
def workspace_engine(base_template: str) -> Iterator[Engine]:
    """A running engine whose workspaces are small."""
    pools = [{"template": base_template, "warm": 1, "waiting": 0}]
    with engine(pools=pools, workspace_mib=64) as made:
        yield made


@pytest.fixture
def frames(workspace_engine: Engine) -> Iterator[Frames]:
    """A connection; what it owns dies with it."""
    with Frames(workspace_engine.engine_socket) as connection:
        yield connection
