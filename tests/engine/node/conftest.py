"""Nodes to knock at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.engine.node.world import World, world


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A node for tests that leave nothing behind."""
    with world(tmp_path_factory.mktemp("node"), audit_log=True) as made:
        yield made


@pytest.fixture
def claim(node: World) -> Iterator[Any]:
    """A claim of that node."""
    made = node.claim()
    yield made
    node.request("POST", f"/v1/sandboxes/{made['id']}/release")


@pytest.fixture
def make_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., World]]:
    """Makes a node of a configuration of its own."""
    folder = tmp_path_factory.mktemp("node")  # short: paths of sockets have a limit
    with ExitStack() as stack:

        def make(**config: Any) -> World:
            return stack.enter_context(world(folder, **config))

        yield make
