"""A client of the node API for tests that want to see statuses and bytes."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
from contextlib import suppress
from typing import Any

import msgspec

ROOT = "root-token"
_PORTS = itertools.chain(range(10_000 + os.getpid() * 37 % 20_000, 30_000), range(10_000, 30_000))
"""Below what a kernel gives to clients (`ip_local_port_range`); each process begins elsewhere."""


class Answer(msgspec.Struct):
    """What came back."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> str:
        """Its `error`, which is all the body holds."""
        ((name, message),) = self.json.items()
        assert name == "error"
        return str(message)


class Relay:
    """The client's end of a relay."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._file = connection.makefile("rb")
        self.status = int(self._file.readline().split()[1])
        self.headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        size = int(self.headers.get("content-length", "0"))
        self.body = self._file.read(size) if self.status != 101 else b""

    def send(self, **frame: Any) -> None:
        """Send one frame."""
        self.socket.sendall(json.dumps({"v": 1, **frame}, separators=(",", ":")).encode() + b"\n")

    def line(self) -> bytes:
        """The next line; nothing at the end."""
        return self._file.readline()

    def frame(self) -> Any:
        """The next frame."""
        line = self.line()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    def read(self, size: int = -1) -> bytes:
        """Raw bytes, by default up to the end."""
        return self._file.read(size)

    def shut(self) -> None:
        """End our direction."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Hang up."""
        self._file.close()
        self.socket.close()


class Node:
    """A node by its address."""

    def __init__(self, address: str, token: str = ROOT, timeout_s: float = 120.0) -> None:
        host, _, port = address.rpartition(":")
        self.address = (host, int(port))
        self._token, self._timeout_s = token, timeout_s

    def connect(self) -> socket.socket:
        """A fresh connection."""
        connection = socket.create_connection(self.address, timeout=self._timeout_s)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = "",
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """One request on its own connection; `bytes` go out as they are, "" is the root token."""
        connection = http.client.HTTPConnection(*self.address, timeout=self._timeout_s)
        sent = dict(headers or {})
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self._token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data, sent)
            reply = connection.getresponse()
            names = {name.lower(): value for name, value in reply.getheaders()}
            return Answer(reply.status, names, reply.read())
        finally:
            connection.close()

    def claim(self, template: str, **fields: Any) -> Any:
        """A claim that succeeds."""
        answer = self.request("POST", "/v1/claim", {"template": template} | fields)
        assert answer.status == 200, answer
        return answer.json

    def release(self, claim: Any) -> None:
        """Give it back."""
        path = f"/v1/sandboxes/{claim['id']}/release"
        assert self.request("POST", path, token=claim["token"]).status == 204

    def release_by_id(self, sandbox: str) -> None:
        """The operator takes it back."""
        assert self.request("POST", f"/v1/sandboxes/{sandbox}/release").status == 204

    def upgrade(
        self, claim: Any, call: str = "agent", *, token: str = "", early: bytes = b""
    ) -> Relay:
        """A relay, `early` sent in the same write as the request."""
        connection = self.connect()
        protocol = "silkd" if call == "agent" else "tcp"
        connection.sendall(
            f"GET /v1/sandboxes/{claim['id']}/{call} HTTP/1.1\r\nHost: x\r\n"
            f"Connection: Upgrade\r\nUpgrade: {protocol}\r\n"
            f"Authorization: Bearer {token or claim['token']}\r\n\r\n".encode()
            + early
        )
        return Relay(connection)


def free_port() -> int:
    """A port nobody listens on, and that no client of this host is given as its own.

    So it is still free when a server takes it, or takes it again.
    """
    for port in _PORTS:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("every port is taken")
