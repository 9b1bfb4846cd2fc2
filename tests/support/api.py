"""A real `sandbox-api` for tests, and a client that shows statuses and bytes."""

from __future__ import annotations

import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sandbox_api.app import EX_TEMPFAIL

from tests.support.node import Answer, free_port

START_TIMEOUT_S = 60.0


def new_token(name: str) -> tuple[str, str]:
    """A token of `sandbox-api new-token`, and its entry of the tokens file."""
    printed = subprocess.check_output(
        [sys.executable, "-m", "sandbox_api", "new-token", name], text=True
    )
    found = re.match(r"token \(shown once\): (\S+)\n\n", printed)
    assert found
    return found[1], printed[found.end() :]


class Client:
    """One principal at one address: `HOST:PORT`, or the path of a Unix socket."""

    def __init__(self, address: str | Path, token: str = "") -> None:
        self.address, self.token = address, token

    def connection(self, timeout_s: float = 120) -> http.client.HTTPConnection:
        """Not connected yet."""
        if isinstance(self.address, Path):
            connection = http.client.HTTPConnection("localhost", timeout=timeout_s)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.settimeout(timeout_s)
            connection.sock.connect(str(self.address))
            return connection
        host, _, port = self.address.rpartition(":")
        return http.client.HTTPConnection(host, int(port), timeout=timeout_s)

    def headers(self, **more: str) -> dict[str, str]:
        """Of every request."""
        return ({"Authorization": f"Bearer {self.token}"} if self.token else {}) | more

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request on its own connection; `bytes` go out as they are."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection = self.connection()
        try:
            connection.request(method, path, data, self.headers(**headers or {}))
            reply = connection.getresponse()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, names, reply.read())
        finally:
            connection.close()

    def open(self, **fields: Any) -> str:
        """The path of a session, new or attached."""
        answer = self.request("POST", "/v1/sessions", fields)
        assert answer.status in (200, 201), answer
        return f"/v1/sessions/{answer.json['id']}"

    def sh(self, session: str, command: str, **fields: Any) -> Any:
        """What a command printed, and how it ended."""
        answer = self.request("POST", f"{session}/exec", {"command": command, **fields})
        assert answer.status == 200, answer
        return answer.json

    def state(self, session: str) -> str:
        """The session's."""
        return str(self.request("GET", session).json["state"])


class Api:
    """A `sandbox-api` in front of an engine's gRPC socket."""

    def __init__(self, folder: Path, engine: Path, **options: Any) -> None:
        self.folder, self.socket = folder, folder / "api.sock"
        self.address = f"127.0.0.1:{free_port()}"
        self.log = folder / "api.log"
        self.tokens = folder / "tokens.conf"
        self._words = [
            sys.executable, "-m", "sandbox_api", "--engine", str(engine),
            "--socket", str(self.socket), "--listen", self.address, "--tokens", str(self.tokens),
        ]  # fmt: skip
        for name, value in options.items():
            self._words += [f"--{name.replace('_', '-')}", str(value)]
        self._clients: dict[str, str] = {}
        self.process: subprocess.Popen[bytes] | None = None

    def allow(self, name: str, *lines: str) -> Client:
        """Another entry of the tokens file, and its client; before `start()`."""
        self._clients[name], entry = new_token(name)
        with self.tokens.open("a") as file:
            file.write(entry + "".join(f"{line}\n" for line in lines))
        self.tokens.chmod(0o600)
        return self.client(name)

    def client(self, name: str) -> Client:
        """Over TCP, with a token."""
        return Client(self.address, self._clients[name])

    def start(self) -> None:
        """Start it and wait until it says that it serves."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, self.log.open("ab") as log:
            notify = self.folder / "api-notify.sock"
            notify.unlink(missing_ok=True)
            ready.bind(str(notify))
            self.process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | {"NOTIFY_SOCKET": str(notify)},
            )
            pidfd = os.pidfd_open(self.process.pid)
            told, _, _ = select.select([ready.fileno(), pidfd], [], [], START_TIMEOUT_S)
            os.close(pidfd)
            if ready.fileno() not in told:
                self.kill()
                raise AssertionError(f"sandbox-api did not start:\n{self.tail()}")

    def supervise(self) -> None:
        """What a service manager does: start it again where it gave up."""
        if self.process is not None and self.process.poll() == EX_TEMPFAIL:
            self.start()

    def stop(self) -> None:
        """SIGTERM, and an orderly end."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            status = self.process.wait(timeout=60)
            self.process = None
            assert status == 0, f"sandbox-api ended with {status}:\n{self.tail()}"

    def kill(self) -> None:
        """SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4000:] if self.log.exists() else ""


@contextmanager
def api(folder: Path, engine: Path, **options: Any) -> Iterator[Api]:
    """A running one with the principals `one` and `two`."""
    made = Api(folder, engine, **options)
    made.allow("one")
    made.allow("two")
    try:
        made.start()
        yield made
        made.stop()
    finally:
        made.kill()
