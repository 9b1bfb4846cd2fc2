"""The service units: valid as `systemd-analyze` sees it, and as hard as they say."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "packaging" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))
UNPRIVILEGED = [FOLDER / "sandbox-api.service", FOLDER / "sandbox-broker.service"]
HARD = {
    "nonewprivileges": "yes",
    "capabilityboundingset": "",
    "protectsystem": "strict",
    "protecthome": "yes",
    "privatetmp": "yes",
    "privatedevices": "yes",
    "restrictnamespaces": "yes",
    "restrictsuidsgid": "yes",
    "memorydenywriteexecute": "yes",
    "lockpersonality": "yes",
}


def service(unit: Path) -> dict[str, str]:
    parser = configparser.ConfigParser(interpolation=None, strict=False, delimiters=("=",))
    parser.read_string(unit.read_text().replace("\\\n", ""))
    return dict(parser["Service"])


def test_there_is_one_for_each_daemon() -> None:
    names = ["sandbox-api", "sandbox-broker", "sandbox-engined"]
    assert [unit.stem for unit in UNITS] == names


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_it(unit: Path, tmp_path: Path) -> None:
    """With every program it names replaced by one that is here."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for each in UNITS:
        (tmp_path / each.name).write_text(
            re.sub(r"/usr/bin/sandbox-\w+", str(program), each.read_text())
        )
    if shutil.which("systemd-analyze") is None:
        return
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("unit", UNPRIVILEGED, ids=lambda unit: unit.stem)
def test_what_needs_no_right_has_none(unit: Path) -> None:
    settings = service(unit)
    assert settings.items() >= HARD.items()
    assert settings["user"] not in ("", "root")


def test_exit_75_starts_the_control_plane_again() -> None:
    settings = service(FOLDER / "sandbox-api.service")
    assert settings["restart"] == "on-failure" and "75" in settings["restartforceexitstatus"]
