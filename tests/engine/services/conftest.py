"""Engines over fakes, each closed at the end with nothing of it left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.services import Services

MakeServices = Callable[..., Services]


@pytest.fixture
async def make_services(tmp_path: Path) -> AsyncIterator[MakeServices]:
    """Makes an engine of settings of its own; its pool keeps `default_warm` and no VMM ahead."""
    made: list[Services] = []

    def make(**settings: Any) -> Services:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        services = Services(folder, **settings)
        services.pool(warm=settings.get("default_warm", 0))
        made.append(services)
        return services

    yield make
    for services in made:
        await services.close()
        assert services.left() == {}


@pytest.fixture
async def services(make_services: MakeServices) -> Services:
    """An engine that makes a VM when one is asked for."""
    return make_services()
