"""A client of the node API for the tests of saved states, and a node to call."""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from typing import Any

from tests.support.engine import Engine

ROOT = "root-token"


class Failed(AssertionError):
    """A call was refused."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body!r}")
        self.status = status


class Node:
    """One node."""

    def __init__(self, engine: Engine, port: int) -> None:
        self.engine, self.port = engine, port

    def call(self, method: str, path: str, body: Any = None, *, token: str = ROOT) -> Any:
        """The answer's JSON; `Failed` for a refusal."""
        data = None if body is None else json.dumps(body).encode()
        # Closed also where the engine cuts it off.
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)) as link:
            link.request(method, path, data, {"Authorization": f"Bearer {token}"})
            answer = link.getresponse()
            raw = answer.read()
        if answer.status >= 400:
            raise Failed(answer.status, raw)
        return json.loads(raw) if raw else None

    def claim(self, **fields: Any) -> Box:
        body = {"template": "base", "size": "tiny", "ttl_seconds": 600, **fields}
        return Box(self, self.call("POST", "/v1/claim", body))

    def branch(self, checkpoint: str, **fields: Any) -> Box:
        path = f"/v1/checkpoints/{checkpoint}/claim"
        return Box(self, self.call("POST", path, {"ttl_seconds": 600, **fields}))

    def info(self) -> Any:
        return self.call("GET", "/v1/info")


class Box:
    """One claim."""

    def __init__(self, node: Node, claim: Any) -> None:
        self.node, self.claim = node, claim
        self.id, self.token = claim["id"], claim["token"]
        self.path = f"/v1/sandboxes/{self.id}"

    def run(self, script: str) -> str:
        """The output of a shell script that succeeds."""
        body = {"argv": ["sh", "-c", script]}
        ended = self.node.call("POST", f"{self.path}/exec", body, token=self.token)
        assert ended["exit_code"] == 0, ended
        return str(ended["stdout"]).strip()

    def start(self, script: str) -> None:
        """A process that outlives its call."""
        self.run(f"setsid sh -c '{script}' </dev/null >/dev/null 2>&1 & sleep 0.1")

    def hibernate(self) -> None:
        self.node.call("POST", f"{self.path}/hibernate", token=self.token)

    def wake(self) -> None:
        self.node.call("POST", f"{self.path}/wake", token=self.token)

    def fork(self, count: int = 1, **fields: Any) -> list[Box]:
        body = {"token": self.token, "count": count, "ttl_seconds": 600, **fields}
        answer = self.node.call("POST", f"{self.path}/fork", body)
        return [Box(self.node, child) for child in answer["children"]]

    def checkpoint(self, name: str = "") -> str:
        body = {"token": self.token, "name": name}
        return str(self.node.call("POST", f"{self.path}/checkpoint", body)["checkpoint"]["id"])

    def release(self) -> None:
        self.node.call("POST", f"{self.path}/release", token=self.token)

    def row(self) -> Any:
        return self.node.call("GET", self.path)
