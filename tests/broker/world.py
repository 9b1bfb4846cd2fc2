"""A real broker process, a scripted engine behind its authority port, and an upstream with TLS."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import http.client
import json
import os
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any, Self

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from google.protobuf.duration_pb2 import Duration
from sandbox.v1 import broker_pb2, broker_pb2_grpc

from tests.broker.upstream import Upstream

TOKEN = "a" * 63 + "1"
OTHER = "b" * 63 + "2"
NAMES = ("api.example", "index.example", "files.packages.example", "open.example", "in.example")
PATIENCE = 60.0


class ScriptedEngine(broker_pb2_grpc.BrokerServiceServicer):
    """The engine's half: who is known, what they may; everything it was asked and told."""

    def __init__(self, path: Path) -> None:
        self.by_token: dict[str, broker_pb2.AuthorizeResponse] = {}
        self.by_sandbox: dict[str, broker_pb2.AuthorizeResponse] = {}
        self.broken = False
        self.asked: list[broker_pb2.AuthorizeRequest] = []
        self.events: list[broker_pb2.EgressEvent] = []
        self.changed = threading.Condition()
        self._watchers: list[Any] = []
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        broker_pb2_grpc.add_BrokerServiceServicer_to_server(self, self._server)
        self._server.add_insecure_port(f"unix:{path}")
        self._server.start()
        path.chmod(0o777)

    def grant(
        self, token: str, sandbox_id: str, *rules: broker_pb2.EgressRule, **more: Any
    ) -> None:
        more = {"max_age": Duration()} | more  # not kept, unless a test is about keeping
        answer = broker_pb2.AuthorizeResponse(sandbox_id=sandbox_id, rules=rules, **more)
        self.by_token[token] = self.by_sandbox[sandbox_id] = answer

    def Authorize(self, request: Any, context: Any) -> Any:
        self.asked.append(request)
        if self.broken:
            context.abort(grpc.StatusCode.UNAVAILABLE, "down")
        kind = request.WhichOneof("identity")
        known = self.by_token if kind == "session_token" else self.by_sandbox
        answer = known.get(getattr(request, kind or "session_token"))
        if answer is None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "unknown")
        return answer

    def WatchRevocations(self, request: Any, context: Any) -> Iterator[Any]:
        import queue

        told: queue.Queue[Any] = queue.Queue()
        context.add_callback(lambda: told.put(None))
        with self.changed:
            self._watchers.append(told)
            self.changed.notify_all()
        yield broker_pb2.WatchRevocationsResponse()
        while (message := told.get()) is not None:
            yield message

    def ReportEgress(self, request: Any, context: Any) -> Any:
        with self.changed:
            self.events += request.events
            self.changed.notify_all()
        return broker_pb2.ReportEgressResponse()

    def revoke(self, sandbox_id: str) -> None:
        for told in self._watchers:
            told.put(broker_pb2.WatchRevocationsResponse(sandbox_ids=[sandbox_id]))

    def wait_for(self, condition: Any) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self), PATIENCE), self.events

    def close(self) -> None:
        for told in self._watchers:
            told.put(None)
        self._server.stop(None).wait()


def make_ca(folder: Path, names: tuple[str, ...] = NAMES) -> tuple[Path, Path]:
    """A root of the test's own, and a chain with a key for the upstream's names."""
    key, now = ec.generate_private_key(ec.SECP256R1()), dt.datetime.now(dt.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test root")])

    def builder(subject: x509.Name, public: Any, ca: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca, None), critical=True)
        )

    root = builder(name, key.public_key(), True).sign(key, hashes.SHA256())
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    leaf = (
        builder(subject, leaf_key.public_key(), False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(n) for n in names]), False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "upstream-root.crt").write_bytes(root.public_bytes(pem))
    (folder / "upstream.pem").write_bytes(
        leaf_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + leaf.public_bytes(pem)
    )
    return folder / "upstream-root.crt", folder / "upstream.pem"


def make_authority(folder: Path) -> dict[str, str]:
    """A root in `folder`/ca and a node's intermediate; the settings of a broker that has it."""
    node = folder / "node"
    for words in (
        ["init", "--dir", str(folder / "ca")],
        [
            *("issue-intermediate", "--dir", str(folder / "ca")),
            *("--name", "node-1", "--out", str(node)),
        ],
    ):
        subprocess.run([sys.executable, "-m", "sandbox_cli", "ca", *words], check=True)
    if os.geteuid() == 0:
        os.chown(node / "intermediate.key", pwd.getpwnam("nobody").pw_uid, -1)
    return {"CA_CERT": str(node / "intermediate.crt"), "CA_KEY": str(node / "intermediate.key")}


class Broker:
    """The process, and its clients' ways in."""

    def __init__(
        self, folder: Path, root: Path, *, prefix: Sequence[str] = (), **settings: str
    ) -> None:
        self.folder = folder
        self.credentials = folder / "credentials.conf"
        self.doors = folder / "doors.sock"
        given = {
            "LISTEN": "127.0.0.1:0",
            "METRICS": "127.0.0.1:0",
            "DOORS": str(self.doors),
            "AUTHORITY": f"unix:{folder / 'engine.sock'}",
            "CREDENTIALS": str(self.credentials),
            "RESOLVE": ",".join(f"{name}=127.0.0.1" for name in NAMES),
            "INTERNAL_ALLOW": "127.0.0.0/8",
            "UPSTREAM_CA": str(root),
            "WORKERS": "1",
        } | settings
        if os.geteuid() == 0:
            given["USER"] = "nobody"
        env = {k: v for k, v in os.environ.items() if not k.startswith("SANDBOX_BROKER_")}
        env |= {f"SANDBOX_BROKER_{k}": v for k, v in given.items()}
        env["FROM_ENVIRONMENT"] = "Bearer environment-secret"
        self.log_path = folder / f"broker-{os.urandom(4).hex()}.log"
        self._log = self.log_path.open("wb")
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "sandbox_broker"], env=env, stderr=self._log
        )
        try:
            ready = self.wait_for_line(lambda line: line["event"] == "ready")
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        host, _, port = ready["listen"][0].rpartition(":")
        self.address = (host, int(port))
        host, _, port = (ready["metrics"] or ":0").rpartition(":")
        self.metrics_address = (host, int(port))

    def lines(self) -> list[dict[str, Any]]:
        text = self.log_path.read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def wait_for_line(self, condition: Any) -> dict[str, Any]:
        from tests.support.wait import until

        found: list[dict[str, Any]] = []

        def look() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(self.log_path.read_text())
            found[:] = [line for line in self.lines() if condition(line)]
            return bool(found)

        until(look, PATIENCE)
        return found[-1]

    def metric(self, name: str) -> int:
        connection = http.client.HTTPConnection(*self.metrics_address, timeout=PATIENCE)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return next(
            int(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name)
        )

    def dial(self) -> Wire:
        return Wire(socket.create_connection(self.address, PATIENCE))

    def door(self, sandbox_id: str, kind: str = "proxy") -> Wire:
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        made.connect(str(self.doors))
        made.sendall(f"SANDBOX/1 {sandbox_id} {kind}\n".encode())
        return Wire(made)

    def hang_up(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def close(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self._log.close()
        return code


class Wire:
    """One connection to the broker, byte by byte."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def send(self, data: bytes | str) -> Wire:
        self.sock.sendall(data.encode() if isinstance(data, str) else data)
        return self

    def answer(self, method: str = "GET") -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(self.sock, method=method)
        response.begin()
        return response

    def ask(self, head: str, body: bytes = b"") -> http.client.HTTPResponse:
        """Send a request whose lines are separated by newlines."""
        method = head.split(" ", maxsplit=1)[0]
        self.send("\r\n".join(head.strip().split("\n")).encode() + b"\r\n\r\n" + body)
        return self.answer(method)

    def read_all(self) -> bytes:
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := self.sock.recv(65536):
                data += piece
        return data

    def start_tls(self, ca: Path, name: str, alpn: tuple[str, ...] = ()) -> Wire:
        context = ssl.create_default_context(cafile=str(ca))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        self.sock = context.wrap_socket(self.sock, server_hostname=name)
        return self


def basic(token: str, user: str = "sandbox") -> str:
    return "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


class World:
    """Everything of a module's tests; `port` is the upstream's."""

    def __init__(self, *, intercepting: bool = False, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="broker-"))
        self.folder.chmod(0o755)
        self.root, pem = make_ca(self.folder)
        self.upstream = Upstream(pem)
        self.port = self.upstream.port
        self.engine = ScriptedEngine(self.folder / "engine.sock")
        self.write_credentials(
            "api.example = Bearer credential-of-api\n"
            "in.example = Bearer credential-of-in\n"
            "@named = [X-Api-Key] env:FROM_ENVIRONMENT\n"
        )
        self.trust = self.folder / "ca" / "root.crt"
        if intercepting:
            settings |= make_authority(self.folder)
        self.broker = Broker(self.folder, self.root, **settings)
        self.engine.wait_for(lambda engine: engine._watchers)

    def write_credentials(self, text: str, mode: int = 0o600) -> None:
        path = self.folder / "credentials.conf"
        path.write_text(text)
        path.chmod(mode)
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(path, nobody.pw_uid, nobody.pw_gid)

    def close(self) -> None:
        code = self.broker.close()
        self.engine.close()
        self.upstream.close()
        shutil.rmtree(self.folder)
        assert code == 0


def rule(host: str, *ports: int, **more: Any) -> broker_pb2.EgressRule:
    return broker_pb2.EgressRule(host=host, ports=ports, **{"named": True} | more)
