"""`lsp_start`, `lsp_request`, `lsp_stop`: language servers, one client each.

`/etc/silkd/lsp.d/<language>` holds the command: a JSON list, or words as a shell splits
them.  A server lives until the one stream it serves ends, or half an hour without one.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_guest import fields
from sandbox_guest.framing import Control
from sandbox_guest.pipes import Pump, always, reading
from sandbox_guest.process import Command, Started
from sandbox_guest.silkd.duplex import Duplex
from sandbox_guest.silkd.errors import bad_request, not_found
from sandbox_guest.silkd.execute import check_thawed
from sandbox_guest.silkd.files import absolute
from sandbox_guest.silkd.rpc import Rpc

UNUSED_S = 1800.0
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#-][A-Za-z0-9_+#.-]{0,63}")


class Server:
    """One language server."""

    def __init__(self, started: Started, ended: Callable[[], None]) -> None:
        self._started = started
        self._ended = ended
        self.taken = False
        self._process = started.process
        self._process.on_exit = self._exited
        self._errors = Pump(started.stderr, reading(always, lambda _: None), lambda: None)
        self._timer = asyncio.get_running_loop().call_later(UNUSED_S, self.kill)

    def serve(self, rpc: Rpc) -> None:
        """Relay the stream of `rpc`, whose end is the server's."""
        self.taken = True
        self._timer.cancel()
        for fd in (self._started.stdout, self._started.stdin):
            os.set_blocking(fd, False)
        rpc.send({"type": "ready"})
        Duplex(rpc, self._started.stdout, self._started.stdin, self.kill)

    def kill(self) -> None:
        """End it.  Idempotent."""
        self._process.kill()

    def _exited(self) -> None:
        self._timer.cancel()
        self._errors.close()
        if not self.taken:
            os.close(self._started.stdin)
            os.close(self._started.stdout)
        self._process.kill()  # what it started goes with it
        self._process.close()
        self._ended()


def start(rpc: Rpc) -> Control:
    """Start the server of a language."""
    language = fields.required_text(rpc.request, "language")
    argv = _argv(rpc, language)
    check_thawed(rpc)
    root = fields.text(rpc.request, "root")
    cwd = absolute(rpc, root) if root else rpc.agent.places.start_folder()
    started = rpc.agent.launcher.start(Command(argv=argv, cwd=cwd, stdin=True))
    servers = rpc.agent.servers
    identifier = f"lsp_{os.urandom(6).hex()}"
    servers[identifier] = Server(started, lambda: servers.pop(identifier, None))
    return {"type": "lsp_started", "server_id": identifier}


def request(rpc: Rpc) -> None:
    """Speak to a server."""
    server = _server(rpc)
    if server.taken:
        raise bad_request("the server speaks to another client")
    server.serve(rpc)


def stop(rpc: Rpc) -> Control:
    """End a server."""
    server = _server(rpc)
    rpc.agent.servers.pop(rpc.request["server_id"])
    server.kill()
    return {"type": "done"}


def _server(rpc: Rpc) -> Server:
    identifier = fields.required_text(rpc.request, "server_id")
    server: Server | None = rpc.agent.servers.get(identifier)
    if server is None:
        raise not_found(f"no language server {identifier}")
    return server


def _argv(rpc: Rpc, language: str) -> list[str]:
    """The command registered for `language`; its name is no path."""
    if not _LANGUAGE.fullmatch(language):
        raise bad_request(f"language: {language!r} cannot be one")
    try:
        text = Path(rpc.agent.places.etc, "silkd/lsp.d", language).read_text()
    except FileNotFoundError:
        raise not_found(f"no language server for {language}") from None
    argv = json.loads(text) if text.lstrip().startswith("[") else shlex.split(text, comments=True)
    if not argv or not all(isinstance(word, str) for word in argv):
        raise bad_request(f"the language server of {language} has no command")
    return list(argv)


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {
    "lsp_start": start,
    "lsp_request": request,
    "lsp_stop": stop,
}
