"""`create`, `ls`, `inspect`, `pause`, `resume`, `destroy` and `node` over scripted gRPC."""

from __future__ import annotations

import json
import re
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2
from sandbox.v1 import node_pb2
from sandbox.v1 import sandboxes_pb2 as pb

from tests.cli.conftest import Cli, Serve, refuse

ONE = pb.Sandbox(
    id="sb_one",
    number=7,
    state=pb.SANDBOX_STATE_RUNNING,
    template="base",
    memory_mib=512,
    vcpu_count=1,
    metadata={"job": "42"},
)


def answering(reply: Any, seen: list[Any]) -> Any:
    def method(request: Any, _: grpc.ServicerContext) -> Any:
        seen.append(request)
        return reply

    return method


def facts(text: str) -> dict[str, str]:
    return dict(re.split(r"\s{2,}", line, maxsplit=1) for line in text.splitlines() if line)


def test_create_prints_the_id_alone(cli: Cli, grpc_daemon: Serve) -> None:
    seen: list[pb.CreateSandboxRequest] = []
    reply = pb.CreateSandboxResponse(sandbox=ONE)
    grpc_daemon(sandboxes={"CreateSandbox": answering(reply, seen)})
    flags = ["--ttl", "60", "--wait", "0.5", "--env", "A=1", "--label", "job=42"]
    assert cli("create", "--template", "base", *flags).out == "sb_one\n"
    assert seen[0].ttl.seconds == 60
    assert seen[0].pool_wait.ToMilliseconds() == 500
    assert seen[0].env["A"].value == "1"
    assert seen[0].metadata["job"] == "42"


def test_ls_is_a_table_or_json(cli: Cli, grpc_daemon: Serve) -> None:
    seen: list[pb.ListSandboxesRequest] = []
    reply = pb.ListSandboxesResponse(sandboxes=[ONE])
    grpc_daemon(sandboxes={"ListSandboxes": answering(reply, seen)})
    header, row = cli("ls", "--label", "job=42").out.splitlines()
    assert header.split()[:3] == ["ID", "NUMBER", "STATE"]
    assert re.split(r"\s{2,}", row)[:6] == ["sb_one", "7", "running", "base", "512 MiB", "1"]
    assert dict(seen[0].metadata) == {"job": "42"}
    (only,) = json.loads(cli("ls", "-o", "json").out)["sandboxes"]
    assert (only["id"], only["number"], only["state"]) == ("sb_one", 7, "SANDBOX_STATE_RUNNING")


def test_inspect_shows_what_the_kernel_counts(cli: Cli, grpc_daemon: Serve) -> None:
    reply = pb.InspectSandboxResponse(
        sandbox=ONE, running=True, memory_rss_bytes=48 * 1024 * 1024, page_faults=1234
    )
    reply.uptime.FromSeconds(3900)
    grpc_daemon(sandboxes={"InspectSandbox": answering(reply, [])})
    shown = facts(cli("inspect", "sb_one").out)
    assert shown["resident"] == "48.0 MiB"
    assert shown["uptime"] == "1h 5m"
    assert shown["expires"] == "with its session"
    assert shown["labels"] == "job=42"
    assert json.loads(cli("inspect", "sb_one", "-o", "json").out)["page_faults"] == "1234"


@pytest.mark.parametrize(
    ("command", "method", "reply", "line"),
    [
        ("pause", "PauseSandbox", pb.PauseSandboxResponse(sandbox=ONE), "sb_one: running\n"),
        ("resume", "ResumeSandbox", pb.ResumeSandboxResponse(sandbox=ONE), "sb_one: running\n"),
        ("destroy", "DestroySandbox", pb.DestroySandboxResponse(), "sb_one: destroyed\n"),
    ],
)
def test_a_change_names_the_sandbox_and_how_it_stands(
    cli: Cli, grpc_daemon: Serve, command: str, method: str, reply: Any, line: str
) -> None:
    seen: list[Any] = []
    grpc_daemon(sandboxes={method: answering(reply, seen)})
    assert cli(command, "sb_one").out == line
    assert seen[0].sandbox_id == "sb_one"
    assert cli(command, "sb_one", "-o", "json").out.startswith("{")


def test_a_conflict_is_told_in_the_engine_s_words(cli: Cli, grpc_daemon: Serve) -> None:
    def pause(_: object, context: grpc.ServicerContext) -> None:
        message = "cannot pause a sandbox that is failed"
        refuse(context, code_pb2.FAILED_PRECONDITION, "STATE_CONFLICT", message)

    grpc_daemon(sandboxes={"PauseSandbox": pause})
    done = cli("pause", "sb_one")
    assert done.code == 1
    assert done.err == "error: cannot pause a sandbox that is failed [STATE_CONFLICT]\n"


def test_a_call_that_the_daemon_does_not_know_names_the_version(
    cli: Cli, grpc_daemon: Serve
) -> None:
    grpc_daemon(sandboxes={})
    done = cli("ls")
    assert done.code == 1
    assert "does not serve" in done.err


def test_node_info_shows_node_and_pools(cli: Cli, grpc_daemon: Serve) -> None:
    pool = node_pb2.Pool(
        config=node_pb2.PoolConfig(template="base", warm=4), ready=3, target=4, hits=9, misses=1
    )
    node = node_pb2.NodeInfo(version="0.1.0", accel="tcg", sandboxes=2, pools=[pool])
    reply = node_pb2.GetNodeInfoResponse(node=node)
    grpc_daemon(node={"GetNodeInfo": answering(reply, [])})
    text = cli("node", "info").out
    assert "accelerator  tcg" in text
    assert re.search(r"base\s+3\s+0\s+4\s+9\s+1", text)
    assert json.loads(cli("node", "info", "-o", "json").out)["pools"][0]["ready"] == 3
