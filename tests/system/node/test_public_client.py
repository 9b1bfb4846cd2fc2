"""The API's public client, which nobody here wrote, against a real node.

Its tests live beside this repository (`CONFORMANCE_DIR`); without them there is nothing
to run, which `make test` says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.engine import ROOT as REPOSITORY
from tests.support.engine import Engine
from tests.support.node import ROOT, Node

pytestmark = pytest.mark.vm

FOLDER = REPOSITORY / os.environ.get("CONFORMANCE_DIR", "../shared/conformance")
SUITE = FOLDER / "test_node_client.py"


def run(node: Engine, template: str, marks: str, size: str, **env: str) -> None:
    """Run the tests with these marks; their output is ours."""
    status = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-q", "-rA", "-c", str(FOLDER / "pytest.ini"),
            "-p", "no:cacheprovider", "-m", marks, str(SUITE),
        ],
        env=os.environ
        | {
            "SANDBOXD_ADDR": node.config["listen"],
            "SANDBOXD_TOKEN": ROOT,
            "SANDBOXD_TEMPLATE": template,
            "SANDBOXD_SIZE": size,
            "PYTHONDONTWRITEBYTECODE": "1",
            **env,
        },
        cwd=Path("/"),
        check=False,
    ).returncode  # fmt: skip
    assert status == 0, f"the node's log ends with:\n{node.tail()}"


def test_the_core_of_the_api(node: Engine, base_template: str) -> None:
    if SUITE.exists():
        run(node, base_template, "core", "tiny")


def test_the_rest_of_one_node(node: Engine, base_template: str) -> None:
    if not SUITE.exists():
        return
    token = "tenant-token"
    api = Node(node.config["listen"])
    assert api.request("PUT", "/v1/tenants/acme", {"token": token}).status == 204
    run(node, base_template, "preview or tenants", "tiny", SANDBOXD_TENANT_TOKEN=token)
    assert api.request("DELETE", "/v1/tenants/acme").status == 204


def test_saved_states(node: Engine, base_template: str) -> None:
    if SUITE.exists():
        run(node, base_template, "snapshots", "tiny")
