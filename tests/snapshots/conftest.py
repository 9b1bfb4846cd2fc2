"""A real engine with its node API, for tests that release what they claim."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.snapshots.nodes import ROOT, Node
from tests.support.engine import engine
from tests.support.node import free_port


@contextmanager
def live_node(template: str, **config: Any) -> Iterator[Node]:
    port = free_port()
    settings: dict[str, Any] = {
        "listen": f"127.0.0.1:{port}",
        "api_token": ROOT,
        "sizes": {"tiny": {"cpus": 1, "memory_mib": 256}},
        "pools": [{"template": template, "size": "tiny", "warm": 1, "waiting": 0}],
    }
    with engine(**settings | config) as made:
        yield Node(made, port)


@pytest.fixture(scope="module")
def live(base_template: str) -> Iterator[Node]:
    with live_node(base_template, restart_budget=1) as made:
        yield made


@pytest.fixture
def own_node(base_template: str) -> Iterator[Node]:
    """A node that a test may kill."""
    with live_node(base_template) as made:
        yield made
