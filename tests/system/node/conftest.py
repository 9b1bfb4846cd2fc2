"""A real node: the daemon with its node API, over real VMs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import BASE_MEMORY_MIB
from tests.support.engine import Engine, engine
from tests.support.node import ROOT, Node, free_port

TINY = {"cpus": 1, "memory_mib": BASE_MEMORY_MIB}


@pytest.fixture(scope="module")
def node(base_template: str) -> Iterator[Engine]:
    """One engine whose node API listens; two warm VMs, which are `tiny` and what clients that
    name no size get."""
    with engine(
        listen=f"127.0.0.1:{free_port()}",
        api_token=ROOT,
        preview_listen=f"127.0.0.1:{free_port()}",
        sizes={"tiny": TINY, "small": TINY},
        pools=[{"template": base_template, "size": "tiny", "warm": 2}],
        audit_log=True,
        restart_budget=0,  # what fails is looked at
    ) as made:
        yield made


@pytest.fixture
def claim(node: Engine) -> Iterator[Any]:
    """A claim of it."""
    api = Node(node.config["listen"])
    made = api.claim("base", size="tiny")
    yield made
    api.release(made)
