"""The seed's table "Endpoints": a test, or several, for each of its rows."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from sandbox_api.identity import session_id, workspace_key
from sandbox_engine.model.workspace import MAX_TTL_S
from sandbox_engine.services.workspaces import Workspaces

from tests.control_plane.world import Plane, code
from tests.fakes.services import OPERATOR

ID = re.compile(r"ses_[0-9a-f]{24}")


def workspaces(world: Plane) -> Workspaces:
    return world.services.workspaces


async def test_get_health_is_liveness_and_needs_no_credentials(world: Plane) -> None:
    assert (await world.call("GET", "/v1/health", token="")).json == {"status": "ok"}
    await world.rpc.stop()
    assert (await world.call("GET", "/v1/health", token="")).status == 200


class TestPostSessions:
    async def test_201_new_200_attached(self, world: Plane) -> None:
        first = await world.call("POST", "/v1/sessions", {"key": "k"})
        again = await world.call("POST", "/v1/sessions", {"key": "k"})
        assert (first.status, again.status) == (201, 200)
        assert first.json == again.json
        assert ID.fullmatch(first.json["id"])

    async def test_what_is_shown(self, world: Plane) -> None:
        shown = (await world.call("POST", "/v1/sessions", {"key": "k"})).json
        assert shown | {"created_at": 0, "expires_at": 0} == {
            "id": session_id("one", "k"), "key": "k", "state": "ready", "template": "base",
            "memory_mib": 256, "vcpus": 1, "created_at": 0, "expires_at": 0,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("name", "given", "other"),
        [
            ("template", "base", "other"),
            ("memory_mib", 256, 512),
            ("vcpus", 1, 2),
            ("env", {"A": "1"}, {"A": "2"}),
            ("egress_deny_all", False, True),
        ],
    )
    async def test_409_for_other_resources(
        self, world: Plane, name: str, given: Any, other: Any
    ) -> None:
        await world.open(key="k", **{name: given})
        await world.open(key="k", **{name: given})
        await world.open(key="k")
        refused = await world.call("POST", "/v1/sessions", {"key": "k", name: other})
        assert (refused.status, code(refused)) == (409, "resources_differ")
        assert name in refused.json["error"]["message"]

    async def test_without_a_key_each_is_its_own(self, world: Plane) -> None:
        assert await world.open() != await world.open()

    async def test_env_is_every_command_s(self, world: Plane) -> None:
        session = await world.open(env={"COLOUR": "red"})
        assert (await world.exec(session, "printenv", "COLOUR")).json["stdout"] == "red\n"

    async def test_ttl_seconds_is_the_workspace_s(self, world: Plane) -> None:
        await world.open(key="k", ttl_seconds=60)
        found = workspaces(world).get(_local(), workspace_key("one", "k"))
        assert found.expires_at == world.services.clock.at + 60
        shown = (await world.call("POST", "/v1/sessions", {"key": "k"})).json
        assert shown["expires_at"] == int(found.expires_at)

    async def test_egress_allow_must_be_covered_by_the_engine(self, world: Plane) -> None:
        refused = await world.call("POST", "/v1/sessions", {"egress_allow": ["index.example"]})
        assert (refused.status, code(refused)) == (400, "invalid_argument")

    async def test_a_create_that_fails_leaves_nothing(self, world: Plane) -> None:
        refused = await world.call("POST", "/v1/sessions", {"key": "k", "template": "none"})
        assert (refused.status, code(refused)) == (400, "template_not_found")
        assert (await world.call("GET", "/v1/sessions")).json == {"sessions": []}
        await world.open(key="k")


async def test_get_sessions_lists_the_caller_s(world: Plane) -> None:
    await world.open(key="a")
    await world.open(key="b")
    await world.open(key="c", token="two")
    listed = (await world.call("GET", "/v1/sessions")).json["sessions"]
    assert [each["key"] for each in listed] == ["a", "b"]


async def test_get_session_is_one_session(world: Plane) -> None:
    session = await world.open(key="a")
    listed = (await world.call("GET", "/v1/sessions")).json["sessions"]
    assert [(await world.call("GET", session)).json] == listed


class TestDeleteSession:
    async def test_204_and_forgotten_the_workspace_stays(self, world: Plane) -> None:
        session = await world.open(key="k")
        answer = await world.call("DELETE", session)
        assert (answer.status, answer.raw) == (204, b"")
        assert (await world.call("GET", session)).status == 404
        assert len(workspaces(world).all(_local())) == 1
        assert world.services.sandboxes.visible(OPERATOR) == []

    async def test_workspace_delete_takes_the_files_too(self, world: Plane) -> None:
        session = await world.open(key="k")
        assert (await world.call("DELETE", session, workspace="delete")).status == 204
        assert workspaces(world).all(_local()) == []
        assert world.services.volumes.names() == []

    async def test_workspace_other_is_400(self, world: Plane) -> None:
        session = await world.open(key="k")
        assert (await world.call("DELETE", session, workspace="maybe")).status == 400
        assert await world.state(session) == "ready"


class TestRenew:
    async def test_returns_the_new_expires_at(self, world: Plane) -> None:
        session = await world.open(key="k", ttl_seconds=60)
        before = (await world.call("GET", session)).json["expires_at"]
        answer = await world.call("POST", f"{session}/renew", {"ttl_seconds": 100})
        assert answer.json == {"expires_at": before + 100}
        assert (await world.call("GET", session)).json["expires_at"] == before + 100

    async def test_at_the_maximum_it_is_409(self, world: Plane) -> None:
        session = await world.open(ttl_seconds=MAX_TTL_S)
        refused = await world.call("POST", f"{session}/renew", {"ttl_seconds": 1})
        assert (refused.status, code(refused)) == (409, "session_limit")

    async def test_after_its_time_it_is_404(self, world: Plane) -> None:
        session = await world.open(key="k", ttl_seconds=60)
        await world.sessions._reclaim(world.known(session))
        world.services.clock.skip(61)
        refused = await world.call("POST", f"{session}/renew", {"ttl_seconds": 1})
        assert (refused.status, code(refused)) == (404, "session_expired")

    async def test_of_a_removed_workspace_it_is_404(self, world: Plane) -> None:
        session = await world.open(key="k")
        await world.sessions._reclaim(world.known(session))
        workspaces(world).delete(_local(), workspace_key("one", "k"))
        refused = await world.call("POST", f"{session}/renew", {"ttl_seconds": 1})
        assert (refused.status, code(refused)) == (404, "session_unknown")

    @pytest.mark.parametrize("given", [{}, {"ttl_seconds": 0}, {"ttl_seconds": 1 << 32}])
    async def test_limits(self, world: Plane, given: dict[str, int]) -> None:
        session = await world.open()
        assert (await world.call("POST", f"{session}/renew", given)).status == 400


class TestExec:
    async def test_the_fields_of_a_result(self, world: Plane) -> None:
        session = await world.open()
        result = (await world.exec(session, "echo", "a", "b")).json
        assert result == {
            "exit_code": 0, "term_signal": 0, "timed_out": False, "output_truncated": False,
            "duration_ms": 1, "stdout": "a b\n", "stderr": "",
        }  # fmt: skip

    async def test_stdin_and_stdin_base64(self, world: Plane) -> None:
        session = await world.open()
        assert (await world.exec(session, "cat", stdin="ä")).json["stdout"] == "ä"
        assert (await world.exec(session, "cat", stdin_base64="AGE=")).json["stdout"] == "\0a"
        for fields in ({"stdin_base64": "?"}, {"stdin": "", "stdin_base64": ""}):
            assert (await world.exec(session, "cat", **fields)).status == 400

    async def test_cwd_env_timeout_and_shell_reach_the_guest(self, world: Plane) -> None:
        session = await world.open()
        fields = {"command": "x y", "cwd": "/tmp", "env": {"A": "b"}, "timeout_ms": 1500}
        await world.call("POST", f"{session}/exec", fields)
        (asked,) = [each for each in world.guest(session).calls if each["op"] == "exec"]
        assert (asked["cwd"], asked["env"], asked["timeout_ms"]) == ("/tmp", {"A": "b"}, 1500)
        assert asked["argv"] == ["x y"] and asked["shell"]

    async def test_output_beyond_max_output_is_not_kept(self, world: Plane) -> None:
        session = await world.open()
        result = (await world.exec(session, "flood", "5000", "70", max_output=100)).json
        assert (len(result["stdout"]), len(result["stderr"])) == (100, 70)

    async def test_a_program_that_is_not_there_is_404(self, world: Plane) -> None:
        answer = await world.exec(await world.open(), "none")
        assert (answer.status, code(answer)) == (404, "path_not_found")

    @pytest.mark.parametrize(
        "fields",
        [
            {}, {"command": ""}, {"argv": []}, {"command": "a", "argv": ["a"]}, {"argv": [1]},
            {"argv": ["a"], "timeout_ms": 3_600_001}, {"argv": ["a"], "max_output": (4 << 20) + 1},
            {"argv": ["a"], "output_encoding": "latin-1"}, {"argv": ["a"], "stream": 1},
            {"argv": ["a"], "env": {"A": 1}}, {"argv": ["a"], "more": 1}, {"argv": ["a\0"]},
        ],
    )  # fmt: skip
    async def test_what_is_wrong_is_400(self, world: Plane, fields: dict[str, Any]) -> None:
        session = await world.open()
        answer = await world.call("POST", f"{session}/exec", fields)
        assert (answer.status, code(answer)) == (400, "invalid_argument")


class TestFiles:
    async def test_put_get_delete(self, world: Plane) -> None:
        session, body = await world.open(), os.urandom(300_000)
        where = {"path": "/workspace/ü"}
        put = await world.call("PUT", f"{session}/files", body, **where)
        assert put.json == {"path": "/workspace/ü", "size": 300_000}
        got = await world.call("GET", f"{session}/files", **where)
        assert (got.raw, got.headers["content-type"]) == (body, "application/octet-stream")
        assert (await world.call("DELETE", f"{session}/files", **where)).status == 204
        assert code(await world.call("GET", f"{session}/files", **where)) == "path_not_found"

    async def test_append_and_exclusive(self, world: Plane) -> None:
        session, where = await world.open(), {"path": "/workspace/a"}
        await world.call("PUT", f"{session}/files", b"a", **where)
        await world.call("PUT", f"{session}/files", b"b", **where, append="1")
        refused = await world.call("PUT", f"{session}/files", b"c", **where, exclusive="1")
        assert (refused.status, code(refused)) == (409, "exists")
        assert (await world.call("GET", f"{session}/files", **where)).raw == b"ab"

    async def test_an_empty_file(self, world: Plane) -> None:
        session, where = await world.open(), {"path": "/workspace/a"}
        assert (await world.call("PUT", f"{session}/files", **where)).status == 200
        assert (await world.call("GET", f"{session}/files", **where)).raw == b""

    @pytest.mark.parametrize(
        "query", [{"append": "2"}, {"path": "/workspace/b", "colour": "red"}, {"exclusive": ""}]
    )
    async def test_a_query_that_means_nothing_is_400(
        self, world: Plane, query: dict[str, str]
    ) -> None:
        session = await world.open()
        answer = await world.call(
            "PUT", f"{session}/files", b"", **{"path": "/workspace/a"} | query
        )
        assert (answer.status, code(answer)) == (400, "invalid_argument")
        assert world.guest(session).files == {}


async def test_get_stat_is_metadata(world: Plane) -> None:
    session = await world.open()
    world.guest(session).files["/workspace/a"] = b"abc"
    answer = await world.call("GET", f"{session}/stat", path="/workspace/a")
    assert answer.json == {
        "path": "/workspace/a", "type": "file", "size": 3, "mode": 0o644, "mtime": 1.5,
    }  # fmt: skip


async def test_get_ls_is_a_listing(world: Plane) -> None:
    session = await world.open()
    world.guest(session).files["/workspace/a"] = b"abc"
    answer = await world.call("GET", f"{session}/ls", path="/workspace")
    entry = {"name": "a", "type": "file", "size": 3, "mtime": 1.5}
    assert answer.json == {"path": "/workspace", "entries": [entry], "truncated": False}


async def test_post_mkdir(world: Plane) -> None:
    session = await world.open()
    body = {"path": "/workspace/a/b", "parents": True}
    assert (await world.call("POST", f"{session}/mkdir", body)).status == 200
    (asked,) = [each for each in world.guest(session).calls if each["op"] == "mkdir"]
    assert (asked["path"], asked["parents"]) == ("/workspace/a/b", True)


PATHS = ["", "/", "/etc/passwd", "workspace/a", "/workspacex", "/workspace/../a", "/workspace/./a"]


@pytest.mark.parametrize("path", [*PATHS, "/workspace/a\0"])
async def test_paths_must_be_under_workspace(world: Plane, path: str) -> None:
    session = await world.open()
    calls = [
        ("GET", "files"),
        ("PUT", "files"),
        ("DELETE", "files"),
        ("GET", "stat"),
        ("GET", "ls"),
    ]
    answers = [await world.call(how, f"{session}/{name}", path=path) for how, name in calls]
    answers.append(await world.call("POST", f"{session}/mkdir", {"path": path}))
    assert {(each.status, code(each)) for each in answers} == {(400, "path_denied")}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/sessions", {"key": "k", "colour": "red"}),
        ("POST", "{}/renew", {"ttl_seconds": 1, "colour": "red"}),
        ("POST", "{}/exec", {"command": "true", "colour": "red"}),
        ("POST", "{}/mkdir", {"path": "/workspace/a", "colour": "red"}),
    ],
)
async def test_unknown_request_fields_are_400(
    world: Plane, method: str, path: str, body: dict[str, Any]
) -> None:
    answer = await world.call(method, path.format(await world.open()), body)
    assert (answer.status, code(answer)) == (400, "invalid_argument")
    assert "colour" in answer.json["error"]["message"]


def _local() -> Any:
    from sandbox_engine.api.rpc.callers import LOCAL

    return LOCAL
