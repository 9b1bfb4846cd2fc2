"""Real engines for the C and C++ libraries' tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from sandbox.v1 import node_pb2, node_pb2_grpc

from tests.support.engine import Engine, engine
from tests.support.wait import until

START_S = 120.0


@contextmanager
def pooled(template: str, warm: int = 1, **config: Any) -> Iterator[Engine]:
    """An engine of one small pool, which is full when it is handed over."""
    pools = [{"template": template, "warm": warm, "waiting": 0}]
    with engine(pools=pools, **config) as made:
        until(lambda: full(made, warm), START_S)
        yield made


def full(made: Engine, warm: int) -> bool:
    """Whether every pool has what it is meant to have."""
    with grpc.insecure_channel(f"unix:{made.grpc_socket}") as channel:
        listed = node_pb2_grpc.NodeServiceStub(channel).ListPools(node_pb2.ListPoolsRequest())
    return all(pool.ready >= warm and not pool.starting for pool in listed.pools)
