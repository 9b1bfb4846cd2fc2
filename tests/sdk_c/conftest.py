"""A daemon for each test, and the driver in several ways of compiling it."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sdk_c.driving import Driver
from tests.sdk_c.frame_daemon import FrameDaemon
from tests.sdk_c.installing import Installed


@pytest.fixture
async def daemon() -> AsyncIterator[FrameDaemon]:
    """A frame daemon on a socket whose path is short enough to be one."""
    with tempfile.TemporaryDirectory(prefix="frames-") as folder:
        async with FrameDaemon(Path(folder)) as running:
            yield running


@pytest.fixture(params=["plain", "asan"])
def driver(request: pytest.FixtureRequest, daemon: FrameDaemon) -> Driver:
    """The driver as it is shipped, and watched by AddressSanitizer and UBSan."""
    return Driver(daemon.path, request.param)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Both libraries as `make install` puts them."""
    return Installed(tmp_path_factory.mktemp("installed"))
