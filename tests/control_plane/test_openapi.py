"""The OpenAPI document says what the API does: schemathesis tries it, and the copy is current."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sandbox_api import openapi
from sandbox_api.calls import ROUTES

from tests.control_plane.world import Plane, begin
from tests.support.engine import ROOT

COPY = ROOT / "docs" / "control-plane.openapi.json"


def test_the_copy_in_docs_is_the_generated_one() -> None:
    assert COPY.read_bytes() == openapi.text(), "run `make codegen`"


def test_the_command_line_prints_it() -> None:
    words = [sys.executable, "-m", "sandbox_api", "openapi"]
    assert subprocess.check_output(words) == openapi.text()


def test_every_endpoint_is_in_it() -> None:
    paths = openapi.document()["paths"]
    found = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert found == {(route.method, route.path) for route in ROUTES}


async def test_the_api_serves_it(world: Plane) -> None:
    answer = await world.call("GET", "/v1/openapi.json")
    assert answer.json == json.loads(openapi.text())


async def test_schemathesis_finds_nothing(world: Plane, tmp_path: Path) -> None:
    import asyncio

    session = await world.open(key="k")
    config = tmp_path / "schemathesis.toml"
    # A schema cannot say that `command` and `argv` exclude each other, nor that 1.0 is no whole
    # number here.
    config.write_text(
        f'[parameters]\n"path.id" = "{session.rpartition("/")[2]}"\n'
        "[checks]\npositive_data_acceptance.enabled = false\n"
    )
    words = [
        str(Path(sys.executable).parent / "st"), "--config-file", str(config), "run",
        f"http://127.0.0.1:{world.port}/v1/openapi.json", "-H", "Authorization: Bearer one",
        "--phases", "examples,coverage,fuzzing", "--max-examples", "15", "--seed", "1",
        "--exclude-operation-id", "delete_session", "--no-color",
        "--generation-database", "none", "--request-timeout", "20",
    ]  # fmt: skip
    done = await begin(
        asyncio.to_thread(
            subprocess.run, words, capture_output=True, text=True, check=False, cwd=tmp_path
        )
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr
