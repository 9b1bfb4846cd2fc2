"""`pty_open` and `pty_resize`: a shell on a terminal.

It survives its stream for a while: its pid can be attached to, with the replay of a ring.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_guest import accounts, fields
from sandbox_guest.framing import Control
from sandbox_guest.process import Command
from sandbox_guest.silkd.errors import not_found
from sandbox_guest.silkd.execute import check_thawed
from sandbox_guest.silkd.processes import follow
from sandbox_guest.silkd.rpc import Rpc

_SHELLS = ("/bin/bash", "/bin/sh")


def open_terminal(rpc: Rpc) -> None:
    """Start the user's shell on a terminal of the size asked for."""
    check_thawed(rpc)
    request = rpc.request
    user = fields.text(request, "user") or None
    command = Command(
        argv=[_shell(rpc, user)],
        cwd=fields.text(request, "cwd") or rpc.agent.places.start_folder(),
        env=fields.variables(request, "env"),
        user=user,
        stdin=True,
        terminal=fields.columns_rows(request),
    )
    tracked = rpc.agent.table.start(command, detached=False)
    rpc.send({"type": "started", "pid": tracked.process.pid})
    assert tracked.background is not None
    follow(rpc, tracked.background, tracked, holding=True)


def _shell(rpc: Rpc, user: str | None) -> str:
    if user is not None and (shell := accounts.shell_of(user, rpc.agent.places.etc)):
        return shell
    return next((shell for shell in _SHELLS if Path(shell).exists()), _SHELLS[-1])


def resize(rpc: Rpc) -> Control:
    """Resize a terminal by the pid of its shell."""
    columns, rows = fields.columns_rows(rpc.request)
    pid = fields.number(rpc.request, "pid", 0)
    tracked = rpc.agent.table.get(pid)
    background = tracked.background if tracked is not None else None
    if background is None or not background.resize(columns, rows):
        raise not_found(f"process {pid} has no terminal")
    return {"type": "done"}


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {"pty_open": open_terminal, "pty_resize": resize}
