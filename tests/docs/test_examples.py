"""Examples that need no engine: settings are valid, command lines are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import msgspec
import pytest
from sandbox_cli.app import cli
from sandbox_engine.config import Config, PoolConfig, SizeConfig, load

from tests.docs.conftest import ROOT, Block, blocks, documents

SETTINGS = [block for page in documents() for block in blocks(page, "toml")]
LINES = [
    pytest.param(line, id=f"{block.place} {line[:40]}")
    for page in documents()
    for info in ("sh", "console")
    for block in blocks(page, info)
    for line in block.body.splitlines()
    if line.removeprefix("$ ").startswith("sandbox-cli ")
]
PLACEHOLDERS = {"NAME": "base", "[--include PKG,...]": ""}


@pytest.mark.parametrize("block", SETTINGS, ids=lambda block: block.place)
def test_settings_are_valid(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "engine.toml"
    file.write_text(block.body)
    load(file)


def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    documented = set(re.findall(r"`(\w+)`", page))
    fields = msgspec.structs.fields(Config)
    nested = (*msgspec.structs.fields(PoolConfig), *msgspec.structs.fields(SizeConfig))
    assert not {field.name for field in (*fields, *nested)} - documented
    for field in fields:
        if isinstance(field.default, str | int) and field.default and field.name != "log_level":
            assert str(field.default) in page, field.name


@pytest.mark.parametrize("line", LINES)
def test_command_lines_parse(line: str) -> None:
    for word, value in PLACEHOLDERS.items():
        line = line.replace(word, value)
    words = shlex.split(line.removeprefix("$ "))
    ends = [index for index, word in enumerate(words) if re.match(r"[|&>]|2>", word)]
    words = words[1 : min(ends, default=len(words))]
    command: click.Command = cli
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    contradiction = {"--egress", "--no-egress"}
    if not contradiction <= set(words):
        command.make_context("x", words)
