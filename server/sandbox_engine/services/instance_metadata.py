"""The document that a guest reads about itself at 169.254.169.254."""

from __future__ import annotations

import msgspec

from sandbox_engine.errors import InvalidArgument, NotOffered, StateConflict
from sandbox_engine.model.machine import State
from sandbox_engine.services.claims import NODE, Claims
from sandbox_engine.services.sandboxes import Sandboxes

MAX_BYTES = 4096


class InstanceMetadata:
    """Gives guests their documents; they keep them, and so do states that are saved."""

    def __init__(self, *, sandboxes: Sandboxes, claims: Claims) -> None:
        self._sandboxes, self._claims = sandboxes, claims

    async def put(self, sandbox_id: str, document: bytes) -> None:
        """Replace it, byte for byte, in one step.

        Raises `InvalidArgument`, `SandboxNotFound`, `StateConflict` for a guest that does
        not run, `NotOffered` for one that serves none.
        """
        text = checked(document)
        sandbox = self._claims.get(sandbox_id)
        if sandbox.state is not State.RUNNING:
            raise StateConflict(have=sandbox.state.value, given="set the instance metadata of")
        channel = self._sandboxes.channel(NODE, sandbox_id, passive=True)
        try:
            answer = await channel.call({"op": "metadata", "document": text})
        except InvalidArgument as error:  # an agent that knows no such operation
            raise NotOffered(f"this image serves no instance metadata: {error}") from error
        if not answer.get("served"):
            raise NotOffered("this image serves no instance metadata")


def checked(document: bytes) -> str:
    """The document as text.  Raises `InvalidArgument` unless it is one small JSON object."""
    if len(document) > MAX_BYTES:
        raise InvalidArgument("document", f"{len(document)} bytes; the limit is {MAX_BYTES}")
    try:
        found = msgspec.json.decode(document)
        text = document.decode()
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidArgument("document", f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InvalidArgument("document", "must be one JSON object")
    return text
