"""`template` and `verify` against a scripted gRPC daemon."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import code_pb2
from sandbox.v1 import templates_pb2 as pb

from tests.cli.conftest import Cli, Serve, refuse

BASE = pb.Template(
    name="base",
    state=pb.TEMPLATE_STATE_READY,
    digest="sha256:" + "ab" * 32,
    memory_mib=512,
    vcpu_count=1,
    disk_mib=1024,
    source="debian:bookworm",
    size_bytes=300 * 1024 * 1024,
    platform=pb.TemplatePlatform(format=1, vmm="qemu 7.2", kernel="6.1.0", cpu="max"),
)


def build_of(steps: list[pb.BuildProgress], seen: list[pb.BuildTemplateRequest]) -> Any:
    def build(
        request: pb.BuildTemplateRequest, _: grpc.ServicerContext
    ) -> Iterator[pb.BuildTemplateResponse]:
        seen.append(request)
        for step in steps:
            yield pb.BuildTemplateResponse(progress=step)
        yield pb.BuildTemplateResponse(template=BASE)

    return build


STEPS = [
    pb.BuildProgress(step="kernel", index=1, count=2, done=True, cached=True),
    pb.BuildProgress(step="root disk", index=2, count=2, detail="12 packages"),
    pb.BuildProgress(step="root disk", index=2, count=2, fraction=0.5),
    pb.BuildProgress(step="root disk", index=2, count=2, done=True),
]


def test_build_tells_each_step_once_in_plain_lines(cli: Cli, grpc_daemon: Serve) -> None:
    grpc_daemon(templates={"BuildTemplate": build_of(STEPS, [])})
    done = cli("template", "build", "base", "--from", "debian:bookworm")
    assert done.code == 0
    assert done.err.splitlines() == [
        "[1/2] kernel: kept from an earlier build",
        "[2/2] root disk ... (12 packages)",
        "[2/2] root disk: done",
    ]
    assert done.out.startswith("base: ready, sha256:")


def test_build_draws_bars_on_a_terminal(cli: Cli, grpc_daemon: Serve) -> None:
    grpc_daemon(templates={"BuildTemplate": build_of(STEPS, [])})
    ours, theirs = pty.openpty()
    drawn = bytearray()
    with cli.start("template", "build", "b", "--from", "debian:bookworm", stderr=theirs) as process:
        os.close(theirs)
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end of a terminal closed
                break
            drawn += piece
        assert process.wait(60) == 0
    os.close(ours)
    assert b"[2/2] root disk" in drawn
    assert b"\x1b[" in drawn


def test_build_in_json_is_an_event_a_line(cli: Cli, grpc_daemon: Serve) -> None:
    grpc_daemon(templates={"BuildTemplate": build_of(STEPS, [])})
    done = cli("template", "build", "base", "--from", "debian:bookworm", "-o", "json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [each["event"] for each in events] == ["progress"] * 4 + ["template"]
    assert events[0]["cached"] is True
    assert events[-1]["template"]["state"] == "TEMPLATE_STATE_READY"


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param(
            ["--from", "debian:bookworm", "--include", "git,curl", "--include", "jq"],
            pb.BuildTemplateRequest(
                source=pb.TemplateSource(
                    debian=pb.DebianSource(suite="bookworm", include=["git", "curl", "jq"])
                )
            ),
            id="debian",
        ),
        pytest.param(
            ["--from", "tar:/x/root.tar", "--memory", "256", "--vcpus", "2", "--disk", "64"],
            pb.BuildTemplateRequest(
                source=pb.TemplateSource(tar_file="/x/root.tar"),
                memory_mib=256,
                vcpu_count=2,
                disk_mib=64,
            ),
            id="tar",
        ),
        pytest.param(
            ["--from", "dir:rootfs", "--warmup", "sh -c 'echo hi'", "--force", "--volumes"],
            pb.BuildTemplateRequest(
                source=pb.TemplateSource(directory=str(Path.cwd() / "rootfs")),
                warmup=["sh", "-c", "echo hi"],
                force=True,
                volumes=True,
            ),
            id="a relative directory is named absolutely",
        ),
    ],
)
def test_build_flags_reach_the_request(
    cli: Cli, grpc_daemon: Serve, args: list[str], expected: pb.BuildTemplateRequest
) -> None:
    seen: list[pb.BuildTemplateRequest] = []
    grpc_daemon(templates={"BuildTemplate": build_of([], seen)})
    expected = pb.BuildTemplateRequest.FromString(expected.SerializeToString())
    expected.name = "base"
    assert cli("template", "build", "base", *args).code == 0
    assert seen == [expected]


@pytest.mark.parametrize(
    "args",
    [
        pytest.param([], id="no source"),
        pytest.param(["--from", "fedora:40"], id="unknown kind"),
        pytest.param(["--from", "debian:"], id="no suite"),
        pytest.param(["--from", "tar:x", "--include", "git"], id="include without debian"),
        pytest.param(["--from", "debian:x", "--warmup", "'open"], id="open quote"),
        pytest.param(["--from", "debian:x", "--memory", "0"], id="no memory"),
    ],
)
def test_a_wrong_build_line_exits_with_2(cli: Cli, args: list[str]) -> None:
    assert cli("template", "build", "base", *args).code == 2


def test_ctrl_c_cancels_the_build(cli: Cli, grpc_daemon: Serve) -> None:
    cancelled = threading.Event()

    def build(
        _: pb.BuildTemplateRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.BuildTemplateResponse]:
        context.add_callback(cancelled.set)
        yield pb.BuildTemplateResponse(progress=STEPS[0])
        cancelled.wait(60)

    grpc_daemon(templates={"BuildTemplate": build})
    with cli.start("template", "build", "base", "--from", "debian:x") as process:
        assert process.stderr
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 128 + signal.SIGINT
    assert cancelled.wait(60)


def test_a_failed_build_exits_with_1_and_says_what_failed(cli: Cli, grpc_daemon: Serve) -> None:
    def build(
        _: pb.BuildTemplateRequest, context: grpc.ServicerContext
    ) -> Iterator[pb.BuildTemplateResponse]:
        yield pb.BuildTemplateResponse(progress=STEPS[1])
        refuse(context, code_pb2.RESOURCE_EXHAUSTED, "NO_SPACE", "root disk: no space left")

    grpc_daemon(templates={"BuildTemplate": build})
    done = cli("template", "build", "base", "--from", "debian:bookworm")
    assert done.code == 1
    assert "root disk: no space left [NO_SPACE]" in done.err
    assert "hint: free some disk space" in done.err


def test_list_reads_every_page(cli: Cli, grpc_daemon: Serve) -> None:
    def list_templates(
        request: pb.ListTemplatesRequest, _: grpc.ServicerContext
    ) -> pb.ListTemplatesResponse:
        if request.page_token:
            return pb.ListTemplatesResponse(templates=[pb.Template(name="tiny")])
        return pb.ListTemplatesResponse(templates=[BASE], next_page_token="more")

    grpc_daemon(templates={"ListTemplates": list_templates})
    done = cli("template", "list")
    assert done.code == 0
    header, base, tiny = done.out.splitlines()
    assert header.split()[:3] == ["NAME", "STATE", "MEMORY"]
    assert re.split(r"\s{2,}", base)[:5] == ["base", "ready", "512 MiB", "1", "1024 MiB"]
    assert tiny.startswith("tiny")
    names = json.loads(cli("template", "list", "-o", "json").out)["templates"]
    assert [each["name"] for each in names] == ["base", "tiny"]


def test_inspect_shows_what_a_template_is_bound_to(cli: Cli, grpc_daemon: Serve) -> None:
    grpc_daemon(templates={"GetTemplate": lambda *_: pb.GetTemplateResponse(template=BASE)})
    shown = dict(
        re.split(r"\s{2,}", line, maxsplit=1)
        for line in cli("template", "inspect", "base").out.splitlines()
    )
    assert shown["kernel"] == "6.1.0"
    assert shown["size"] == "300 MiB"
    facts = json.loads(cli("template", "inspect", "base", "-o", "json").out)
    assert facts["platform"]["vmm"] == "qemu 7.2"


def test_remove_of_an_unknown_template_fails(cli: Cli, grpc_daemon: Serve) -> None:
    def remove(request: pb.RemoveTemplateRequest, context: grpc.ServicerContext) -> None:
        refuse(context, code_pb2.NOT_FOUND, "TEMPLATE_NOT_FOUND", f"no template {request.name!r}")

    grpc_daemon(templates={"RemoveTemplate": remove})
    done = cli("template", "remove", "gone")
    assert done.code == 1
    assert "no template 'gone' [TEMPLATE_NOT_FOUND]" in done.err


def test_remove_removes(cli: Cli, grpc_daemon: Serve) -> None:
    seen: list[str] = []

    def remove(request: pb.RemoveTemplateRequest, _: object) -> pb.RemoveTemplateResponse:
        seen.append(request.name)
        return pb.RemoveTemplateResponse()

    grpc_daemon(templates={"RemoveTemplate": remove})
    assert cli("template", "remove", "old").out == "old: removed\n"
    assert seen == ["old"]


@pytest.mark.parametrize("output", ["text", "json"])
def test_verify_exits_with_0_where_nothing_differs(
    cli: Cli, grpc_daemon: Serve, output: str
) -> None:
    grpc_daemon(templates={"VerifyTemplate": lambda *_: pb.VerifyTemplateResponse(ok=True)})
    assert cli("verify", "--template", "base", "-o", output).code == 0


@pytest.mark.parametrize("output", ["text", "json"])
def test_verify_exits_with_1_and_what_differs(cli: Cli, grpc_daemon: Serve, output: str) -> None:
    differing = pb.VerifyTemplateResponse(differences=["rootfs.ext4: another SHA-256"])
    grpc_daemon(templates={"VerifyTemplate": lambda *_: differing})
    done = cli("verify", "--template", "base", "-o", output)
    assert done.code == 1
    assert "rootfs.ext4: another SHA-256" in done.out


def test_verify_without_a_template_is_a_usage_error(cli: Cli) -> None:
    assert cli("verify").code == 2


def test_without_a_daemon_it_says_how_to_start_one(cli: Cli) -> None:
    done = cli("template", "list")
    assert done.code == 1
    assert str(cli.grpc) in done.err
    assert "sandbox-engined --config" in done.err
