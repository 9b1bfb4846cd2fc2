"""One broker, engine and upstream for a module's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.broker.world import OTHER, TOKEN, World, rule


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    yield world
    world.close()


@pytest.fixture(autouse=True)
def policy(request: pytest.FixtureRequest) -> None:
    """The grant that most tests speak of, anew for each."""
    if "world" not in request.fixturenames:
        return
    world: World = request.getfixturevalue("world")
    port = world.port
    world.engine.grant(
        TOKEN,
        "sb_one",
        rule("api.example"),
        rule("index.example", port),
        rule("*.packages.example"),
        rule("*", named=False),
    )
    world.engine.grant(OTHER, "sb_two", deny_all=True)
    world.upstream.seen.clear()
    world.upstream.faults.clear()
