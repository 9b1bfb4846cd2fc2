"""The `path` of an operation: confined to the workspace unless the engine says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox_guest import fields
from sandbox_guest.agent import Agent
from sandbox_guest.confine import Folder
from sandbox_guest.framing import Control
from sandbox_guest.ops.errors import OpError, Status


@contextmanager
def folder_of(agent: Agent, request: Control) -> Iterator[tuple[Folder, str]]:
    """The folder to resolve in and the request's path relative to it, "" for itself.

    Raises `OpError`: DENIED for a path that is not absolute, has `.` or `..`, or is not
    below the workspace; NOT_MOUNTED when there is none.
    """
    path = fields.required_text(request, "path")
    parts = path.split("/")
    if parts[0] or "." in parts or ".." in parts:
        raise OpError(Status.DENIED, f"{path}: must be absolute, without . and ..")
    relative = "/".join(filter(None, parts))
    if fields.flag(request, "unconfined"):
        with Folder("/", beneath=False) as folder:
            yield folder, relative
        return
    inside = _beneath(agent.places.workspace.strip("/"), relative)
    if inside is None:
        raise OpError(Status.DENIED, f"{path}: outside {agent.places.workspace}")
    with _workspace(agent) as folder:
        yield folder, inside


def is_root(agent: Agent, request: Control) -> bool:
    """The path is `/` or the workspace itself."""
    relative = "/".join(filter(None, fields.required_text(request, "path").split("/")))
    return relative in ("", agent.places.workspace.strip("/"))


def _beneath(workspace: str, relative: str) -> str | None:
    if relative == workspace:
        return ""
    return relative[len(workspace) + 1 :] if relative.startswith(workspace + "/") else None


def _workspace(agent: Agent) -> Folder:
    try:
        return Folder(agent.places.workspace, beneath=True)
    except OSError as error:
        raise OpError(
            Status.NOT_MOUNTED, f"{agent.places.workspace} is not mounted: {error.strerror}"
        ) from error
