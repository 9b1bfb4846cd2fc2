"""`exec`: in the foreground, detached, or in a persistent shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox_guest import fields
from sandbox_guest.foreground import Foreground, Limits, Outcome
from sandbox_guest.framing import Control, FrameKind
from sandbox_guest.process import Command
from sandbox_guest.silkd.errors import INTERNAL, RpcError
from sandbox_guest.silkd.rpc import Rpc
from sandbox_guest.silkd.sessions import run_in_shell


def run(rpc: Rpc) -> Control | None:
    """Run a command as the request says."""
    session = fields.text(rpc.request, "session")
    if session:
        run_in_shell(rpc, session)
        return None
    if fields.flag(rpc.request, "detach"):
        return _detached(rpc)
    _foreground(rpc)
    return None


def command_of(rpc: Rpc, argv: list[str], *, stdin: bool) -> Command:
    """The command a request describes, `argv` apart."""
    request = rpc.request
    check_thawed(rpc)
    return Command(
        argv=argv,
        cwd=fields.text(request, "cwd") or rpc.agent.places.start_folder(),
        env=fields.variables(request, "env"),
        user=fields.text(request, "user") or None,
        stdin=stdin,
        terminal=None,
    )


def check_thawed(rpc: Rpc) -> None:
    """Nothing may be started while the workload is frozen.  Raises `RpcError`."""
    if rpc.agent.cgroups.frozen:
        raise RpcError(INTERNAL, "the machine is being saved")


def _detached(rpc: Rpc) -> Control:
    command = command_of(rpc, fields.words(rpc.request, "argv"), stdin=False)
    tracked = rpc.agent.table.start(command, detached=True)
    return {"type": "started", "pid": tracked.process.pid}


def _foreground(rpc: Rpc) -> None:
    command = command_of(rpc, fields.words(rpc.request, "argv"), stdin=True)

    def done(outcome: Outcome) -> None:
        rpc.agent.table.remove(tracked)
        rpc.finish({"type": "exit", "code": outcome.code})

    def bulk(kind: int, data: bytes) -> None:
        if kind == FrameKind.STDIN:
            run.write(data)
        else:
            rpc.stream.grant(len(data))

    run = Foreground(rpc.agent.launcher, rpc.stream, command, Limits(), done)
    tracked = rpc.agent.table.track(command.argv, run.process)
    run.on_abandoned = lambda: rpc.agent.table.remove(tracked)
    rpc.send({"type": "started", "pid": run.process.pid})
    rpc.listen(bulk, run.end_input)


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {"exec": run}
