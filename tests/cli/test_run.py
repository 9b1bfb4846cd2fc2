"""`run`: JSON lines and exit codes, against a scripted frame socket."""

from __future__ import annotations

import json
import signal
import struct
import threading
from collections.abc import Callable
from typing import Any

import pytest
from sandbox.v1 import legacy_pb2 as pb

from tests.cli.conftest import Answer, Cli, FrameDaemon, Last

Start = Callable[[Answer], FrameDaemon]


def script(*results: pb.GuestExecResponse) -> Answer:
    """A daemon that creates sandbox 7, answers execs in turn, and destroys."""
    left = list(results)

    def answer(request: pb.ClientMessage) -> pb.ServerMessage:
        match request.WhichOneof("request"):
            case "create":
                return pb.ServerMessage(create=pb.CreateResponse(sandbox_id=7))
            case "guest":
                return pb.ServerMessage(guest=pb.GuestResponse(exec=left.pop(0)))
            case _:
                return pb.ServerMessage(destroy=pb.DestroyResponse())

    return answer


def error(code: int, message: str) -> pb.ServerMessage:
    return pb.ServerMessage(error=pb.ErrorResponse(error_code=code, message=message))


def events(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines() if line.startswith('{"event"')]


def test_scripts_run_in_turn_and_the_first_failing_status_is_the_exit_code(
    cli: Cli, frame_daemon: Start
) -> None:
    daemon = frame_daemon(
        script(
            pb.GuestExecResponse(exit_code=0, out=b"hello\n", out_total=6),
            pb.GuestExecResponse(exit_code=3, err=b"bad\n", err_total=4),
            pb.GuestExecResponse(exit_code=4),
        )
    )
    done = cli("run", "--template", "base", "--exec", "a", "--exec", "b", "--exec", "c")
    assert done.code == 3
    created, *ends = events(done.out)
    assert created["event"] == "created"
    assert created["sandbox_id"] == 7
    assert [(end["event"], end["exit_code"]) for end in ends] == [
        ("exec", 0),
        ("exec", 3),
        ("exec", 4),
    ]
    assert done.out.splitlines()[1] == "hello"
    assert done.err == "bad\n"
    assert daemon.operations == ["create", "guest", "guest", "guest", "destroy"]
    assert [each.guest.exec.argv for each in daemon.requests[1:4]] == [["a"], ["b"], ["c"]]
    assert all(each.guest.exec.shell for each in daemon.requests[1:4])


def test_every_request_has_an_id_of_its_own(cli: Cli, frame_daemon: Start) -> None:
    daemon = frame_daemon(script(pb.GuestExecResponse()))
    assert cli("run", "--template", "base", "--exec", "a").code == 0
    ids = [each.request_id for each in daemon.requests]
    assert 0 not in ids
    assert len(set(ids)) == len(ids)


def test_an_event_starts_a_line_also_after_output_without_a_newline(
    cli: Cli, frame_daemon: Start
) -> None:
    frame_daemon(script(pb.GuestExecResponse(out=b"no newline", out_total=10)))
    done = cli("run", "--template", "base", "--exec", "a")
    assert done.out.splitlines()[1] == "no newline"
    assert len(events(done.out)) == 2


def test_a_script_that_a_signal_ended_exits_as_in_a_shell(cli: Cli, frame_daemon: Start) -> None:
    frame_daemon(script(pb.GuestExecResponse(exit_code=137, term_signal=9)))
    done = cli("run", "--template", "base", "--exec", "kill -9 $$")
    assert done.code == 137
    assert events(done.out)[1]["exit_code"] == 137
    assert events(done.out)[1]["signal"] == 9


def test_output_beyond_what_a_frame_holds_is_told(cli: Cli, frame_daemon: Start) -> None:
    frame_daemon(script(pb.GuestExecResponse(out=b"head", out_total=1000)))
    done = cli("run", "--template", "base", "--exec", "a")
    assert "4 of 1000 bytes of stdout" in done.err
    assert events(done.out)[1]["out_total"] == 1000


def test_the_flags_reach_the_request(cli: Cli, frame_daemon: Start) -> None:
    daemon = frame_daemon(script(pb.GuestExecResponse()))
    flags = [
        "--memory",
        "256",
        "--vcpus",
        "2",
        "--wait",
        "40",
        "--session-key",
        "k",
        "--env",
        "A=1",
        "--env",
        "B=x=y",
    ]
    hosts = ["--egress", "a.example", "--egress", "b.example:443"]
    assert cli("run", "--template", "t", *flags, *hosts, "--exec", "a").code == 0
    assert daemon.requests[0].create == pb.CreateRequest(
        template_name="t",
        memory_mib=256,
        vcpu_count=2,
        pool_wait_ms=40,
        session_key="k",
        env_vars=["A=1", "B=x=y"],
        egress_allow=["a.example", "b.example:443"],
    )


def test_no_egress_denies_all(cli: Cli, frame_daemon: Start) -> None:
    daemon = frame_daemon(script(pb.GuestExecResponse()))
    cli("run", "--template", "t", "--no-egress", "--exec", "a")
    assert daemon.requests[0].create.egress_deny_all


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param(["run"], "--template", id="no template"),
        pytest.param(["run", "--template", "t", "--vcpus", "-1"], "--vcpus", id="negative vcpus"),
        pytest.param(["run", "--template", "t", "--wait", "soon"], "--wait", id="wait in words"),
        pytest.param(
            ["run", "--template", "t", "--egress", "h", "--no-egress"], "contradict", id="egress"
        ),
        pytest.param(
            ["run", "--template", "t", *["--exec", "a"] * 17], "more than 16", id="17 scripts"
        ),
        pytest.param(
            ["run", "--template", "t", *["--egress", "a"] * 17], "more than 16", id="17 hosts"
        ),
        pytest.param(["run", "--template", "t", "--env", "NOVALUE"], "KEY=VALUE", id="env"),
        pytest.param(["run", "--template", "t", "stray"], "stray", id="stray argument"),
        pytest.param(["fly"], "fly", id="unknown command"),
    ],
)
def test_a_wrong_command_line_exits_with_2_and_reaches_no_daemon(
    cli: Cli, args: list[str], words: str
) -> None:
    done = cli(*args)
    assert done.code == 2
    assert words in done.err
    assert done.out == ""


def test_16_scripts_are_allowed(cli: Cli, frame_daemon: Start) -> None:
    frame_daemon(script(*[pb.GuestExecResponse()] * 16))
    assert cli("run", "--template", "t", *["--exec", "a"] * 16).code == 0


def test_a_refused_create_exits_with_1_and_says_why(cli: Cli, frame_daemon: Start) -> None:
    frame_daemon(lambda _: error(-1, "no warm VM of template 'base'"))
    done = cli("run", "--template", "base", "--wait", "0")
    assert done.code == 1
    assert "no warm VM of template 'base' [SANDBOX_ERR_POOL_EXHAUSTED]" in done.err
    assert "hint: allow a longer wait with --wait MS" in done.err
    assert done.out == ""


def test_an_exec_that_the_engine_failed_destroys_and_exits_with_1(
    cli: Cli, frame_daemon: Start
) -> None:
    good = script()

    def answer(request: pb.ClientMessage) -> pb.ServerMessage | bytes | Last:
        if request.HasField("guest"):
            return error(-9, "the guest does not answer")
        return good(request)

    daemon = frame_daemon(answer)
    done = cli("run", "--template", "base", "--exec", "a", "--exec", "b")
    assert done.code == 1
    assert "SANDBOX_ERR_GUEST_UNAVAILABLE" in done.err
    assert daemon.operations == ["create", "guest", "destroy"]


def test_no_daemon_exits_with_1_and_says_how_to_start_it(cli: Cli) -> None:
    done = cli("run", "--template", "base")
    assert done.code == 1
    assert str(cli.frames) in done.err
    assert "sandbox-engined --config" in done.err


def test_a_file_that_is_no_socket_is_told_apart(cli: Cli) -> None:
    cli.frames.write_text("")
    done = cli("run", "--template", "base")
    assert done.code == 1
    assert "is not a socket" in done.err


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"", id="closed"),
        pytest.param(b"\0\0", id="cut in the header"),
        pytest.param(b"\0\0\0\x09ab", id="cut in the body"),
    ],
)
def test_a_daemon_that_goes_away_exits_with_1(cli: Cli, frame_daemon: Start, reply: bytes) -> None:
    frame_daemon(lambda _: Last(reply))
    done = cli("run", "--template", "base")
    assert done.code == 1
    assert "closed the connection" in done.err


def test_an_oversized_reply_is_refused(cli: Cli, frame_daemon: Start) -> None:
    frame_daemon(lambda _: struct.pack(">I", 64 * 1024 + 1))
    done = cli("run", "--template", "base")
    assert done.code == 1
    assert "65537 bytes" in done.err


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_without_scripts_it_holds_until_a_signal_then_destroys(
    cli: Cli, frame_daemon: Start, signum: signal.Signals
) -> None:
    daemon = frame_daemon(script())
    with cli.start("run", "--template", "base") as process:
        assert process.stdout
        created = json.loads(process.stdout.readline())
        assert created["event"] == "created"
        process.send_signal(signum)
        assert process.wait(60) == 0
    assert daemon.closed.wait(60)
    assert daemon.operations == ["create", "destroy"]


def test_a_daemon_that_leaves_while_a_sandbox_is_held_is_a_failure(
    cli: Cli, frame_daemon: Start
) -> None:
    frame_daemon(lambda _: Last(pb.ServerMessage(create=pb.CreateResponse(sandbox_id=7))))
    done = cli("run", "--template", "base")
    assert done.code == 1
    assert events(done.out)[0]["sandbox_id"] == 7
    assert "the sandbox is gone" in done.err


def test_a_signal_during_a_script_gives_the_sandbox_up(cli: Cli, frame_daemon: Start) -> None:
    running = threading.Event()
    good = script()

    def answer(request: pb.ClientMessage) -> pb.ServerMessage | bytes | Last:
        if request.HasField("guest"):
            running.set()
            return b""  # the script runs and runs
        return good(request)

    daemon = frame_daemon(answer)
    with cli.start("run", "--template", "base", "--exec", "sleep 1000") as process:
        assert running.wait(60)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
    assert daemon.closed.wait(60)  # which is what destroys it


def test_a_reader_that_leaves_ends_it_quietly_and_gives_the_sandbox_up(
    cli: Cli, frame_daemon: Start
) -> None:
    asked, left = threading.Event(), threading.Event()
    good = script(pb.GuestExecResponse(out=b"to nobody\n", out_total=10))

    def answer(request: pb.ClientMessage) -> pb.ServerMessage | bytes | Last:
        if request.HasField("guest"):
            asked.set()
            assert left.wait(60)
        return good(request)

    daemon = frame_daemon(answer)
    with cli.start("run", "--template", "base", "--exec", "a") as process:
        assert process.stdout
        assert process.stderr
        assert asked.wait(60)
        process.stdout.close()
        left.set()
        assert process.wait(60) == 1
        assert process.stderr.read() == b""
    assert daemon.closed.wait(60)
