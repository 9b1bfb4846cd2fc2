"""`doctor`: what works on this host, what is missing, what to do."""

from __future__ import annotations

import socket as sockets
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sandbox_cli import options, show
from sandbox_cli.failures import Failure, unreachable
from sandbox_cli.host import Finding, Level, examine
from sandbox_cli.rpc import connected

DATA_DIR = "/var/lib/sandbox-engine"
if TYPE_CHECKING:
    from sandbox.v1 import node_pb2 as pb

MARKS: dict[Level, str] = {"ok": "ok", "warning": "WARN", "failed": "FAIL"}
DAEMON_TIMEOUT_S = 15.0


@click.command(epilog=options.examples("sandbox-cli doctor", "sandbox-cli doctor -o json"))
@click.option(
    "--data-dir",
    metavar="PATH",
    default=DATA_DIR,
    show_default=True,
    help="Where the daemon keeps its templates.",
)
@options.frame_socket
@options.over_grpc
def doctor(data_dir: str, socket: str, grpc_socket: str, output: str) -> int:
    """Check this host: what works, what is missing, what to do about it.

    Works without the daemon; where it runs, its own view of the host is shown.  Exits with
    1 if something that the engine cannot do without is missing.
    """
    findings = {each.name: each for each in examine(Path(data_dir))}
    findings |= {each.name: each for each in (_frames(socket), *_daemon(grpc_socket))}
    failed = any(each.level == "failed" for each in findings.values())
    if output == "json":
        show.json_document({"ok": not failed, "findings": [asdict(f) for f in findings.values()]})
    else:
        _show(list(findings.values()))
    return 1 if failed else 0


def _show(findings: list[Finding]) -> None:
    width = max(len(each.name) for each in findings)
    for each in findings:
        click.echo(f"{MARKS[each.level]:4}  {each.name.ljust(width)}  {each.found}")
        if each.advice:
            click.echo(f"{'':4}  {'':{width}}  -> {each.advice}")


def _frames(path: str) -> Finding:
    with sockets.socket(sockets.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            return _absent("frame-socket", unreachable(path, "--socket", error))
    return Finding(name="frame-socket", level="ok", found=f"the daemon listens on {path}")


def _absent(name: str, problem: Failure) -> Finding:
    return Finding(name=name, level="warning", found=problem.message, advice=problem.hint)


def _daemon(path: str) -> list[Finding]:
    """What the daemon says of itself and of its host."""
    from sandbox.v1 import node_pb2 as pb
    from sandbox.v1 import node_pb2_grpc as pb_grpc

    try:
        with connected(path) as channel:
            stub = pb_grpc.NodeServiceStub(channel)
            info = stub.GetNodeInfo(pb.GetNodeInfoRequest(), timeout=DAEMON_TIMEOUT_S)
    except Failure as problem:
        return [_absent("daemon", problem)]
    node = info.node
    findings = [
        Finding(name="daemon", level="ok", found=f"version {node.version} answers on {path}"),
        Finding(name="accelerator", level="ok", found=f"{node.accel}, as the daemon decided"),
    ]
    try:
        with connected(path) as channel:
            stub = pb_grpc.NodeServiceStub(channel)
            told = stub.Diagnose(pb.DiagnoseRequest(), timeout=DAEMON_TIMEOUT_S)
    except Failure:
        return findings  # a daemon without a view of its own; ours stands
    return findings + [_finding(each) for each in told.diagnoses]


def _finding(diagnosis: pb.Diagnosis) -> Finding:
    from sandbox.v1 import node_pb2 as pb

    levels: dict[int, Level] = {
        pb.DIAGNOSIS_LEVEL_OK: "ok",
        pb.DIAGNOSIS_LEVEL_WARNING: "warning",
        pb.DIAGNOSIS_LEVEL_FAILED: "failed",
    }
    return Finding(
        name=diagnosis.name,
        level=levels.get(diagnosis.level, "warning"),
        found=diagnosis.found,
        advice=diagnosis.advice,
    )
