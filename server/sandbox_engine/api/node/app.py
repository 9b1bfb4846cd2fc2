"""From a request to its answer: the table's row, the caller's right, the handler, the error."""

from __future__ import annotations

from sandbox_engine.api.node.reader import Request
from sandbox_engine.api.node.replies import Reply, failure, refusal
from sandbox_engine.api.node.routes import Call, Right, Route, Routes, shape_of
from sandbox_engine.services.access import Access, Party


class NodeApi:
    """Serves one request at a time, any number of them at once."""

    def __init__(self, access: Access, routes: Routes) -> None:
        self._access, self.routes = access, routes

    async def answer(self, request: Request) -> Reply:
        """The answer, whatever happens.  Cancelled, it undoes what the call began."""
        path, item, detail = shape_of(request.segments())
        rows = self.routes.find(path)
        if not rows:
            return refusal(404, f"no such path: {request.path}")
        method = "GET" if request.method == "HEAD" else request.method
        row = rows.get(method)
        if row is None:
            allowed = ", ".join(sorted(rows))
            return refusal(405, f"{request.path} takes {allowed}", f"Allow: {allowed}")
        try:
            party = self._party(row, request.bearer, item)
            return await row.handler(Call(request, party, item, detail))
        except Exception as error:  # noqa: BLE001 - every error has an answer
            return failure(error, f"{row.method} {row.path}")

    def _party(self, row: Route, bearer: str | None, item: str) -> Party:
        match row.right:
            case Right.OPEN:
                return Party()
            case Right.NODE:
                return self._access.node(bearer)
            case Right.ROOT:
                return self._access.root(bearer)
            case Right.OWNER:
                return self._access.sandbox(bearer, item)
            case Right.OWNER_OR_ROOT:
                return self._access.sandbox(bearer, item, operator=True)
