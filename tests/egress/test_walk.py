"""The operator's walk of docs/egress.md, typed as it stands."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from string import Template

import pytest
from sandbox_engine.network.links import KernelLinks

from tests.broker.world import make_ca
from tests.docs.conftest import FENCED, ROOT
from tests.docs.test_transcripts import Shell, agrees, typed
from tests.egress.registry import Files, make_index
from tests.support.engine import CACHE, OURS, SHARED, build_template, end_processes_below
from tests.support.node import free_port

pytestmark = [pytest.mark.vm, pytest.mark.beside]
PAGE = ROOT / "docs/egress.md"
INDEX = "index.example"


@pytest.fixture(scope="module")
def locked_template() -> str:
    """What the walk builds, built before: the walk then finds every step done."""
    build_template(
        "locked",
        "debian:bookworm",
        include=["python3-pip"],
        memory_mib=256,
        vcpus=1,
        disk_mib=1024,
    )
    return "locked"


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix=OURS, dir="/tmp"))
    made.chmod(0o755)
    yield made
    end_processes_below(made)
    table = KernelLinks(made / "data", 0).table
    subprocess.run(["nft", "delete", "table", "netdev", table], capture_output=True, check=False)
    shutil.rmtree(made, ignore_errors=True)


def test_the_walk_from_nothing_to_pip_install(locked_template: str, folder: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    served, etc = folder / "served", folder / "etc"
    for each in (served, etc, folder / "run", folder / "data"):
        each.mkdir()
        each.chmod(0o755)
    for name in SHARED:
        (folder / "data" / name).symlink_to(CACHE / name)
    root, pem = make_ca(folder)
    make_index(served)
    files = Files(served, pem, "127.0.0.1")
    names = {
        "ETC": str(etc),
        "RUN": str(folder / "run"),
        "DATA": str(folder / "data"),
        "NODE": f"127.0.0.1:{free_port()}",
        "TOKEN": "root-token",
        "BROKER": nobody.pw_name,
        "BROKER_UID": str(nobody.pw_uid),
        "BROKER_PORT": str(free_port()),
        "INDEX": INDEX,
        "INDEX_PORT": str(files.port),
    }
    upstream = {  # which an operator's own host name service and roots say
        "SANDBOX_BROKER_RESOLVE": f"{INDEX}=127.0.0.1",
        "SANDBOX_BROKER_INTERNAL_ALLOW": "127.0.0.0/8",
        "SANDBOX_BROKER_UPSTREAM_CA": str(root),
        "SANDBOX_BROKER_METRICS": "127.0.0.1:0",
        "SANDBOX_GRPC_SOCKET": str(folder / "run" / "grpc.sock"),
    }
    blocks = {found["info"]: found["body"] for found in FENCED.finditer(PAGE.read_text())}
    (etc / "engine.toml").write_text(Template(blocks["toml walk"]).substitute(names))
    shell = Shell(os.environ | names | upstream, folder)
    try:
        for found in FENCED.finditer(PAGE.read_text()):
            if found["info"] == "console walk":
                for command, expected in typed(found["body"]):
                    printed = shell.type(command)
                    assert agrees(expected, printed), f"$ {command}\n{printed}"
    finally:
        shell.close()
        files.close()
    assert ("/simple/tinypackage/", "Bearer secret-of-the-index") in files.seen
