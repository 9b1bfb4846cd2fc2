"""A web server as a guest might run one, for previews: what it saw, and bodies of any kind."""

from __future__ import annotations

import base64
import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Upstream(ThreadingHTTPServer):
    """The server; `seen` has the requests, newest last."""

    daemon_threads = True

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, list[tuple[str, str]]]] = []
        self.left = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, *_: Any) -> None:
        pass

    def _serve(self) -> None:
        self.server.seen.append((self.command, self.path, list(self.headers.items())))
        name = self.path.split("?")[0].strip("/").replace("/", "_") or "root"
        getattr(self, f"_{name}", self._root)()

    def _root(self) -> None:
        self._answer(b"hello from the guest")

    def _answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _body(self) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length", "0"))
        while left:
            data = self.rfile.read(min(left, 1 << 16))
            left -= len(data)
            yield data

    def _upload(self) -> None:
        digest, size = hashlib.sha256(), 0
        for data in self._body():
            digest.update(data)
            size += len(data)
        self._answer(f"{size} {digest.hexdigest()}".encode())

    def _download(self) -> None:
        size = int(self.path.partition("?")[2])
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        for _ in range(size >> 16):
            self.wfile.write(bytes(1 << 16))

    def _until_close(self) -> None:
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"all there is")
        self.close_connection = True

    def _redirect(self) -> None:
        self._answer(b"", 302, Location=self.path.partition("?")[2])

    def _cookie(self) -> None:
        self._answer(b"", Set_Cookie="a=b; Path=/sub; Domain=example.org; HttpOnly")

    def _origin(self) -> None:
        self._answer(b"", Clear_Site_Data='"*"', Alt_Svc="h3", Referrer_Policy="unsafe-url")

    def _refuse(self) -> None:
        self._answer(b"no more", 413, Connection="close")
        self.close_connection = True

    def _broken(self) -> None:
        self.wfile.write(b"this is not HTTP\r\n\r\n")
        self.close_connection = True

    def _half(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"half")
        self.close_connection = True

    def _events(self) -> None:
        """A stream of events that goes on until the client leaves."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"data: one\n\n")
        self.connection.settimeout(60)
        if not self.connection.recv(1):
            self.server.left.set()
        self.close_connection = True

    def _ws(self) -> None:
        """A websocket that echoes each frame, of up to 125 bytes."""
        key = self.headers["Sec-WebSocket-Key"].encode() + _GUID
        accept = base64.b64encode(hashlib.sha1(key).digest()).decode()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        while len(head := self.rfile.read(2)) == 2 and head[0] & 15 != 8:
            mask = self.rfile.read(4)
            data = self.rfile.read(head[1] & 127)
            clear = bytes(byte ^ mask[n % 4] for n, byte in enumerate(data))
            self.wfile.write(bytes([head[0], len(clear)]) + clear)
        self.server.left.set()
        self.close_connection = True


@contextmanager
def upstream() -> Iterator[Upstream]:
    """A running server on a port of its own."""
    server = Upstream()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def silent_port() -> tuple[socket.socket, int]:
    """A bound port on which nobody answers."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    return sock, int(sock.getsockname()[1])
