"""`doctor`: what it finds on this host, with and without a daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sandbox.v1 import node_pb2 as pb
from sandbox_cli import host

from tests.cli.conftest import Cli, Serve


def findings(text: str) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in json.loads(text)["findings"]}


def test_it_works_without_a_daemon_and_says_how_to_start_one(cli: Cli) -> None:
    done = cli("doctor", "-o", "json")
    found = findings(done.out)
    assert {"platform", "vmm", "accelerator", "cgroups", "nftables", "disk-space"} <= found.keys()
    assert found["daemon"]["level"] == found["frame-socket"]["level"] == "warning"
    assert "sandbox-engined --config" in found["daemon"]["advice"]
    failed = any(each["level"] == "failed" for each in found.values())
    assert done.code == int(failed)


def test_text_gives_a_line_a_finding(cli: Cli) -> None:
    lines = cli("doctor").out.splitlines()
    assert any(line.startswith("ok    platform") for line in lines)
    assert any(line.startswith("WARN  daemon") for line in lines)


def test_the_daemon_s_own_view_replaces_ours(cli: Cli, grpc_daemon: Serve) -> None:
    told = pb.DiagnoseResponse(
        diagnoses=[
            pb.Diagnosis(
                name="cgroups",
                level=pb.DIAGNOSIS_LEVEL_FAILED,
                found="the daemon cannot write them",
                advice="mount them writable",
            )
        ]
    )
    node = pb.GetNodeInfoResponse(node=pb.NodeInfo(version="0.1.0", accel="tcg"))
    grpc_daemon(node={"GetNodeInfo": lambda *_: node, "Diagnose": lambda *_: told})
    done = cli("doctor", "-o", "json")
    found = findings(done.out)
    assert found["cgroups"]["found"] == "the daemon cannot write them"
    assert found["accelerator"]["found"].startswith("tcg")
    assert found["daemon"]["level"] == "ok"
    assert done.code == 1


def test_a_daemon_without_a_view_of_its_own_leaves_ours(cli: Cli, grpc_daemon: Serve) -> None:
    node = pb.GetNodeInfoResponse(node=pb.NodeInfo(version="0.1.0", accel="kvm"))
    grpc_daemon(node={"GetNodeInfo": lambda *_: node})
    found = findings(cli("doctor", "-o", "json").out)
    assert found["daemon"]["level"] == "ok"
    assert "free in" in found["disk-space"]["found"]


@pytest.mark.parametrize(
    ("controllers", "v1", "level"),
    [
        pytest.param("cpuset cpu io memory pids", [], "ok", id="v2"),
        pytest.param("", ["cpu", "memory"], "warning", id="v1"),
        pytest.param(None, [], "warning", id="none"),
    ],
)
def test_cgroups_are_told_apart(
    tmp_path: Path, controllers: str | None, v1: list[str], level: str
) -> None:
    if controllers is not None:
        (tmp_path / "cgroup.controllers").write_text(controllers)
    for name in v1:
        (tmp_path / name).mkdir()
    assert host.cgroups(tmp_path).level == level


def test_disk_space_is_that_of_the_nearest_existing_folder(tmp_path: Path) -> None:
    assert str(tmp_path) in host.disk_space(tmp_path / "not" / "there" / "yet").found
