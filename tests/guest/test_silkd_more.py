"""Terminals, ports, git and language servers against a real agent process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sandbox_guest.framing import FrameKind

from tests.guest.host import CLIENT, AgentProcess, Host, HostStream, Json

OUT, DATA, STDIN = FrameKind.STDOUT, FrameKind.DATA, FrameKind.STDIN


@pytest.fixture
def client(host: Host) -> HostStream:
    """A client's stream."""
    return host.open(CLIENT)


async def call(stream: HostStream, **request: object) -> Json:
    """One RPC with a single answer."""
    await stream.send({"v": 1, **request})
    return await stream.control()


async def seen(stream: HostStream, text: bytes) -> bytes:
    """Output up to `text`."""
    got = b""
    while text not in got:
        message = await stream.receive()
        assert message is not None
        assert message[0] == OUT, message
        got += message[1]
    return got


class TestTerminal:
    async def test_size_input_and_code(self, client: HostStream) -> None:
        started = await call(client, op="pty_open", cols=100, rows=30)
        assert started["type"] == "started"
        await client.send_bulk(STDIN, b"stty size; echo MARK$((6*7)); exit 3\n")
        end, bulk = await client.until("exit")
        assert end["code"] == 3
        assert b"30 100" in bulk[OUT]
        assert b"MARK42" in bulk[OUT]

    async def test_resize(self, host: Host, client: HostStream) -> None:
        pid = (await call(client, op="pty_open", cols=80, rows=24))["pid"]
        other = host.open(CLIENT)
        assert (await call(other, op="pty_resize", pid=pid, cols=91, rows=22))["type"] == "done"
        await client.send_bulk(STDIN, b"stty size\n")
        await seen(client, b"22 91")
        assert (await call(other, op="pty_resize", pid=1, cols=9, rows=9))["kind"] == "not_found"
        client.reset()

    async def test_it_survives_its_stream_and_is_attached_to(
        self, host: Host, client: HostStream
    ) -> None:
        pid = (await call(client, op="pty_open", cols=80, rows=24))["pid"]
        await client.send_bulk(STDIN, b"A=kept; echo fir''st\n")
        await seen(client, b"first")
        await host.greet()
        client = host.open(CLIENT)
        await client.send({"v": 1, "op": "attach", "pid": pid})
        await seen(client, b"first")  # the replay
        await client.send_bulk(STDIN, b"echo still $A; exit 5\n")
        await seen(client, b"still kept")
        assert (await client.until("exit"))[0]["code"] == 5

    async def test_a_long_paste_is_not_lost(self, client: HostStream) -> None:
        await call(client, op="pty_open", cols=80, rows=24)
        await client.send_bulk(STDIN, b"stty -echo -icanon; echo rea''dy; head -c 300000 | wc -c\n")
        await seen(client, b"ready")
        await client.send_bulk(STDIN, b"x" * 300_000)
        await seen(client, b"300000")
        await client.send_bulk(STDIN, b"exit\n")
        await client.until("exit")


class TestPorts:
    async def test_both_ways_with_half_close(self, client: HostStream) -> None:
        body = bytes(range(256)) * 12_000

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            data = await reader.read()  # up to the client's half-close
            writer.write(data[::-1])
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert await call(client, op="port_forward", port=port) == {"type": "ready"}
        await client.send_bulk(DATA, body)
        await client.send({"op": "data_end"})
        end, bulk = await client.until("done", "error")
        assert end == {"type": "done"}
        assert bulk[DATA] == body[::-1]
        assert (await call(client, op="info"))["type"] == "info"
        server.close()

    async def test_a_reset_closes_the_connection(self, client: HostStream) -> None:
        closed = asyncio.Event()

        async def wait(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            closed.set()
            writer.close()

        server = await asyncio.start_server(wait, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        assert (await call(client, op="port_forward", port=port))["type"] == "ready"
        client.reset()
        await closed.wait()
        server.close()

    async def test_a_port_nobody_listens_on(self, client: HostStream) -> None:
        assert (await call(client, op="port_forward", port=9))["kind"] == "not_found"
        assert (await call(client, op="port_forward", port=0))["kind"] == "bad_request"
        assert (await call(client, op="port_forward", port=65536))["kind"] == "bad_request"


class TestGit:
    async def test_the_verbs(self, host: Host, client: HostStream, tmp_path: Path) -> None:
        repo = str(tmp_path)
        made, _, err = await host.run("git", "init", "-q", "-b", "main", repo)
        assert made["code"] == 0, err
        (tmp_path / "café two.txt").write_text("x")
        status = await call(client, op="git_status", path=repo)
        assert status["files"] == [{"path": "café two.txt", "staged": "?", "unstaged": "?"}]
        assert status["branch"] == "main"
        add = {"op": "git_add", "path": repo, "files": ["café two.txt"]}
        assert (await call(client, **add))["type"] == "done"
        status = await call(client, op="git_status", path=repo)
        assert status["files"] == [{"path": "café two.txt", "staged": "A", "unstaged": "."}]
        commit = {"op": "git_commit", "path": repo, "message": "first", "author": "D <d@e.f>"}
        assert len((await call(client, **commit))["hash"]) == 40
        assert (await call(client, **commit))["kind"] == "bad_request"  # nothing staged
        branch = {"op": "git_branch", "path": repo, "name": "feature"}
        assert (await call(client, **branch, action="create"))["type"] == "done"
        assert (await call(client, **branch, action="checkout"))["type"] == "done"
        branches = await call(client, op="git_branch", path=repo, action="list")
        assert branches == {
            "type": "git_branches", "current": "feature", "branches": ["feature", "main"],
        }  # fmt: skip
        main = {"op": "git_branch", "path": repo, "name": "main"}
        assert (await call(client, **main, action="delete"))["type"] == "done"
        (tmp_path / "café two.txt").rename(tmp_path / "moved")
        await call(client, op="git_add", path=repo, files=["moved", "café two.txt"])
        status = await call(client, op="git_status", path=repo)
        assert status["files"] == [{"path": "moved", "staged": "R", "unstaged": "."}]

    async def test_without_a_network_the_answer_names_another_way(
        self, client: HostStream, tmp_path: Path
    ) -> None:
        for request in (
            {"op": "git_clone", "url": "https://x.invalid/y", "path": f"{tmp_path}/y"},
            {"op": "git_push", "path": str(tmp_path)},
            {"op": "git_pull", "path": str(tmp_path)},
        ):
            answer = await call(client, **request)
            assert answer["kind"] == "unimplemented"
            assert "fs_push" in answer["message"]

    async def test_with_a_network_they_run(
        self, host: Host, client: HostStream, tmp_path: Path
    ) -> None:
        await host.call(op="configure", lane="direct")
        script = "git init -q -b main one; cd one; git -c user.name=x -c user.email=x@y commit -q "
        await host.run("sh", "-c", script + "--allow-empty -m first", cwd=str(tmp_path))
        clone = {"op": "git_clone", "url": f"{tmp_path}/one", "path": f"{tmp_path}/two"}
        assert (await call(client, **clone, auth="secret"))["type"] == "done"
        assert (await call(client, op="git_pull", path=f"{tmp_path}/two"))["type"] == "done"
        status = await call(client, op="git_status", path=f"{tmp_path}/two")
        assert (status["ahead"], status["behind"], status["files"]) == (0, 0, [])
        found = await host.run("grep", "-r", "secret", f"{tmp_path}/two")
        assert found[0]["code"] == 1
        await host.call(op="configure", lane="none")

    @pytest.mark.parametrize(
        ("request_", "kind"),
        [
            pytest.param({"op": "git_status", "path": "/no"}, "not_found", id="no folder"),
            pytest.param({"op": "git_status", "path": "/"}, "bad_request", id="no repository"),
            pytest.param({"op": "git_add", "path": "/", "files": []}, "bad_request", id="no files"),
            pytest.param(
                {"op": "git_branch", "path": "/", "action": "create", "name": "-d"},
                "bad_request",
                id="an option as a name",
            ),
            pytest.param(
                {"op": "git_commit", "path": "/", "message": "m", "author": "nobody"},
                "bad_request",
                id="no author",
            ),
        ],
    )
    async def test_errors(self, client: HostStream, request_: Json, kind: str) -> None:
        assert (await call(client, **request_))["kind"] == kind


class TestLanguageServers:
    @pytest.fixture
    def registered(self, agent: tuple[AgentProcess, Host]) -> None:
        folder = agent[0].folder / "etc/silkd/lsp.d"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "echo").write_text('["cat"]')
        (folder / "words").write_text("sh -c 'pwd; cat' # a comment\n")

    async def test_one_stream_speaks_to_it(
        self, client: HostStream, registered: None, tmp_path: Path
    ) -> None:
        started = await call(client, op="lsp_start", language="words", root=str(tmp_path))
        server = started["server_id"]
        assert await call(client, op="lsp_request", server_id=server) == {"type": "ready"}
        await client.send_bulk(DATA, b"Content-Length: 2\r\n\r\n{}")
        await client.send({"op": "data_end"})
        _end, bulk = await client.until("done")
        assert bulk[DATA] == f"{tmp_path}\n".encode() + b"Content-Length: 2\r\n\r\n{}"
        while (await call(client, op="lsp_stop", server_id=server))["type"] != "error":
            await asyncio.sleep(0.01)

    async def test_the_end_of_the_stream_reaps_it(
        self, host: Host, client: HostStream, registered: None
    ) -> None:
        server = (await call(client, op="lsp_start", language="echo"))["server_id"]
        assert (await call(client, op="lsp_request", server_id=server))["type"] == "ready"
        other = host.open(CLIENT)
        taken = await call(other, op="lsp_request", server_id=server)
        assert taken["kind"] == "bad_request"
        client.reset()
        while (await call(other, op="lsp_request", server_id=server))["kind"] != "not_found":
            await asyncio.sleep(0.01)

    async def test_stop_and_unknown(self, client: HostStream, registered: None) -> None:
        server = (await call(client, op="lsp_start", language="echo"))["server_id"]
        assert (await call(client, op="lsp_stop", server_id=server))["type"] == "done"
        assert (await call(client, op="lsp_stop", server_id=server))["kind"] == "not_found"
        assert (await call(client, op="lsp_start", language="cobol"))["kind"] == "not_found"
        assert (await call(client, op="lsp_start", language="../x"))["kind"] == "bad_request"
