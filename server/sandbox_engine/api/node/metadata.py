"""The call that gives a guest its instance metadata."""

from __future__ import annotations

import asyncio

from sandbox_engine.api.node.replies import Reply, nothing
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.services.instance_metadata import InstanceMetadata


class MetadataCalls:
    """Request in, one service call, answer out."""

    def __init__(self, metadata: InstanceMetadata) -> None:
        self._metadata = metadata

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [Route("PUT", "/v1/sandboxes/*/instance-metadata", Right.ROOT, self.put)]

    async def put(self, call: Call) -> Reply:
        """The body is the document."""
        await asyncio.sleep(0)  # from here on in a task of its own, as time limits need
        await self._metadata.put(call.item, call.request.body)
        return nothing()
