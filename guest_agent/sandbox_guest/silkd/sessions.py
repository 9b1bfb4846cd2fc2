"""`session_create`, `session_list`, `session_rm`, and `exec` in a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from sandbox_guest import fields
from sandbox_guest.framing import Control, FrameKind
from sandbox_guest.shells import Run
from sandbox_guest.silkd.errors import bad_request, not_found
from sandbox_guest.silkd.rpc import Rpc


def create(rpc: Rpc) -> Control:
    """Start a persistent shell."""
    request = rpc.request
    identifier = fields.text(request, "id") or f"sh_{os.urandom(6).hex()}"
    if identifier in rpc.agent.shells:
        raise bad_request(f"session {identifier} exists")
    cwd = fields.text(request, "cwd") or rpc.agent.places.start_folder()
    rpc.agent.shells.create(identifier, cwd, fields.variables(request, "env"))
    return {"type": "session_created", "id": identifier}


def listing(rpc: Rpc) -> Control:
    """Every session's id."""
    return {"type": "sessions", "sessions": rpc.agent.shells.names()}


def remove(rpc: Rpc) -> Control:
    """End a session and what it runs."""
    identifier = fields.required_text(rpc.request, "id")
    if not rpc.agent.shells.remove(identifier):
        raise not_found(f"no session {identifier}")
    return {"type": "done"}


def run_in_shell(rpc: Rpc, identifier: str) -> None:
    """Run `argv` in a session; the RPC ends with its code."""
    shell = rpc.agent.shells.get(identifier)
    if shell is None:
        raise not_found(f"no session {identifier}")

    def give(data: bytes) -> None:
        rpc.stream.send_bulk(FrameKind.STDOUT, data)

    def done(code: int | None) -> None:
        if code is None:
            gone = not_found(f"session {identifier} ended")
            rpc.finish({"type": "error", "kind": gone.kind, "message": str(gone)})
        else:
            rpc.finish({"type": "exit", "code": code})

    run = Run(fields.words(rpc.request, "argv"), rpc.stream.room, give, done)
    rpc.stream.on_gone = lambda: shell.cancel(run)
    rpc.stream.on_room = shell.resume
    rpc.listen(lambda _, data: rpc.stream.grant(len(data)), lambda: None)
    shell.submit(run)


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {
    "session_create": create,
    "session_list": listing,
    "session_rm": remove,
}
