"""One engine and one `sandbox-api` for every live test here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.control_plane.world import Plane
from tests.support.api import Api, api
from tests.support.engine import Engine, engine


@pytest.fixture(scope="session")
def plane_engine(base_template: str) -> Iterator[Engine]:
    """An engine with small workspaces."""
    pools = [{"template": base_template, "warm": 1, "waiting": 1}]
    with engine(pools=pools, workspace_mib=64) as made:
        yield made


@pytest.fixture(scope="session")
def plane(plane_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API in front of it; at most 5 VMs."""
    folder: Path = tmp_path_factory.mktemp("plane")
    with api(folder, plane_engine.grpc_socket, max_running=5, template="base") as made:
        yield made


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Plane]:
    """The control plane over a fake engine room."""
    async with Plane(tmp_path) as made:
        yield made
