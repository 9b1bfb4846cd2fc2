"""A change of a proto reaches every SDK by the one command."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sdk_languages.languages import ROOT
from tools.codegen.languages import all_plugins

COPIED = ("proto", "tools", "sdk", "docs", "buf.yaml")
FIELD = "  // Made for a test.\n  string quite_new_field = 4000;\n"
MADE = {
    "python": ("sdk/python/gen/sandbox/v1/guest_pb2.pyi", "quite_new_field"),
    "go": ("sdk/go/gen/sandbox/v1/guest.pb.go", "QuiteNewField"),
    "cpp": ("sdk/cpp/grpc/gen/sandbox/v1/guest.pb.h", "quite_new_field"),
    "java": ("sdk/java/src/main/java/dev/sandboxengine/v1/ExecStart.java", "getQuiteNewField"),
    "rust": ("sdk/rust/src/gen/sandbox.v1.rs", "quite_new_field"),
    "typescript": ("sdk/typescript/src/gen/sandbox/v1/guest_pb.ts", "quiteNewField"),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what code is generated from and into, with the plugins of this one."""
    for name in (*COPIED, *(path.name for path in ROOT.glob("buf.gen*.yaml"))):
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("node_modules", "dist", "target", "__pycache__")
            shutil.copytree(source, tmp_path / name, ignore=ignored)
        else:
            shutil.copy(source, tmp_path / name)
    for name in (".tools", "sdk/typescript/node_modules"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.timeout(600)
def test_a_field_added_to_a_proto_shows_up_in_every_sdk(checkout: Path) -> None:
    proto = checkout / "proto/sandbox/v1/guest.proto"
    begin = "message ExecStart {\n"
    text = proto.read_text()
    assert begin in text
    proto.write_text(text.replace(begin, begin + FIELD))
    command = [sys.executable, "-m", "tools.codegen"]
    stale = subprocess.run([*command, "--check"], cwd=checkout, capture_output=True, check=False)
    assert stale.returncode == 1
    subprocess.run(command, cwd=checkout, check=True)
    left_out = {plugins.language for plugins in all_plugins() if not plugins.at_hand}
    for language, (name, word) in MADE.items():
        if language not in left_out:
            assert word in (checkout / name).read_text()
