"""The instance metadata that the agent serves: tokens first, then the document."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.guest.host import ENGINE, AgentProcess, Host
from tests.guest.test_epochs import identity

AWS, PLAIN = "X-aws-ec2-metadata-token", "X-metadata-token"
DOCUMENT = {
    "latest": {"meta-data": {"instance-id": "i-1", "placement": {"zone": "a"}, "n": 1}},
    "tags": ["x", "y"],
}


class Reader:
    """A process of the guest."""

    def __init__(self, agent: AgentProcess) -> None:
        self.port = agent.metadata_port
        self.folder = agent.folder / "silkd"

    async def ask(self, method: str, path: str, **headers: str) -> tuple[int, str, Any]:
        return await asyncio.to_thread(self._ask, method, path, headers)

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=named)
            reply = connection.getresponse()
            return reply.status, reply.read().decode(), reply.headers
        finally:
            connection.close()

    async def token(self, kind: str = AWS, ttl: str = "60") -> str:
        status, token, headers = await self.ask(
            "PUT", "/latest/api/token", **{f"{kind}-ttl-seconds": ttl}
        )
        assert (status, headers[f"{kind}-ttl-seconds"]) == (200, ttl)
        return token

    async def get(self, path: str, token: str = "", kind: str = AWS, **headers: str) -> Any:
        token = token or await self.token()
        return (await self.ask("GET", path, **{kind: token}, **headers))[:2]


@pytest.fixture
def reader(agent: tuple[AgentProcess, Host]) -> Reader:
    """Reads what this agent serves."""
    return Reader(agent[0])


async def put(host: Host, document: str) -> Any:
    stream = host.open(ENGINE, {"op": "metadata", "document": document})
    return await stream.control()


async def test_a_guest_with_no_document_answers_an_empty_one(host: Host, reader: Reader) -> None:
    assert await reader.get("/") == (200, "{}")


async def test_a_document_is_served_as_it_was_put(host: Host, reader: Reader) -> None:
    text = ' {"b": 1,\n  "a": "ä"} '
    assert await put(host, text) == {"type": "done", "served": True}
    assert await reader.get("/") == (200, text)
    assert (reader.folder / "instance-metadata.json").read_text() == text
    assert [path.name for path in reader.folder.iterdir()] == ["instance-metadata.json"]


@pytest.mark.parametrize("kind", [AWS, PLAIN])
async def test_a_token_comes_first(host: Host, reader: Reader, kind: str) -> None:
    assert (await reader.ask("GET", "/"))[0] == 401
    assert (await reader.ask("GET", "/", **{kind: "no-token"}))[0] == 401
    token = await reader.token(kind)
    status, _, headers = await reader.ask("GET", "/", **{kind: token})
    assert status == 200
    assert 1 <= int(headers[f"{kind}-ttl-seconds"]) <= 60
    changed = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert (await reader.ask("GET", "/", **{kind: changed}))[0] == 401


@pytest.mark.parametrize(
    ("ttl", "status"),
    [("1", 200), ("21600", 200), ("0", 400), ("21601", 400), ("-1", 400), ("x", 400), ("", 400)],
)
async def test_a_tokens_time_has_bounds(host: Host, reader: Reader, ttl: str, status: int) -> None:
    header = {f"{AWS}-ttl-seconds": ttl} if ttl else {}
    assert (await reader.ask("PUT", "/latest/api/token", **header))[0] == status


async def test_what_came_through_a_proxy_gets_no_token(host: Host, reader: Reader) -> None:
    headers = {f"{AWS}-ttl-seconds": "60", "X-Forwarded-For": "10.0.0.1"}
    assert (await reader.ask("PUT", "/latest/api/token", **headers))[0] == 403


async def test_a_token_ends_with_its_time(host: Host, reader: Reader) -> None:
    token = await reader.token(ttl="1")
    while (await reader.ask("GET", "/", **{AWS: token}))[0] == 200:
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/latest/meta-data/instance-id", "i-1"),
        ("/latest/meta-data/", "instance-id\nplacement/\nn"),
        ("/latest/meta-data", "instance-id\nplacement/\nn"),
        ("/2009-04-04/meta-data/placement/zone", "a"),
        ("/latest/meta-data/n", "1"),
        ("/tags/1", "y"),
        ("/latest", "meta-data/"),
    ],
)
async def test_a_path_is_a_value_or_a_list_of_names(
    host: Host, reader: Reader, path: str, found: str
) -> None:
    await put(host, json.dumps(DOCUMENT))
    assert await reader.get(path) == (200, found)


@pytest.mark.parametrize(
    "path", ["/none", "/tags/2", "/tags/x", "/latest/meta-data/n/x", "/../etc/passwd", "//none"]
)
async def test_what_is_not_there_is_404(host: Host, reader: Reader, path: str) -> None:
    await put(host, json.dumps(DOCUMENT))
    assert (await reader.get(path))[0] == 404


async def test_json_for_who_asks_for_it(host: Host, reader: Reader) -> None:
    await put(host, json.dumps(DOCUMENT))
    status, text = await reader.get("/latest/meta-data/placement", Accept="application/json")
    assert (status, json.loads(text)) == (200, {"zone": "a"})


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"POST / HTTP/1.1\r\n\r\n", 405),
        (b"PUT /other HTTP/1.1\r\n\r\n", 404),
        (b"GET http://x/ HTTP/1.1\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
    ],
)
async def test_other_requests(host: Host, reader: Reader, data: bytes, status: int) -> None:
    link = socket.create_connection(("127.0.0.1", reader.port), timeout=30)
    with link:
        link.sendall(data)
        got = await asyncio.to_thread(link.recv, 100)
    assert got.startswith(f"HTTP/1.1 {status} ".encode())


async def test_a_new_identity_keeps_the_document_and_ends_the_tokens(
    host: Host, reader: Reader
) -> None:
    await put(host, '{"of": "parent"}')
    token = await reader.token()
    await host.greet(identity(machine_id=None))
    assert await reader.get("/", token) == (200, '{"of": "parent"}')
    await host.greet(identity())
    assert (await reader.get("/", token))[0] == 401
    assert await reader.get("/") == (200, '{"of": "parent"}')


@pytest.mark.parametrize("document", ["", "x" * 4097])
async def test_a_document_that_cannot_be_is_refused(
    host: Host, reader: Reader, document: str
) -> None:
    await put(host, "{}")
    assert (await put(host, document))["type"] == "error"
    assert Path(reader.folder, "instance-metadata.json").read_text() == "{}"
