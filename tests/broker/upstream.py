"""An upstream with TLS that reads requests strictly and keeps exactly what it saw."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Seen:
    """One request, as it was on the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes = b""
    size: int = 0
    complete: bool = False
    connection: int = 0
    chunks: list[int] = field(default_factory=list)

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name]


class Strict(Exception):
    """Bytes that no strict reader takes for a request."""


class Upstream:
    """`seen` has every request; `faults` what could not be read; `peers` counts connections."""

    def __init__(self, pem: Path, address: str = "127.0.0.1", port: int = 0) -> None:
        self.seen: list[Seen] = []
        self.faults: list[str] = []
        self.connections = 0
        self.gate = threading.Event()
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(pem)
        self._listener = socket.create_server((address, port), backlog=128)
        self.port = int(self._listener.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(sock, self.connections), daemon=True).start()

    def _serve(self, raw: socket.socket, number: int) -> None:
        try:
            raw.settimeout(60)
            with self._context.wrap_socket(raw, server_side=True) as sock:
                file = sock.makefile("rb")
                while self._one(sock, file, number):
                    pass
        except Strict as fault:
            self.faults.append(str(fault))
        except OSError:
            pass
        finally:
            raw.close()

    def _one(self, sock: ssl.SSLSocket, file, number: int) -> bool:  # type: ignore[no-untyped-def]  # a buffered reader
        lines = []
        while (line := file.readline(65537)) not in {b"\r\n", b""}:
            if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
                raise Strict(f"line {line!r}")
            lines.append(line[:-2].decode("latin-1"))
        if not line:
            if lines:
                raise Strict("a head without an end")
            return False
        method, target, version = lines[0].split(" ")
        if version != "HTTP/1.1":
            raise Strict(version)
        headers = []
        for each in lines[1:]:
            name, colon, value = each.partition(":")
            if not colon or name != name.strip():
                raise Strict(f"field {each!r}")
            headers.append((name, value.strip()))
        seen = Seen(method, target, headers, connection=number)
        if len(seen.values("host")) != 1:
            raise Strict("not one Host")
        lengths, codings = seen.values("content-length"), seen.values("transfer-encoding")
        if len(lengths) + len(codings) > 1:
            raise Strict("two framings")
        self.seen.append(seen)
        if seen.target.startswith("/early"):
            sock.sendall(b"HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n")
        if codings:
            self._chunked(file, seen)
        elif lengths:
            self._keep(seen, file.read(0))
            left = int(lengths[0])
            while left:
                piece = file.read(min(left, 65536))
                if not piece:
                    raise Strict("a body without an end")
                self._keep(seen, piece)
                left -= len(piece)
        seen.complete = True
        name = target.split("?")[0].strip("/").replace("-", "_").split("/")[0] or "root"
        return bool(getattr(self, f"_at_{name}", self._at_root)(sock, seen))

    def _keep(self, seen: Seen, piece: bytes) -> None:
        seen.size += len(piece)
        if len(seen.body) < 1 << 20:
            seen.body += piece

    def _chunked(self, file, seen: Seen) -> None:  # type: ignore[no-untyped-def]  # a buffered reader
        while True:
            line = file.readline(1024)
            if (
                not line.endswith(b"\r\n")
                or not line[:-2]
                or line[:-2].strip(b"0123456789abcdefABCDEF")
            ):
                raise Strict(f"chunk line {line!r}")
            size = int(line, 16)
            seen.chunks.append(size)
            left = size
            while left:
                piece = file.read(min(left, 65536))
                if not piece:
                    raise Strict("a chunk without an end")
                self._keep(seen, piece)
                left -= len(piece)
            if file.read(2) != b"\r\n":
                raise Strict("a chunk's or the trailers' end")
            if size == 0:
                return

    # Answers.

    def _at_root(self, sock: ssl.SSLSocket, seen: Seen, body: bytes = b"hello\n") -> bool:
        sent = b"" if seen.method == "HEAD" else body
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + sent)
        return True

    def _at_hop(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        sock.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: X-Hop\r\nX-Hop: 1\r\n"
            b"Keep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nX-End: 1\r\n\r\nok"
        )
        return True

    def _at_echo(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        return self._at_root(sock, seen, seen.body)

    def _at_mirror(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        """Everything it was told, in a header and in a chunked body of small pieces."""
        told = "\n".join([seen.target, *(f"{n}: {v}" for n, v in seen.headers)]).encode()
        shown = " ".join(v for _, v in seen.headers).encode()
        sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-Shown: " + shown)
        sock.sendall(b"\r\n\r\n")
        for at in range(0, len(told), 7):
            piece = told[at : at + 7]
            sock.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
        return True

    def _at_gzip(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        sock.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"
        )
        return True

    def _at_sse(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        """One event; the next only when the test saw the first."""
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
        assert self.gate.wait(60)
        sock.sendall(b": comment\n\ndata: 2\n\n")
        return False

    def _at_drop(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        return False

    def _at_cut(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        return False

    def _at_garbage(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        sock.sendall(b"nonsense\r\n\r\n")
        return False

    def _at_big(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        size = int(seen.target.rpartition("/")[2])
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        piece = b"x" * 65536
        while size:
            sock.sendall(piece[: min(size, 65536)])
            size -= min(size, 65536)
        return True

    def _at_ws(self, sock: ssl.SSLSocket, seen: Seen) -> bool:
        """A websocket's handshake, and then whatever comes, mirrored."""
        sock.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: x\r\n\r\nfirst"
        )
        with contextlib.suppress(OSError):
            while data := sock.recv(65536):
                if data == b"tell":
                    data = ("told " + " ".join(seen.values("authorization"))).encode()
                sock.sendall(data)
        return False
