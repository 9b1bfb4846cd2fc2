"""The node API's table: method, path, who may call, and what serves it."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable, Iterator

from msgspec import Struct

from sandbox_engine.api.node.reader import Request
from sandbox_engine.api.node.replies import Reply
from sandbox_engine.services.access import Party

_ITEMS = ("sandboxes", "checkpoints", "tenants")
"""Collections whose members are addressed by the segment that follows."""


class Right(enum.Enum):
    """Whose token a call takes."""

    OPEN = enum.auto()
    NODE = enum.auto()
    """Root or tenant; anybody on a node without `api_token`."""
    ROOT = enum.auto()
    OWNER = enum.auto()
    """The sandbox's own token and no other."""
    OWNER_OR_ROOT = enum.auto()


class Call(Struct):
    """One call, its caller known."""

    request: Request
    party: Party
    item: str = ""
    """The id or name in the path."""
    detail: str = ""
    """What follows the verb in the path."""


Handler = Callable[[Call], Awaitable[Reply]]


class Route(Struct, frozen=True):
    """One row.  In a path `*` is an id or name, and at the end the rest."""

    method: str
    path: str
    right: Right
    handler: Handler


class Routes:
    """Finds a row."""

    def __init__(self, rows: Iterable[Route]) -> None:
        self._rows: dict[str, dict[str, Route]] = {}
        for row in rows:
            methods = self._rows.setdefault(row.path, {})
            assert row.method not in methods, row
            methods[row.method] = row

    def find(self, path: str) -> dict[str, Route]:
        """The rows of a path, by method; none for a path nobody serves."""
        return self._rows.get(path, {})

    def __iter__(self) -> Iterator[Route]:
        return (row for methods in self._rows.values() for row in methods.values())


def shape_of(segments: list[str]) -> tuple[str, str, str]:
    """A path as the table has it, with the item and the detail in it."""
    item = detail = ""
    shape = list(segments)
    if len(shape) > 2 and shape[0] == "v1" and shape[1] in _ITEMS:
        item, shape[2] = shape[2], "*"
        if len(shape) > 4 and shape[3] == "ports":
            detail, shape[4] = shape[4], "*"
    return "/" + "/".join(shape), item, detail
