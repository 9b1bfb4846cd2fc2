"""Pages of a list that is whole in memory (AIP-158)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from sandbox.v1.checkpoints_pb2 import ListCheckpointsRequest
from sandbox.v1.sandboxes_pb2 import ListSandboxesRequest
from sandbox.v1.templates_pb2 import ListTemplatesRequest
from sandbox.v1.workspaces_pb2 import ListWorkspacesRequest

from sandbox_engine.errors import InvalidArgument

DEFAULT_SIZE = 100
MAX_SIZE = 1000
Paged: TypeAlias = (
    ListSandboxesRequest | ListTemplatesRequest | ListCheckpointsRequest | ListWorkspacesRequest
)
"""Requests with `page_size`, `page_token` and filters."""
_T = TypeVar("_T")


def page(items: Sequence[_T], key: Callable[[_T], str], request: Paged) -> tuple[Sequence[_T], str]:
    """The page that `request` asks for.

    `items` are in the order of `key`; what is added or removed between two pages neither
    repeats nor hides another item.  Raises `InvalidArgument`.
    """
    size, token = request.page_size, request.page_token
    if size < 0:
        raise InvalidArgument("page_size", "must not be negative")
    size = min(size or DEFAULT_SIZE, MAX_SIZE)
    filters = _fingerprint(request)
    if token:
        after = _after(token, filters)
        items = [item for item in items if key(item) > after]
    chosen = items[:size]
    more = len(items) > size
    return chosen, _token(filters, key(chosen[-1])) if more else ""


def _fingerprint(request: Paged) -> str:
    filters = type(request).FromString(request.SerializeToString())
    filters.page_size, filters.page_token = 0, ""
    return hashlib.sha256(filters.SerializeToString(deterministic=True)).hexdigest()[:8]


def _token(filters: str, last: str) -> str:
    return base64.urlsafe_b64encode(f"{filters}{last}".encode()).decode()


def _after(token: str, filters: str) -> str:
    try:
        text = base64.urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, UnicodeError) as error:
        raise InvalidArgument("page_token", "it is not one that was given") from error
    if not text.startswith(filters):
        raise InvalidArgument("page_token", "it was given for a list with other filters")
    return text[len(filters) :]
