"""Engine exec against a real agent process."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest
from sandbox_guest.cgroups import READY
from sandbox_guest.framing import FrameKind

from tests.guest.host import ENGINE, AgentProcess, Host, Json


async def test_output_and_code(host: Host) -> None:
    end, out, err = await host.run("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (end["code"], end["signal"], out, err) == (7, 0, b"out\n", b"err\n")
    assert (end["out_total"], end["err_total"]) == (4, 4)


async def test_started_comes_first_with_the_leaders_pid(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["sh", "-c", "echo $$"]})
    started = await stream.control()
    _, bulk = await stream.until("exit")
    assert started == {"type": "started", "pid": int(bulk[FrameKind.STDOUT])}


async def test_a_signal_is_told_from_a_code(host: Host) -> None:
    end, _, _ = await host.run("sh", "-c", "kill -TERM $$")
    assert (end["code"], end["signal"]) == (-1, 15)


async def test_a_shell_script_with_arguments(host: Host) -> None:
    _, out, _ = await host.run("echo $1-$2", "a", "b", shell=True)
    assert out == b"a-b\n"


async def test_input_is_empty_unless_asked_for(host: Host) -> None:
    end, out, _ = await host.run("cat")
    assert (end["code"], out) == (0, b"")


async def test_input_arrives_whole_and_ends(host: Host) -> None:
    body = os.urandom(3 << 20)
    stream = host.open(ENGINE, {"op": "exec", "argv": ["cat"], "stdin": True})

    async def write() -> None:
        await stream.send_bulk(FrameKind.STDIN, body)
        await stream.send({"op": "stdin_close"})

    (end, bulk), _ = await asyncio.gather(stream.until("exit"), write())
    assert end["code"] == 0
    assert bulk[FrameKind.STDOUT] == body


async def test_small_inputs_never_run_out_of_credit(host: Host) -> None:
    """Each message's header takes window too: it must come back."""
    stream = host.open(ENGINE, {"op": "exec", "argv": ["wc", "-c"], "stdin": True})
    for _ in range(30_000):
        await stream.send_bulk(FrameKind.STDIN, b"x" * 40)
    await stream.send({"op": "stdin_close"})
    _, bulk = await stream.until("exit")
    assert int(bulk[FrameKind.STDOUT]) == 1_200_000


async def test_input_to_a_command_that_does_not_read_is_dropped(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["true"], "stdin": True})
    await stream.send_bulk(FrameKind.STDIN, bytes(3 << 20))
    assert (await stream.until("exit"))[0]["code"] == 0


async def test_the_environment_is_cleared_but_for_what_was_asked(host: Host) -> None:
    await host.call(op="configure", env={"OWN": "1", "BOTH": "own"})
    _, out, _ = await host.run("env", env={"ASKED": "2", "BOTH": "asked"})
    names = dict(line.split("=", 1) for line in out.decode().splitlines())
    assert names == {
        "PATH": names["PATH"], "TERM": names["TERM"], "OWN": "1", "ASKED": "2", "BOTH": "asked",
    }  # fmt: skip
    await host.call(op="configure", env={})
    assert b"OWN" not in (await host.run("env"))[1]


async def test_the_workspace_is_the_default_folder(host: Host, workspace: Path) -> None:
    assert (await host.run("pwd"))[1].decode().strip() == str(workspace)
    assert (await host.run("pwd", cwd="/tmp"))[1] == b"/tmp\n"


async def test_a_user_by_name_has_a_home(host: Host) -> None:
    _, out, _ = await host.run("sh", "-c", "id -un; echo $HOME $USER", user="nobody", cwd="/")
    assert out.decode().split() == ["nobody", "/nonexistent", "nobody"]


async def test_a_user_by_number_needs_no_name(host: Host) -> None:
    _, out, _ = await host.run("sh", "-c", "id -u; id -g; id -G", user="4711", cwd="/")
    assert out.split() == [b"4711", b"4711", b"4711"] or out.split() == [b"4711", b"4711"]


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        pytest.param({"argv": ["/no/such/program"]}, 3, id="no program"),
        pytest.param({"argv": ["no-such-program"]}, 3, id="no program on PATH"),
        pytest.param({"argv": ["/etc/passwd"]}, 1, id="not executable"),
        pytest.param({"argv": ["true"], "cwd": "/no/such/folder"}, 3, id="no cwd"),
        pytest.param({"argv": ["true"], "cwd": "/etc/passwd"}, 1, id="cwd is a file"),
        pytest.param({"argv": []}, 1, id="empty argv"),
        pytest.param({"argv": "true"}, 1, id="argv is no list"),
        pytest.param({"argv": ["a\0b"]}, 1, id="NUL in argv"),
        pytest.param({"argv": ["true"], "env": {"A=B": "c"}}, 1, id="= in a name"),
        pytest.param({"argv": ["true"], "env": {"A": 1}}, 1, id="a number as a value"),
        pytest.param({"argv": ["true"], "timeout_ms": "soon"}, 1, id="timeout is no number"),
        pytest.param({"argv": ["true"], "user": "no-such-user"}, 1, id="no user"),
        pytest.param({"argv": ["true"], "tty": {"cols": 0, "rows": 1}}, 1, id="no columns"),
    ],
)
async def test_what_cannot_be_started_says_why(host: Host, fields: Json, status: int) -> None:
    answer = await host.call(op="exec", **fields)
    assert (answer["type"], answer["status"]) == ("error", status)
    assert answer["message"]


async def test_without_a_workspace_there_is_no_default_folder(host: Host, workspace: Path) -> None:
    workspace.rename(workspace.with_name("elsewhere"))
    try:
        assert (await host.call(op="exec", argv=["true"]))["status"] == 9
        assert (await host.call(op="stat", path=f"{workspace}/x"))["status"] == 9
    finally:
        workspace.with_name("elsewhere").rename(workspace)


async def test_a_timeout_kills_what_left_the_group_too(host: Host, workspace: Path) -> None:
    script = "setsid sh -c 'echo $$ > pid; exec sleep 4711' & sleep 4711"
    end, _, _ = await host.run("sh", "-c", script, timeout_ms=700)
    assert (end["timed_out"], end["signal"]) == (True, 9)
    await gone(int((workspace / "pid").read_text()))


async def test_crossing_the_output_cap_kills_and_says_so(host: Host) -> None:
    end, out, err = await host.run("sh", "-c", "echo e >&2; exec yes", max_output=100_000)
    assert (end["truncated"], end["signal"], len(out), err) == (True, 9, 100_000, b"e\n")
    assert end["out_total"] > 100_000


async def test_exactly_the_cap_is_not_truncated(host: Host) -> None:
    end, out, _ = await host.run("head", "-c", "1000", "/dev/zero", max_output=1000)
    assert (end["truncated"], end["code"], len(out)) == (False, 0, 1000)


async def test_heads_are_cut_and_totals_are_true(host: Host) -> None:
    script = "head -c 100000 /dev/zero; head -c 50000 /dev/zero >&2"
    end, out, err = await host.run("sh", "-c", script, head_out=32768, head_err=0)
    assert (len(out), len(err)) == (32768, 0)
    assert (end["out_total"], end["err_total"], end["truncated"]) == (100_000, 50_000, False)


async def test_output_larger_than_every_window_arrives(host: Host) -> None:
    size = 5 << 20
    end, out, _ = await host.run("head", "-c", str(size), "/dev/zero", max_output=size)
    assert (end["out_total"], len(out)) == (size, size)


async def test_a_silent_reader_holds_back_its_own_command_only(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["yes"], "max_output": 1 << 40})
    assert (await stream.control())["type"] == "started"
    _, out, _ = await host.run("echo", "other")
    assert out == b"other\n"
    stream.reset()


async def test_what_holds_the_pipes_open_is_killed_after_the_drain(
    host: Host, workspace: Path
) -> None:
    script = "sleep 4711 & echo $! > pid; echo done; exit 5"
    end, out, _ = await host.run("sh", "-c", script)
    assert (end["code"], out) == (5, b"done\n")
    await gone(int((workspace / "pid").read_text()))


async def test_what_was_left_running_on_purpose_lives_on(host: Host, workspace: Path) -> None:
    script = "sleep 4711 >/dev/null 2>&1 & echo $! > pid"
    await host.run("sh", "-c", script)
    pid = int((workspace / "pid").read_text())
    os.kill(pid, 9)
    await gone(pid)


async def test_a_reset_kills_the_command(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["sleep", "4711"]})
    pid = (await stream.control())["pid"]
    stream.reset()
    await gone(pid)


async def test_a_new_epoch_kills_commands_of_the_old_one(host: Host) -> None:
    stream = host.open(ENGINE, {"op": "exec", "argv": ["sleep", "4711"]})
    pid = (await stream.control())["pid"]
    await host.greet(resync=True)
    await gone(pid)


async def test_a_signal_reaches_the_group(host: Host) -> None:
    script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    stream = host.open(ENGINE, {"op": "exec", "argv": ["sh", "-c", script]})
    await stream.control()
    assert await stream.receive() == (FrameKind.STDOUT, b"ready\n")
    await stream.send({"op": "signal", "signal": 15})
    end, bulk = await stream.until("exit")
    assert (end["code"], bulk[FrameKind.STDOUT]) == (3, b"caught\n")


async def test_a_terminal_has_its_size_and_takes_another(host: Host) -> None:
    script = "stty size; read line; stty size; tty; echo got $line"
    fields = {"argv": ["sh", "-c", script], "tty": {"cols": 100, "rows": 30}}
    stream = host.open(ENGINE, {"op": "exec", **fields})
    await stream.control()
    assert b"30 100" in (await stream.receive() or (0, b""))[1]
    await stream.send({"op": "resize", "cols": 90, "rows": 20})
    await stream.send_bulk(FrameKind.STDIN, b"word\n")
    end, bulk = await stream.until("exit")
    assert end["code"] == 0
    text = bulk[FrameKind.STDOUT]
    assert b"20 90" in text
    assert b"/dev/pts/" in text
    assert b"got word" in text


async def test_a_terminal_is_the_controlling_one(host: Host) -> None:
    fields = {"argv": ["sh", "-c", "exec sleep 4711"], "tty": {"cols": 80, "rows": 24}}
    stream = host.open(ENGINE, {"op": "exec", **fields})
    await stream.control()
    await stream.send_bulk(FrameKind.STDIN, b"\x03")  # only a controlling terminal interrupts
    end, _ = await stream.until("exit")
    assert end["signal"] == 2


async def test_children_inherit_nothing_and_ignore_nothing(host: Host) -> None:
    script = "ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign)' /proc/self/status; ulimit -n"
    _, out, _ = await host.run("sh", "-c", script)
    files, blocked, ignored, limit = out.decode().splitlines()
    assert int(files) == 4  # ls opens the folder itself
    assert int(blocked.split()[1], 16) == 0
    assert int(ignored.split()[1], 16) & ~_ignored_by_whoever_runs_the_tests() == 0
    assert limit == "1024"


def _ignored_by_whoever_runs_the_tests() -> int:
    """Signals that the agent here was started with: PID 1 of a guest is started with none."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    by_python = 1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1
    return int(fields["SigIgn"], 16) & ~by_python


async def test_orphans_are_reaped_and_owned_children_keep_their_status(
    agent: tuple[AgentProcess, Host], host: Host
) -> None:
    """A burst of orphans that end while commands end: no zombie, no lost code."""
    script = "for i in 1 2 3 4 5; do (sleep 0.0$i &) ; done; exit $0"
    runs = [host.run("sh", "-c", script, str(code)) for code in range(12)]
    ends = await asyncio.gather(*runs)
    assert [end[0]["code"] for end in ends] == list(range(12))
    process = agent[0].process
    assert process is not None
    while children_of(process.pid):
        await asyncio.sleep(0.02)


async def test_many_commands_leave_no_descriptor_and_no_cgroup(
    agent: tuple[AgentProcess, Host], host: Host
) -> None:
    process = agent[0].process
    assert process is not None

    async def files_at_rest() -> int:
        """Descriptors of the agent once its spare cgroups are back to their number."""
        while sum(entry.is_dir() for entry in agent[0].cgroups.iterdir()) != READY:
            await asyncio.sleep(0.05)
        return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))

    await host.run("true")
    before = await files_at_rest()
    for _ in range(5):
        await asyncio.gather(*(host.run("sh", "-c", "echo x; exit 1") for _ in range(8)))
    assert await files_at_rest() == before


def children_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


async def gone(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.02)
