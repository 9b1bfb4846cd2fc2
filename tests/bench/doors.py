"""A warm create through each door, against a call that does nothing on the same socket."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import grpc
from sandbox.v1 import legacy_pb2 as legacy
from sandbox.v1 import node_pb2, node_pb2_grpc, sandboxes_pb2, sandboxes_pb2_grpc

from tests.bench.measure import Row, timed
from tests.support.engine import Engine, engine
from tests.support.frames import Frames
from tests.support.wait import until

ROUNDS = 15
WARM = 2


def rows() -> list[Row]:
    """Both doors of one engine with a full pool."""
    with engine(pools=[{"template": "base", "warm": WARM, "waiting": 1}]) as made:
        return [_frames(made), _grpc(made)]


def _frames(made: Engine) -> Row:
    with Frames(made.engine_socket) as frames:

        def nothing() -> None:
            frames.send(legacy.ClientMessage(request_id=1))
            frames.receive()

        def create() -> int:
            request = legacy.CreateRequest(template_name="base")
            return int(frames.call(create=request).sandbox_id)

        warm, floor = _measured(made, nothing, create, frames.destroy)
    return timed("warm create over frames", warm, "no-op frame", floor, 4.0)


def _grpc(made: Engine) -> Row:
    with grpc.insecure_channel(f"unix:{made.grpc_socket}") as channel:
        stub = sandboxes_pb2_grpc.SandboxServiceStub(channel)

        def nothing() -> None:
            try:
                stub.GetSandbox(sandboxes_pb2.GetSandboxRequest(sandbox_id="sb_none"))
            except grpc.RpcError:
                return

        def create() -> str:
            made_ = stub.CreateSandbox(sandboxes_pb2.CreateSandboxRequest(template="base"))
            return str(made_.sandbox.id)

        def destroy(sandbox: str) -> None:
            stub.DestroySandbox(sandboxes_pb2.DestroySandboxRequest(sandbox_id=sandbox))

        warm, floor = _measured(made, nothing, create, destroy)
    return timed("warm create over gRPC", warm, "no-op gRPC call", floor, None)


def _measured(
    made: Engine,
    nothing: Callable[[], None],
    create: Callable[[], Any],
    destroy: Callable[[Any], None],
) -> tuple[float, float]:
    """Medians of a create out of a full, quiet pool and of a call that does nothing.

    Each is one call after the same pause: neither finds caches that a loop kept warm.
    """
    creates, floors = [], []
    for _ in range(ROUNDS):
        until(lambda: _full(made))
        floors.append(_seconds(nothing))
        until(lambda: _full(made))
        started = time.perf_counter()
        sandbox = create()
        creates.append(time.perf_counter() - started)
        destroy(sandbox)
    return statistics.median(creates), statistics.median(floors)


def _full(made: Engine) -> bool:
    with grpc.insecure_channel(f"unix:{made.grpc_socket}") as channel:
        pools = node_pb2_grpc.NodeServiceStub(channel).ListPools(node_pb2.ListPoolsRequest()).pools
    return all(pool.ready >= WARM and not pool.starting for pool in pools)


def _seconds(call: Callable[[], None]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
