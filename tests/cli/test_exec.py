"""`exec`: live streams, input, terminals, signals, against a scripted gRPC daemon."""

from __future__ import annotations

import base64
import json
import os
import pty
import signal
import threading
from collections.abc import Iterator

import grpc
import pytest
from google.rpc import code_pb2
from sandbox.v1 import guest_pb2 as pb

from tests.cli.conftest import Cli, Serve, refuse

Requests = Iterator[pb.ExecRequest]
Answers = Iterator[pb.ExecResponse]
STARTED = pb.ExecResponse(started=pb.ExecStarted(pid=42))


def out(data: bytes) -> pb.ExecResponse:
    return pb.ExecResponse(out=pb.ExecOutput(data=data))


def end(code: int) -> pb.ExecResponse:
    return pb.ExecResponse(exit=pb.ExecExit(code=code))


@pytest.mark.parametrize(
    ("how", "status"),
    [
        pytest.param(pb.ExecExit(code=0), 0, id="success"),
        pytest.param(pb.ExecExit(code=7), 7, id="its own status"),
        pytest.param(pb.ExecExit(code=143, signal=15), 143, id="a signal"),
        pytest.param(pb.ExecExit(code=137, signal=9, timed_out=True), 124, id="its timeout"),
    ],
)
def test_it_exits_as_the_command_did(
    cli: Cli, grpc_daemon: Serve, how: pb.ExecExit, status: int
) -> None:
    grpc_daemon(guest={"Exec": lambda *_: iter([STARTED, pb.ExecResponse(exit=how)])})
    assert cli("exec", "sb_1", "--", "true").code == status


def test_output_comes_while_the_command_runs(cli: Cli, grpc_daemon: Serve) -> None:
    seen = threading.Event()

    def run(_: Requests, __: object) -> Answers:
        yield STARTED
        yield out(b"first\n")
        assert seen.wait(60)  # the reader had the first line before the command ended
        yield pb.ExecResponse(err=pb.ExecOutput(data=b"late\n"))
        yield end(code=0)

    grpc_daemon(guest={"Exec": run})
    with cli.start("exec", "sb_1", "--", "slow") as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"first\n"
        seen.set()
        assert process.stderr.read() == b"late\n"
        assert process.wait(60) == 0


def test_the_flags_reach_the_start(cli: Cli, grpc_daemon: Serve) -> None:
    seen: list[pb.ExecRequest] = []

    def run(requests: Requests, _: object) -> Answers:
        seen.append(next(requests))
        yield end(code=0)

    grpc_daemon(guest={"Exec": run})
    flags = ["--cwd", "/tmp", "--env", "A=1", "--user", "nobody", "--timeout", "1.5"]
    assert cli("exec", *flags, "sb_1", "--", "ls", "-l", "--all").code == 0
    start = pb.ExecStart(
        sandbox_id="sb_1", argv=["ls", "-l", "--all"], cwd="/tmp", env={"A": "1"}, user="nobody"
    )
    start.timeout.FromMilliseconds(1500)
    assert seen == [pb.ExecRequest(start=start)]


def test_input_is_passed_on_whole_and_then_closed(cli: Cli, grpc_daemon: Serve) -> None:
    def echo(requests: Requests, _: object) -> Answers:
        assert next(requests).start.input
        for request in requests:
            if request.HasField("close_input"):
                break
            yield out(request.input.data)
        yield end(code=0)

    grpc_daemon(guest={"Exec": echo})
    data = os.urandom(3_000_000)
    with cli.start("exec", "-i", "sb_1", "--", "cat") as process:
        back, _ = process.communicate(data, timeout=60)
        assert process.returncode == 0
    assert back == data


def test_without_i_no_input_is_sent(cli: Cli, grpc_daemon: Serve) -> None:
    starts: list[pb.ExecStart] = []

    def run(requests: Requests, _: object) -> Answers:
        starts.append(next(requests).start)
        yield end(code=0)

    grpc_daemon(guest={"Exec": run})
    assert cli("exec", "sb_1", "--", "cat", stdin=b"ignored").code == 0
    assert not starts[0].input


def test_json_tells_every_message_a_line(cli: Cli, grpc_daemon: Serve) -> None:
    answers = [STARTED, out(b"\xff\0"), end(code=5)]
    grpc_daemon(guest={"Exec": lambda *_: iter(answers)})
    done = cli("exec", "-o", "json", "sb_1", "--", "x")
    started, piece, last = (json.loads(line) for line in done.out.splitlines())
    assert started == {"event": "started", "pid": 42, "exec_id": "", "input_offset": "0"}
    assert base64.b64decode(piece["data"]) == b"\xff\0"
    assert (last["event"], last["code"]) == ("exit", 5)
    assert done.code == 5


def test_sigint_is_passed_on_and_a_second_one_leaves(cli: Cli, grpc_daemon: Serve) -> None:
    signals: list[int] = []
    gone = threading.Event()

    def run(requests: Requests, context: grpc.ServicerContext) -> Answers:
        context.add_callback(gone.set)
        next(requests)
        yield out(b"up\n")
        signals.append(next(requests).signal.signal)
        yield out(b"ignored it\n")
        gone.wait(60)

    grpc_daemon(guest={"Exec": run})
    with cli.start("exec", "sb_1", "--", "stubborn") as process:
        assert process.stdout
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"ignored it\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert gone.wait(60)
    assert signals == [signal.SIGINT]


def test_a_terminal_is_raw_has_our_size_and_passes_ctrl_c_as_a_byte(
    cli: Cli, grpc_daemon: Serve
) -> None:
    starts: list[pb.ExecStart] = []

    def run(requests: Requests, _: object) -> Answers:
        starts.append(next(requests).start)
        yield out(b"ready\r\n")
        typed = b""
        while not typed.endswith(b"\x03"):
            typed += next(requests).input.data
        yield out(b"typed " + typed.hex().encode() + b"\r\n")
        yield end(code=0)

    grpc_daemon(guest={"Exec": run})
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    with cli.start(
        "exec", "-it", "sb_1", "--", "sh", stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        screen = b""
        while b"ready" not in screen:
            screen += os.read(ours, 4096)
        os.write(ours, b"a\x03")
        while b"6103" not in screen:
            screen += os.read(ours, 4096)
        assert process.wait(60) == 0
    os.close(ours)
    assert (starts[0].terminal.columns, starts[0].terminal.rows) == (80, 24)


def test_an_unknown_sandbox_fails_with_what_to_do(cli: Cli, grpc_daemon: Serve) -> None:
    def run(_: Requests, context: grpc.ServicerContext) -> Answers:
        refuse(context, code_pb2.NOT_FOUND, "SANDBOX_NOT_FOUND", "no sandbox sb_1")
        yield STARTED

    grpc_daemon(guest={"Exec": run})
    done = cli("exec", "sb_1", "--", "true")
    assert done.code == 1
    assert "no sandbox sb_1 [SANDBOX_NOT_FOUND]" in done.err
    assert "sandbox-cli ls" in done.err


def test_a_stream_without_an_exit_is_a_failure(cli: Cli, grpc_daemon: Serve) -> None:
    grpc_daemon(guest={"Exec": lambda *_: iter([STARTED])})
    done = cli("exec", "sb_1", "--", "true")
    assert done.code == 1
    assert "ended the stream" in done.err


@pytest.mark.parametrize("args", [["exec"], ["exec", "sb_1"], ["exec", "sb_1", "--"]])
def test_nothing_to_run_is_a_usage_error(cli: Cli, args: list[str]) -> None:
    assert cli(*args).code == 2
