"""Calls of the API that this build does not serve yet: 501, for whoever may call them."""

from __future__ import annotations

from sandbox_engine.api.node.replies import Response, refusal
from sandbox_engine.api.node.routes import Call, Right, Route

_CALLS = (("GET", "/v1/checkpoints/*/blob", Right.ROOT),)


def unserved() -> list[Route]:
    """Their rows of the table."""
    return [Route(method, path, right, _answer) for method, path, right in _CALLS]


async def _answer(call: Call) -> Response:
    request = call.request
    return refusal(501, f"{request.method} {request.path} is not served by this node yet")
