"""What an upstream offers to stock tools: a package index, a repository, a gRPC method."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import os
import ssl
import subprocess
import threading
import zipfile
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

PACKAGE = "tinypackage"


class _Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """A guest that leaves is no news."""


class Files:
    """A folder over https; `seen` has the paths and credentials that were asked for."""

    def __init__(self, folder: Path, pem: Path, address: str) -> None:
        self.seen: list[tuple[str, str]] = []
        handler = functools.partial(_Handler, self.seen, directory=str(folder))
        self._server = _Quiet((address, 0), handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, seen: list[tuple[str, str]], *words: Any, **options: Any) -> None:
        self._seen = seen
        super().__init__(*words, **options)

    def do_GET(self) -> None:
        self._seen.append((self.path, self.headers.get("authorization", "")))
        super().do_GET()

    def log_message(self, *_: Any) -> None:
        pass


class Echo(grpc.GenericRpcHandler):
    """`/test.Echo/Tell` answers the credential that it was called with, backwards."""

    def service(self, details: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(self._tell)

    def _tell(self, _request: bytes, context: Any) -> bytes:
        told = str(dict(context.invocation_metadata()).get("authorization"))
        return told[::-1].encode()  # as it is it would be scrubbed


def grpc_server(pem: Path, address: str) -> tuple[grpc.Server, int]:
    """It, started, and its port."""
    data = pem.read_bytes()
    at = data.index(b"-----BEGIN CERTIFICATE")
    credentials = grpc.ssl_server_credentials([(data[:at], data[at:])])
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Echo()])
    port = server.add_secure_port(f"{address}:0", credentials)
    server.start()
    return server, port


def make_index(folder: Path) -> None:
    """A simple index with one small package."""
    simple = folder / "simple" / PACKAGE
    simple.mkdir(parents=True)
    name = f"{PACKAGE}-1.0-py3-none-any.whl"
    info = f"{PACKAGE}-1.0.dist-info"
    files = {
        f"{PACKAGE}.py": "print('installed')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(_row(path, text) for path, text in files.items())
    with zipfile.ZipFile(simple / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
    (simple / "index.html").write_text(f"<!DOCTYPE html><a href='{name}'>{name}</a>\n")


def _row(path: str, text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"{path},sha256={digest.rstrip('=')},{len(text)}\n"


def make_repository(folder: Path) -> None:
    """A repository that is served as files."""
    work = folder / "work"
    work.mkdir()
    (work / "README").write_text("cloned\n")
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ("-c", "user.name=t", "-c", "user.email=t@t.example")
    for words in (
        ("init", "-q", "-b", "main", "."),
        ("add", "README"),
        (*names, "commit", "-q", "-m", "one"),
        ("clone", "-q", "--bare", ".", str(folder / "tiny.git")),
        ("-C", str(folder / "tiny.git"), "update-server-info"),
    ):
        subprocess.run(["git", *words], cwd=work, check=True, env=os.environ | own)
