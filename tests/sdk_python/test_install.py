"""The wheel in an environment of its own, where nothing of the engine is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import importlib.metadata, importlib.util, pathlib
import sandbox_sdk
from sandbox_sdk import AsyncClient, Client, errors
folder = pathlib.Path(sandbox_sdk.__file__).parent
assert "site-packages" in folder.parts, folder
assert (folder / "py.typed").is_file()
for name in ("sandbox_engine", "sandbox_guest", "sandbox_cli", "grpc_status", "msgspec"):
    assert importlib.util.find_spec(name) is None, name
try:
    Client("/nowhere").create("base", pool_wait_s=0)
except errors.ConnectionLost:
    print("connection lost, as it should be", importlib.metadata.version("sandbox-sdk"))
"""


def run(*words: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_installs_alone(tmp_path: Path) -> None:
    uv, wheels, place = ROOT / ".tools/bin/uv", tmp_path / "wheels", tmp_path / "venv"
    for member in ("sdk/python/gen", "sdk/python"):
        run(sys.executable, "-c", BUILD, ROOT / member, wheels)
    run(uv, "venv", "-q", "--python", sys.executable, place)
    # The packages it asks for, at our pins, from what set-up has brought.
    ours = sorted(wheels.glob("*.whl"))
    pins = ("--constraints", ROOT / "constraints.txt")
    run(uv, "pip", "install", "-q", "--offline", *pins, "--python", place, *ours)
    assert "connection lost" in run(place / "bin/python", "-c", PROGRAM)


BUILD = """
import os, pathlib, sys
from hatchling import build
os.chdir(sys.argv[1])
pathlib.Path(sys.argv[2]).mkdir(exist_ok=True)
build.build_wheel(sys.argv[2])
"""
