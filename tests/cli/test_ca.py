"""`ca`: what it says of what it wrote."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Cli


def test_ca_tells_programs_where_the_files_are(cli: Cli, tmp_path: Path) -> None:
    for words, name in (
        (("ca", "init", "--dir", str(tmp_path)), "root"),
        (
            ("ca", "issue-intermediate", "--dir", str(tmp_path), "--name", "n",
             "--out", str(tmp_path)),
            "intermediate",
        ),
    ):  # fmt: skip
        told = json.loads(cli(*words, "--output", "json").out)
        assert told == {
            "certificate": str(tmp_path / f"{name}.crt"),
            "key": str(tmp_path / f"{name}.key"),
        }
        assert Path(told["key"]).stat().st_mode & 0o777 == 0o600
