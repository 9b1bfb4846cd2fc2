"""The calls about the node: what it is, how full it is, what it keeps ready."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from sandbox_engine.api.node.replies import TEXT, Reply, Response, body_of, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.api.node.views import NodeView
from sandbox_engine.model.pool_wish import PoolWish
from sandbox_engine.services.metrics import Metrics
from sandbox_engine.services.node import Node
from sandbox_engine.services.reload import Reload
from sandbox_engine.services.targets import PoolTargets

METRICS = "text/plain; version=0.0.4; charset=utf-8"


class _Pools(Struct, forbid_unknown_fields=True):
    pools: list[PoolWish]


_pools = msgspec.json.Decoder(_Pools)


class NodeCalls:
    """Request in, one service call, answer out."""

    def __init__(
        self,
        *,
        node: Node,
        view: NodeView,
        targets: PoolTargets,
        metrics: Metrics,
        reload: Reload,
    ) -> None:
        self._node, self._view, self._targets = node, view, targets
        self._metrics, self._reload = metrics, reload

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [
            Route("GET", "/healthz", Right.OPEN, self.healthz),
            Route("GET", "/metrics", Right.ROOT, self.metrics),
            Route("GET", "/v1/info", Right.ROOT, self.info),
            Route("GET", "/v1/peers", Right.NODE, self.peers),
            Route("PUT", "/v1/pools", Right.ROOT, self.put_pools),
            Route("POST", "/v1/drain", Right.ROOT, self.drain),
            Route("DELETE", "/v1/drain", Right.ROOT, self.undrain),
            Route("POST", "/v1/config/reload", Right.ROOT, self.reload),
        ]

    async def healthz(self, _: Call) -> Reply:
        """It lives."""
        return Response(200, b"ok", TEXT)

    async def metrics(self, _: Call) -> Reply:
        """The node in numbers."""
        return Response(200, self._metrics.render(), METRICS)

    async def info(self, _: Call) -> Reply:
        """The node."""
        return reply(self._view.info())

    async def peers(self, _: Call) -> Reply:
        """The other nodes: this one is alone."""
        return reply({"peers": []})

    async def put_pools(self, call: Call) -> Reply:
        """Exactly these pools."""
        await self._targets.replace(body_of(call.request, _pools).pools)
        return reply(self._view.info())

    async def drain(self, _: Call) -> Reply:
        """No new claims, nothing kept ready."""
        self._node.drain(draining=True)
        return reply(self._view.info())

    async def undrain(self, _: Call) -> Reply:
        """Both again."""
        self._node.drain(draining=False)
        return reply(self._view.info())

    async def reload(self, _: Call) -> Reply:
        """Read the configuration again."""
        return reply(await self._reload.run())
