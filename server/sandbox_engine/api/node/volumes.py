"""The call about the catalog."""

from __future__ import annotations

from typing import Any

from sandbox_engine.api.node.replies import Reply, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.services.volumes import Volumes


class VolumeCalls:
    """Request in, one service call, answer out."""

    def __init__(self, volumes: Volumes) -> None:
        self._volumes = volumes

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [Route("GET", "/v1/volumes", Right.NODE, self.index)]

    async def index(self, call: Call) -> Reply:
        """What the caller may use; never where it lies or who else may."""
        rows = []
        for entry, size in self._volumes.permitted(call.party.tenant):
            row: dict[str, Any] = {
                "name": entry.name,
                "default_mount": entry.default_mount,
                "size_bytes": size or 0,
                "available": size is not None,
                "nodes": 1,
            }
            if entry.writable:
                row["writable"] = True
            rows.append(row)
        return reply({"volumes": rows})
