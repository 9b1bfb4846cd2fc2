"""Real guests behind the node API: those that die, those that wait, those that are odd."""

from __future__ import annotations

import base64
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.engine import Engine
from tests.support.node import Node, Relay
from tests.support.wait import until

pytestmark = pytest.mark.vm

MIB = 1 << 20


@pytest.fixture
def api(node: Engine) -> Node:
    return Node(node.config["listen"])


@pytest.fixture
def relay(api: Node, claim: Any) -> Iterator[Relay]:
    made = api.upgrade(claim)
    assert made.status == 101
    yield made
    made.close()


def execute(api: Node, claim: Any, *argv: str, **fields: Any) -> Any:
    path = f"/v1/sandboxes/{claim['id']}/exec"
    return api.request("POST", path, {"argv": list(argv)} | fields, token=claim["token"])


def kill_vmm(node: Engine, claim: Any) -> None:
    """The VMM of a claim, by its working folder."""
    folder = node.data / "vms" / ("vm-" + claim["id"].removeprefix("sb_"))
    for pid in node.vmm_pids():
        if os.readlink(f"/proc/{pid}/cwd") == str(folder):
            os.kill(pid, signal.SIGKILL)


def test_exec_has_the_guests_streams_and_code(api: Node, claim: Any) -> None:
    answer = execute(api, claim, "sh", "-c", "printf 'o\\377'; echo e >&2; exit 9", cwd="/tmp")
    assert answer.json == {"exit_code": 9, "stdout": "o�", "stderr": "e\n"}
    assert execute(api, claim, "sh", "-c", "echo $CI", env={"CI": "1"}).json["stdout"] == "1\n"


@pytest.mark.parametrize(
    ("argv", "fields"),
    [
        (["/no/such/program"], {}),
        (["/etc/passwd"], {}),
        (["true"], {"cwd": "/no/such/folder"}),
    ],
)
def test_what_cannot_be_started_is_the_callers_fault(
    api: Node, claim: Any, argv: list[str], fields: Any
) -> None:
    assert execute(api, claim, *argv, **fields).status == 400


def test_nothing_runs_on_behind_a_504(api: Node, claim: Any) -> None:
    script = "sleep 4712 & sleep 4712"
    assert execute(api, claim, "sh", "-c", script, timeout_seconds=1).status == 504
    left = execute(api, claim, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").json
    assert "sleep 4712" not in left["stdout"]


def test_nothing_runs_on_behind_a_413(api: Node, claim: Any) -> None:
    assert execute(api, claim, "sh", "-c", "cat /dev/zero").status == 413
    left = execute(api, claim, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").json
    assert "/dev/zero" not in left["stdout"]


def test_a_silent_command_dies_with_its_relay(api: Node, claim: Any) -> None:
    relay = api.upgrade(claim)
    relay.send(op="exec", argv=["sleep", "4713"])
    assert relay.frame()["type"] == "started"
    relay.close()

    def gone() -> bool:
        left = execute(api, claim, "sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").json
        return "sleep 4713" not in left["stdout"]

    until(gone)


@pytest.mark.parametrize("during", ["idle", "exec", "push", "pull", "port"])
def test_a_guest_that_dies_ends_what_was_going_on(node: Engine, api: Node, during: str) -> None:
    claim = api.claim("base", size="tiny")
    relay = _busy(api, claim, during)
    kill_vmm(node, claim)
    while relay.read(65536):  # what had been said, then the end
        pass
    relay.close()
    path = f"/v1/sandboxes/{claim['id']}"
    until(lambda: "failed" in api.request("GET", path).json)
    assert execute(api, claim, "true").status == 409
    api.release(claim)


def _busy(api: Node, claim: Any, during: str) -> Relay:
    if during == "port":
        relay = api.upgrade(claim)
        relay.send(op="exec", argv=["python3", "-m", "http.server", "8091"], detach=True)
        assert relay.frame()["type"] == "started"
        relay.close()
        until(lambda: _reaches(api, claim, 8091))
        return api.upgrade(claim, "ports/8091")
    relay = api.upgrade(claim)
    match during:
        case "exec":
            relay.send(op="exec", argv=["sleep", "600"])
            assert relay.frame()["type"] == "started"
        case "push":
            relay.send(op="fs_push", dest="/tmp/x")
            relay.send(op="data", data=base64.b64encode(bytes(MIB)).decode())
        case "pull":
            relay.send(op="fs_pull", path="/usr/bin")
            assert relay.frame()["type"] == "data"
    return relay


def _reaches(api: Node, claim: Any, port: int) -> bool:
    probe = api.upgrade(claim, f"ports/{port}")
    probe.close()
    return probe.status == 101


def test_a_port_speaks_whatever_its_server_speaks(api: Node, claim: Any) -> None:
    server = (
        "import socket\n"
        "s = socket.create_server(('127.0.0.1', 8092))\n"
        "while True:\n"
        "    c, _ = s.accept()\n"
        "    c.sendall(b'hello '); c.shutdown(socket.SHUT_WR)\n"
        "    data = b''\n"
        "    while piece := c.recv(65536): data += piece\n"
        "    open('/tmp/got', 'wb').write(data); c.close()\n"
    )
    starter = api.upgrade(claim)
    starter.send(op="exec", argv=["python3", "-c", server], detach=True)
    assert starter.frame()["type"] == "started"
    starter.close()
    until(lambda: _reaches(api, claim, 8092))
    relay = api.upgrade(claim, "ports/8092", early=b"early and ")
    assert relay.read() == b"hello "  # its half is closed, ours is not
    relay.socket.sendall(b"late")
    relay.shut()
    assert relay.socket.recv(1) == b""
    relay.close()
    until(lambda: execute(api, claim, "cat", "/tmp/got").json["stdout"] == "early and late")


def test_a_slow_reader_slows_its_command_and_nobody_else(
    node: Engine, api: Node, claim: Any, relay: Relay
) -> None:
    before = _rss_kib(node.pid)
    relay.send(op="exec", argv=["sh", "-c", "head -c 200000000 /dev/zero; echo end >&2"])
    assert relay.frame()["type"] == "started"
    other = api.upgrade(claim)
    for _ in range(20):
        other.send(op="info")
        assert other.frame()["type"] == "info"
    other.close()
    assert _rss_kib(node.pid) - before < 16 << 10
    size = 0
    while (frame := relay.frame())["type"] != "exit":
        if frame["type"] == "stdout":
            size += len(base64.b64decode(frame["data"]))
    assert (size, frame["code"]) == (200_000_000, 0)


def _rss_kib(pid: int) -> int:
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def test_a_claim_of_another_size_is_booted_with_it(api: Node) -> None:
    claim = api.claim("base", size="medium")
    answer = execute(api, claim, "sh", "-c", "nproc; grep MemTotal /proc/meminfo; date +%s").json
    cpus, memory, now = answer["stdout"].splitlines()
    assert cpus == "2"
    assert 900_000 < int(memory.split()[1]) < 1_100_000
    assert abs(int(now) - int(execute(api, claim, "date", "+%s").json["stdout"])) < 60
    names = execute(api, claim, "cat", "/etc/hostname", "/etc/machine-id").json["stdout"].split()
    assert len(names[-1]) == 32
    api.release(claim)


def test_variables_of_the_claim_are_every_commands(api: Node) -> None:
    claim = api.claim("base", size="tiny", env={"MODE": {"value": "prod é"}})
    assert execute(api, claim, "sh", "-c", "echo $MODE").json["stdout"] == "prod é\n"
    relay = api.upgrade(claim)
    relay.send(op="exec", argv=["sh", "-c", "echo $MODE"])
    relay.send(op="stdin_close")
    assert relay.frame()["type"] == "started"
    assert base64.b64decode(relay.frame()["data"]).decode() == "prod é\n"
    relay.close()
    api.release(claim)
