"""The public protocol's exec, processes and sessions against a real agent process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from sandbox_guest.framing import FrameKind

from tests.guest.host import CLIENT, Host, HostStream, Json

OUT, ERR = FrameKind.STDOUT, FrameKind.STDERR


@pytest.fixture
def client(host: Host) -> HostStream:
    """A client's stream."""
    return host.open(CLIENT)


async def call(stream: HostStream, **request: object) -> Json:
    """One RPC with a single answer."""
    await stream.send({"v": 1, **request})
    return await stream.control()


async def run(stream: HostStream, *argv: str, **request: object) -> tuple[int, bytes, bytes]:
    await stream.send({"v": 1, "op": "exec", "argv": list(argv), **request})
    await stream.send({"op": "stdin_close"})
    end, bulk = await stream.until("exit", "error")
    assert end["type"] == "exit", end
    return end["code"], bulk[OUT], bulk[ERR]


async def test_info_answers(client: HostStream) -> None:
    info = await call(client, op="info")
    assert (info["type"], info["proto"]) == ("info", 2)
    assert {"version", "uptime_secs", "procs", "sessions"} <= info.keys()


async def test_rpcs_run_back_to_back_on_one_stream(client: HostStream) -> None:
    for code in range(3):
        assert await run(client, "sh", "-c", f"echo {code}; exit {code}") == (
            code, f"{code}\n".encode(), b"",
        )  # fmt: skip


async def test_a_client_may_pipeline(client: HostStream) -> None:
    await client.send({"v": 1, "op": "info"})
    await client.send({"v": 1, "op": "exec", "argv": ["cat"]})
    await client.send_bulk(FrameKind.STDIN, b"hello")
    await client.send({"op": "stdin_close"})
    await client.send({"v": 1, "op": "info"})
    assert (await client.control())["type"] == "info"
    end, bulk = await client.until("exit")
    assert (end["code"], bulk[OUT]) == (0, b"hello")
    assert (await client.control())["type"] == "info"


async def test_a_new_request_ends_the_input_of_the_one_in_flight(client: HostStream) -> None:
    await client.send({"v": 1, "op": "exec", "argv": ["cat"]})
    await client.send_bulk(FrameKind.STDIN, b"all of it")
    await client.send({"v": 1, "op": "info"})
    _end, bulk = await client.until("exit")
    assert bulk[OUT] == b"all of it"
    assert (await client.control())["type"] == "info"


async def test_input_outside_an_rpc_is_dropped(client: HostStream) -> None:
    await client.send_bulk(FrameKind.STDIN, b"x" * 100_000)
    await client.send({"op": "stdin_close"})
    await client.send_bulk(FrameKind.DATA, b"x")
    await client.send({"op": "data_end"})
    assert (await call(client, op="info"))["type"] == "info"


@pytest.mark.parametrize(
    ("request_", "kind"),
    [
        pytest.param({"op": "exec", "argv": []}, "bad_request", id="empty argv"),
        pytest.param({"op": "exec", "argv": ["/no/such"]}, "bad_request", id="no program"),
        pytest.param({"op": "exec", "argv": ["true"], "cwd": "/no"}, "bad_request", id="no cwd"),
        pytest.param({"op": "exec", "argv": ["/etc/passwd"]}, "bad_request", id="no executable"),
        pytest.param({"op": "exec", "argv": ["a"], "session": "x"}, "not_found", id="no session"),
        pytest.param({"op": "session_rm", "id": "x"}, "not_found", id="rm no session"),
        pytest.param({"op": "kill", "pid": 1}, "not_found", id="kill what is not tracked"),
        pytest.param({"op": "kill"}, "bad_request", id="kill nothing"),
        pytest.param({"op": "logs", "pid": 1}, "not_found", id="logs of nothing"),
        pytest.param({"op": "attach", "pid": "1"}, "bad_request", id="pid is a string"),
        pytest.param({"op": "identity"}, "bad_request", id="identity is not for clients"),
        pytest.param({"op": "configure", "env": {}}, "bad_request", id="nor is configure"),
        pytest.param({"op": "info", "v": 2}, "bad_request", id="another version"),
        pytest.param({}, "bad_request", id="no op"),
    ],
)
async def test_errors_have_a_kind_and_the_stream_goes_on(
    client: HostStream, request_: Json, kind: str
) -> None:
    answer = await call(client, **request_)
    assert (answer["type"], answer["kind"]) == ("error", kind)
    assert (await call(client, op="info"))["type"] == "info"


async def test_a_frame_that_is_no_json_is_a_bad_request(client: HostStream) -> None:
    await client.send_raw(b"\x01\x00\x00\x00\x04nope")
    assert (await client.control())["kind"] == "bad_request"
    assert (await call(client, op="info"))["type"] == "info"


async def test_a_killed_command_has_code_minus_1(client: HostStream) -> None:
    code, _, _ = await run(client, "sh", "-c", "kill -9 $$")
    assert code == -1


async def test_large_input_comes_back(client: HostStream) -> None:
    body = os.urandom(3 << 20)

    async def write() -> None:
        await client.send_bulk(FrameKind.STDIN, body)
        await client.send({"op": "stdin_close"})

    await client.send({"v": 1, "op": "exec", "argv": ["cat"]})
    (_, bulk), _ = await asyncio.gather(client.until("exit"), write())
    assert bulk[OUT] == body


async def test_a_foreground_command_dies_with_its_stream(host: Host, client: HostStream) -> None:
    await client.send({"v": 1, "op": "exec", "argv": ["sh", "-c", "setsid sleep 4711 & wait"]})
    pid = (await client.control())["pid"]
    other = host.open(CLIENT)
    assert pid in [proc["pid"] for proc in (await call(other, op="ps"))["procs"]]
    client.reset()
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.02)
    while (await call(other, op="ps"))["procs"]:
        await asyncio.sleep(0.02)


async def test_the_end_of_the_stream_ends_the_input_and_no_more(client: HostStream) -> None:
    await client.send({"v": 1, "op": "exec", "argv": ["sh", "-c", "cat; echo after"]})
    await client.send_bulk(FrameKind.STDIN, b"before\n")
    client.finish()
    _end, bulk = await client.until("exit")
    assert bulk[OUT] == b"before\nafter\n"
    assert await client.receive() is None


async def test_detached_logs_attach_and_kill(host: Host, client: HostStream) -> None:
    script = "echo first; echo problem >&2; read line <fifo; echo second; sleep 4711"
    await run(client, "mkfifo", "fifo")
    started = await call(client, op="exec", argv=["sh", "-c", script], detach=True)
    pid = started["pid"]
    await client.send({"v": 1, "op": "attach", "pid": pid})
    seen = b""
    while seen.count(b"\n") < 2:
        seen += (await client.receive() or (0, b""))[1]
    other = host.open(CLIENT)
    (proc,) = (await call(other, op="ps"))["procs"]
    assert (proc["pid"], proc["detached"], proc["state"]) == (pid, True, "running")
    assert proc["argv"][0] == "sh"
    await run(other, "sh", "-c", "echo go > fifo")
    assert await client.receive() == (OUT, b"second\n")
    await other.send({"v": 1, "op": "logs", "pid": pid})
    end, bulk = await other.until("done", "exit")
    assert (end["type"], bulk[OUT], bulk[ERR]) == ("done", b"first\nsecond\n", b"problem\n")
    assert await call(other, op="kill", pid=pid) == {"type": "done"}
    end, _ = await client.until("exit")
    assert end["code"] == -1
    assert await call(other, op="kill", pid=pid) == {"type": "done"}
    await other.send({"v": 1, "op": "logs", "pid": pid})
    end, bulk = await other.until("exit")
    assert (end["code"], bulk[OUT]) == (-1, b"first\nsecond\n")
    assert await other.control() == {"type": "done"}
    (proc,) = (await call(other, op="ps"))["procs"]
    assert (proc["state"], proc["exit_code"]) == ("exited", -1)


async def test_a_signal_of_choice(client: HostStream) -> None:
    script = "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done"
    pid = (await call(client, op="exec", argv=["sh", "-c", script], detach=True))["pid"]
    await client.send({"v": 1, "op": "attach", "pid": pid})
    assert (await client.receive() or (0, b""))[1] == b"ready\n"
    await client.send({"v": 1, "op": "kill", "pid": pid, "signal": 10})
    # attach takes no request's place: it ends with the command, then kill is served
    assert (await call_other(client, pid)) == {"type": "exit", "code": 9}


async def call_other(client: HostStream, pid: int) -> Json:
    other = client._host.open(CLIENT)
    await call(other, op="kill", pid=pid, signal=10)
    end, _ = await client.until("exit")
    assert await client.control() == {"type": "done"}
    return end


async def test_a_detached_command_survives_its_stream_and_epoch(host: Host) -> None:
    client = host.open(CLIENT)
    pid = (await call(client, op="exec", argv=["sleep", "4711"], detach=True))["pid"]
    client.reset()
    await host.greet()
    client = host.open(CLIENT)
    procs = {proc["pid"]: proc for proc in (await call(client, op="ps"))["procs"]}
    assert procs[pid]["state"] == "running"
    await call(client, op="kill", pid=pid)


async def test_a_ring_keeps_the_last_256_kib(client: HostStream) -> None:
    script = "seq 1 100000; echo end"
    pid = (await call(client, op="exec", argv=["sh", "-c", script], detach=True))["pid"]
    await client.send({"v": 1, "op": "attach", "pid": pid})
    await client.until("exit")
    await client.send({"v": 1, "op": "logs", "pid": pid})
    _end, bulk = await client.until("exit")
    assert len(bulk[OUT]) == 256 << 10
    assert bulk[OUT].endswith(b"100000\nend\n")


class TestSessions:
    async def test_a_shell_keeps_its_state(self, client: HostStream) -> None:
        created = await call(client, op="session_create", cwd="/", env={"OWN": "1"})
        name = created["id"]
        assert await run(client, "export", "MARK=silk", session=name) == (0, b"", b"")
        assert await run(client, "cd", "/tmp", session=name) == (0, b"", b"")
        _, out, _ = await run(client, "sh", "-c", "echo $OWN $MARK; pwd", session=name)
        assert out == b"1 silk\n/tmp\n"
        assert (await call(client, op="session_list"))["sessions"] == [name]
        assert await call(client, op="session_rm", id=name) == {"type": "done"}
        assert (await call(client, op="session_list"))["sessions"] == []

    async def test_aliases_and_odd_words(self, client: HostStream) -> None:
        name = (await call(client, op="session_create", id="mine"))["id"]
        assert name == "mine"
        await run(client, "alias", "hi=echo hello", session=name)
        assert (await run(client, "hi", session=name))[1] == b"hello\n"
        assert (await run(client, "echo", "a b", "$x", "'", session=name))[1] == b"a b $x '\n"
        assert (await call(client, op="session_create", id="mine"))["kind"] == "bad_request"
        await call(client, op="session_rm", id=name)

    async def test_codes_and_stderr_in_stdout(self, client: HostStream) -> None:
        name = (await call(client, op="session_create"))["id"]
        code, out, err = await run(client, "sh", "-c", "echo e >&2; exit 4", session=name)
        assert (code, out, err) == (4, b"e\n", b"")
        code, out, _ = await run(client, "no-such-program", session=name)
        assert code == 127
        assert b"not found" in out
        assert (await run(client, "if", session=name))[0] != 0
        assert (await run(client, "echo", "alive", session=name))[1] == b"alive\n"
        await call(client, op="session_rm", id=name)

    async def test_output_larger_than_every_window(self, client: HostStream) -> None:
        name = (await call(client, op="session_create"))["id"]
        code, out, _ = await run(client, "head", "-c", "5000000", "/dev/zero", session=name)
        assert (code, len(out)) == (0, 5_000_000)
        await call(client, op="session_rm", id=name)

    async def test_exit_ends_it_with_its_code(self, client: HostStream) -> None:
        name = (await call(client, op="session_create"))["id"]
        assert (await run(client, "exit", "3", session=name))[0] == 3
        assert (await call(client, op="session_list"))["sessions"] == []

    async def test_a_cut_command_is_killed_and_the_shell_lives(
        self, host: Host, client: HostStream
    ) -> None:
        name = (await call(client, op="session_create"))["id"]
        await run(client, "export", "MARK=1", session=name)
        cut = host.open(CLIENT)
        await cut.send({"v": 1, "op": "exec", "argv": ["sleep", "4711"], "session": name})
        waiting = host.open(CLIENT)
        await waiting.send(
            {"v": 1, "op": "exec", "argv": ["sh", "-c", "echo $MARK"], "session": name}
        )
        cut.reset()
        end, bulk = await waiting.until("exit", "error")
        assert (end, bulk[OUT]) == ({"type": "exit", "code": 0}, b"1\n")
        await call(client, op="session_rm", id=name)

    async def test_a_shell_that_loops_in_itself_is_ended(
        self, host: Host, client: HostStream
    ) -> None:
        name = (await call(client, op="session_create"))["id"]
        cut = host.open(CLIENT)
        await cut.send(
            {"v": 1, "op": "exec", "argv": ["eval", "while :; do :; done"], "session": name}
        )
        await asyncio.sleep(0)
        cut.reset()
        while (await call(client, op="session_list"))["sessions"]:
            await asyncio.sleep(0.05)

    async def test_it_survives_an_epoch(self, host: Host) -> None:
        client = host.open(CLIENT)
        name = (await call(client, op="session_create"))["id"]
        await run(client, "export", "MARK=alive", session=name)
        await host.greet()
        client = host.open(CLIENT)
        assert (await run(client, "sh", "-c", "echo $MARK", session=name))[1] == b"alive\n"
        await call(client, op="session_rm", id=name)
