"""The annotated example is a configuration, and says the truth about the defaults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
from sandbox_engine.config import Config, load

EXAMPLE = Path(__file__).parents[3] / "examples" / "sandbox-engine.toml"


def test_the_daemon_accepts_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_engine", "--config", str(EXAMPLE), "--check-config"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "the configuration is valid\n"), done.stderr


def test_what_is_commented_out_is_the_default() -> None:
    lines = EXAMPLE.read_text().split("[[pools]]")[0].splitlines()
    stated = [
        line.removeprefix("# ").split("   #")[0]
        for line in lines
        if line.startswith("# ") and " = " in line and "grpc_listen" not in line
        if "grpc_tokens" not in line
    ]
    assert len(stated) >= 8
    defaults = msgspec.structs.asdict(Config())
    for name, value in msgspec.toml.decode("\n".join(stated)).items():
        assert defaults[name] == value, name


def test_an_unknown_key_is_refused_by_name(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('lissten = "127.0.0.1:1"\n')
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_engine", "--config", str(wrong), "--check-config"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "lissten" in done.stderr


def test_the_example_pool_is_read() -> None:
    (pool,) = load(EXAMPLE).pools
    assert (pool.template, pool.size, pool.warm) == ("base", "tiny", 2)
