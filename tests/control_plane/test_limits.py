"""The seed's "Limits" and "Errors", a test on both sides of each."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sandbox_api import bodies, errors
from sandbox_api.calls import ROUTES
from sandbox_engine.api.errors import TABLE

from tests.control_plane.world import Plane, begin, code
from tests.fakes.guest import GuestStream, Message


def test_engine_errors_map_as_the_engine_s_table_says() -> None:
    assert {
        reason.value: (row.control, row.control_code) for reason, row in TABLE.items()
    } == errors.TABLE


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("INVALID_ARGUMENT", 400), ("PATH_DENIED", 400), ("PATH_NOT_FOUND", 404),
        ("LIMIT_REACHED", 429), ("POOL_EXHAUSTED", 429), ("TIMEOUT", 504),
        ("GUEST_UNAVAILABLE", 503), ("GUEST_IO", 500), ("NO_SPACE", 500), ("anything", 500),
    ],
)  # fmt: skip
def test_the_seed_s_mapping(reason: str, status: int) -> None:
    error = errors.of_engine(reason, "words", None)
    assert error.status == status
    assert ("Retry-After" in error.headers) == (status in (429, 503))


def test_retry_after_is_whole_seconds_and_never_0() -> None:
    for given, told in ((None, "1"), (0.0, "1"), (0.2, "1"), (1.2, "2")):
        assert errors.ApiError(429, "x", "y", retry_after_s=given).headers["Retry-After"] == told


@pytest.mark.parametrize(("status", "wanted"), [(8, 409), (3, 404), (2, 400), (5, 413), (4, 500)])
async def test_a_guest_s_refusal_reaches_the_caller(world: Plane, status: int, wanted: int) -> None:
    session = await world.open()

    async def refuse(stream: GuestStream, _: Message) -> None:
        await stream.fail(status, "words")

    world.guest(session).operations["stat"] = refuse
    answer = await world.call("GET", f"{session}/stat", path="/workspace/a")
    assert answer.status == wanted
    assert code(answer)


class TestBodies:
    async def test_json_up_to_1_mib(self, world: Plane) -> None:
        session = await world.open()
        frame = len('{"argv":["cat"],"stdin":""}')
        size = bodies.MAX_JSON - frame
        assert bodies.MAX_JSON == 1 << 20
        for extra, status in ((0, 200), (1, 413)):
            body = b'{"argv":["cat"],"stdin":"%s"}' % (b"a" * (size + extra))
            answer = await world.call("POST", f"{session}/exec", body)
            assert answer.status == status
        assert code(answer) == "too_large"

    async def test_files_up_to_4_mib(self, world: Plane) -> None:
        session, where = await world.open(), {"path": "/workspace/a"}
        limit = bodies.MAX_FILE
        assert limit == 4 << 20
        assert (await world.call("PUT", f"{session}/files", bytes(limit), **where)).status == 200
        assert len((await world.call("GET", f"{session}/files", **where)).raw) == limit
        refused = await world.call("PUT", f"{session}/files", bytes(limit + 1), **where)
        assert (refused.status, code(refused)) == (413, "too_large")
        world.guest(session).files["/workspace/a"] = bytes(limit + 1)
        refused = await world.call("GET", f"{session}/files", **where)
        assert (refused.status, code(refused)) == (413, "too_large")

    @pytest.mark.parametrize(
        "body", [b"", b"{", b"[]", b'"x"', b'{"key": 7}', b"\xff", b'{"key": "\\ud800"}', b"null"]
    )
    async def test_what_is_no_such_object_is_400(self, world: Plane, body: bytes) -> None:
        answer = await world.call("POST", "/v1/sessions", body)
        assert (answer.status, code(answer)) == (400, "invalid_argument")

    async def test_egress_allow_up_to_16_hosts(self, world: Plane) -> None:
        for count, words in ((16, "allowed_services"), (17, "length <= 16")):
            hosts = [f"h{number}.example" for number in range(count)]
            answer = await world.call("POST", "/v1/sessions", {"egress_allow": hosts})
            assert answer.status == 400 and words in answer.json["error"]["message"]

    async def test_contradictory_egress_is_400(self, world: Plane) -> None:
        body = {"egress_allow": ["a.example"], "egress_deny_all": True}
        answer = await world.call("POST", "/v1/sessions", body)
        assert answer.status == 400 and "contradicts" in answer.json["error"]["message"]

    async def test_chunked_requests_are_501(self, world: Plane) -> None:
        async def pieces() -> Any:
            yield b"{}"

        async with world.http.post(
            "/v1/sessions", data=pieces(), headers={"Authorization": "Bearer one"}
        ) as reply:
            assert reply.status == 501
            assert (await reply.json())["error"]["code"] == "unimplemented"


async def test_sessions_per_principal(tmp_path: Path) -> None:
    async with Plane(tmp_path) as world:
        first = await world.open(token="limited", key="a")
        await world.open(token="limited", key="b")
        refused = await world.call("POST", "/v1/sessions", {"key": "c"}, token="limited")
        assert (refused.status, code(refused)) == (429, "too_many_sessions")
        await world.open(token="limited", key="b")
        assert (await world.call("DELETE", first, token="limited")).status == 204
        await world.open(token="limited", key="c")


async def test_an_empty_pool_is_429(tmp_path: Path) -> None:
    async with Plane(tmp_path, wait=0.001) as world:
        held = world.services.steps.hold("launch")
        refused = await world.call("POST", "/v1/sessions", {"key": "a"})
        assert (refused.status, code(refused)) == (429, "pool_exhausted")
        held.release()


class TestConnections:
    async def test_max_connections(self, tmp_path: Path) -> None:
        async with Plane(tmp_path, max_connections=3) as world:
            opened = [await asyncio.open_connection("127.0.0.1", world.port) for _ in range(3)]
            for reader, writer in opened:
                writer.write(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
                assert b"200 OK" in await reader.readline()
            refused = await world.call("GET", "/v1/health", token="")
            assert (refused.status, code(refused)) == (503, "too_many_connections")
            opened[0][1].close()
            while len(world.door.open) == 3:
                await asyncio.sleep(0)
            assert (await world.call("GET", "/v1/health", token="")).status == 200
            for _, writer in opened:
                writer.close()

    async def test_what_is_no_http_is_told_in_the_same_shape(self, world: Plane) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(b"\x16\x03\x01 hello\r\n\r\n")
        text = (await reader.read()).decode()
        assert text.startswith(("HTTP/1.0 400", "HTTP/1.1 400"))
        assert '{"error":{"code":"bad_request","message":' in text
        writer.close()

    async def test_a_body_that_ends_early_is_no_request(self, world: Plane) -> None:
        session = await world.open()
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(
            f"PUT {session}/files?path=/workspace/a HTTP/1.1\r\nHost: x\r\n"
            "Authorization: Bearer one\r\nContent-Length: 10\r\n\r\nabc".encode()
        )
        writer.write_eof()
        await reader.read()
        writer.close()
        assert world.guest(session).files == {}

    async def test_expect_100_continue(self, world: Plane) -> None:
        session = await world.open()
        reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
        writer.write(
            f"PUT {session}/files?path=/workspace/a HTTP/1.1\r\nHost: x\r\n"
            "Authorization: Bearer one\r\nContent-Length: 3\r\n"
            "Expect: 100-continue\r\n\r\n".encode()
        )
        assert b"100 Continue" in await reader.readline()
        writer.write(b"abc")
        await reader.readline()
        assert b"200 OK" in await reader.readline()
        writer.close()
        assert world.guest(session).files == {"/workspace/a": b"abc"}


async def test_a_method_that_is_not_there_is_405(world: Plane) -> None:
    for route in ROUTES:
        path = route.path.replace("{id}", "ses_" + "0" * 24)
        answer = await world.call("PATCH", path)
        assert (answer.status, code(answer)) == (405, "method_not_allowed")
        assert route.method in answer.headers["allow"]


async def test_bursts_get_documented_answers_only(tmp_path: Path) -> None:
    documented = {200, 201, 429, 503}
    async with Plane(tmp_path, max_running=8, max_connections=128) as world:

        async def one(number: int) -> int:
            answer = await world.call("POST", "/v1/sessions", {"key": str(number % 16)})
            if answer.status >= 400:
                code(answer)
                return answer.status
            path = f"/v1/sessions/{answer.json['id']}"
            ran = await world.exec(path, "true")
            if ran.status >= 400:
                code(ran)
            return ran.status

        statuses = await asyncio.gather(*(one(number) for number in range(200)))
        assert set(statuses) <= documented
        assert 200 in statuses
        assert len(world.services.sandboxes._live) <= 8


async def test_64_run_on_128_connections_and_the_65th_takes_an_idle_one_s_place(
    tmp_path: Path,
) -> None:
    async with Plane(tmp_path, max_running=64, max_connections=128) as world:
        sessions = [f"{number:02}" for number in range(64)]

        async def opened(key: str) -> str:
            return await world.open(token="crowd", key=key)

        paths = await asyncio.gather(*(opened(key) for key in sessions))
        assert len(world.services.sandboxes._live) == 64
        held = {path: world.guest(path).steps.hold("exec") for path in paths}
        headers = {"Authorization": "Bearer crowd"}

        async def run(path: str) -> tuple[int, str]:
            body = {"argv": ["true"]}
            async with world.http.post(f"{path}/exec", json=body, headers=headers) as reply:
                return reply.status, reply.headers.get("Retry-After", "")

        commands = [begin(run(path)) for path in paths]
        await asyncio.gather(*(hold.arrived() for hold in held.values()))
        # Every VM is at work: nobody is evicted for one more session.
        burst = [world.call("POST", "/v1/sessions", {"key": f"more-{n}"}) for n in range(16)]
        for answer in await asyncio.gather(*burst):
            assert (answer.status, code(answer)) == (429, "too_many_running"), answer
        for hold in held.values():
            hold.release()
        assert set(await asyncio.gather(*commands)) == {(200, "")}
        await world.open(key="one more")
        states = [await world_state(world, path) for path in paths]
        assert (states.count("ready"), states.count("idle")) == (63, 1)
        assert len(world.services.sandboxes._live) == 64


async def world_state(world: Plane, path: str) -> str:
    """As its owner sees it."""
    return str((await world.call("GET", path, token="crowd")).json["state"])


async def test_connections_beyond_the_limit_are_refused_under_load(tmp_path: Path) -> None:
    async with Plane(tmp_path, max_connections=128) as world:
        session = await world.open()
        held = world.guest(session).steps.hold("exec")
        request = (
            f"POST {session}/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer one\r\n"
            'Content-Length: 17\r\nConnection: close\r\n\r\n{"argv":["true"]}'
        ).encode()
        free = 128 - len(world.door.open)

        async def one() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", world.port)
            writer.write(request)
            text = await reader.read()
            writer.close()
            return text

        inside = [begin(one()) for _ in range(free)]
        await held.arrived(free)
        assert len(world.door.open) == 128
        outside = await asyncio.gather(*(one() for _ in range(72)))
        assert {text.split(b"\r\n")[0] for text in outside} == {b"HTTP/1.1 503 Service Unavailable"}
        assert all(b"Retry-After: 1" in text for text in outside)
        held.release()
        answers = await asyncio.gather(*inside)
        assert {text.split(b"\r\n")[0] for text in answers} == {b"HTTP/1.1 200 OK"}
