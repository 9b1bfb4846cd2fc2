"""The call that makes a preview's address."""

from __future__ import annotations

import msgspec

from sandbox_engine.api.node.replies import Reply, body_of, reply
from sandbox_engine.api.node.routes import Call, Right, Route
from sandbox_engine.errors import SandboxNotFound
from sandbox_engine.model.preview import PreviewRequest
from sandbox_engine.services.access import Access
from sandbox_engine.services.previews import Previews

_preview = msgspec.json.Decoder(PreviewRequest)


class PreviewCalls:
    """Request in, one service call, answer out."""

    def __init__(self, *, previews: Previews, access: Access) -> None:
        self._previews, self._access = previews, access

    def routes(self) -> list[Route]:
        """Their rows of the table."""
        return [Route("POST", "/v1/sandboxes/*/preview", Right.NODE, self.mint)]

    async def mint(self, call: Call) -> Reply:
        """An address for a browser; the sandbox's token is needed, an operator's is not enough."""
        self._previews.check_offered()
        wish = body_of(call.request, _preview)
        wish.check()
        if not wish.token:
            raise SandboxNotFound(call.item)
        self._access.owned(call.party, call.item, wish.token)
        return reply({"url": self._previews.mint(call.item, wish)})
