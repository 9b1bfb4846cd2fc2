"""`sandbox-cli` against a live engine: the seed's JSON lines and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.engine import Engine

pytestmark = pytest.mark.vm


def start(made: Engine, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox_cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=os.environ
        | {
            "SANDBOX_SOCKET": str(made.engine_socket),
            "SANDBOX_GRPC_SOCKET": str(made.grpc_socket),
        },
    )


def cli(made: Engine, *words: str) -> tuple[int, str, str]:
    process = start(made, *words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def events(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines() if line.startswith('{"event"')]


def test_run_exec_prints_the_seeds_lines_and_the_scripts_status(shared_engine: Engine) -> None:
    status, out, err = cli(
        shared_engine,
        "run",
        "--template",
        "base",
        "--wait",
        "60000",
        "--exec",
        "echo hello; exit 3",
    )
    assert status == 3, err
    created, done = events(out)
    assert created["event"] == "created"
    assert isinstance(created["sandbox_id"], int)
    assert done["event"] == "exec"
    assert done["exit_code"] == 3
    assert "hello\n" in out


def test_the_first_non_zero_status_wins(shared_engine: Engine) -> None:
    scripts = ("true", "exit 4", "exit 5")
    words = [word for script in scripts for word in ("--exec", script)]
    status, out, _ = cli(shared_engine, "run", "--template", "base", "--wait", "60000", *words)
    assert status == 4
    assert [event["exit_code"] for event in events(out)[1:]] == [0, 4, 5]


def test_two_runs_are_two_machines_at_the_present_time(shared_engine: Engine) -> None:
    script = "cat /etc/machine-id; head -c8 /dev/urandom | od -An -tx1; date +%s"
    runs = []
    for _ in range(2):
        before = int(time.time())
        status, out, err = cli(
            shared_engine, "run", "--template", "base", "--wait", "60000", "--exec", script
        )
        assert status == 0, err
        lines = [line for line in out.splitlines() if not line.startswith("{")]
        assert before - 1 <= int(lines[2]) <= int(time.time()) + 1
        runs.append(lines)
    assert runs[0][0] != runs[1][0]
    assert runs[0][1] != runs[1][1]


def test_run_holds_the_sandbox_until_it_is_told_to_stop(shared_engine: Engine) -> None:
    process = start(shared_engine, "run", "--template", "base", "--wait", "60000")
    assert process.stdout is not None
    created = json.loads(process.stdout.readline())
    assert created["event"] == "created"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    process.communicate()


def test_an_unknown_template_is_1_and_says_what_to_do(shared_engine: Engine) -> None:
    status, _, err = cli(shared_engine, "run", "--template", "nosuch", "--exec", "true")
    assert status == 1
    assert "template build" in err


def test_verify_is_0_for_a_good_template_and_1_for_none(shared_engine: Engine) -> None:
    assert cli(shared_engine, "verify", "--template", "base")[0] == 0
    status, _, err = cli(shared_engine, "verify", "--template", "nosuch")
    assert status == 1
    assert "nosuch" in err


def test_templates_and_node_answer_in_json(shared_engine: Engine) -> None:
    status, out, err = cli(shared_engine, "template", "list", "--output", "json")
    assert status == 0, err
    assert "base" in out
    json.loads(out)
    status, out, err = cli(shared_engine, "node", "info", "--output", "json")
    assert status == 0, err
    assert json.loads(out)


def test_doctor_names_the_accelerator(shared_engine: Engine) -> None:
    _, out, _ = cli(shared_engine, "doctor")
    assert "tcg" in out.lower() or "kvm" in out.lower()
