"""What the C++ package promises beside its client: it installs, and it can write itself anew."""

from __future__ import annotations

import filecmp
import subprocess
from pathlib import Path

import pytest

from tests.sdk_languages.languages import CPP, LANGUAGES, build

PACKAGE = next(one for one in LANGUAGES if one.name == "cpp")
CONSUMER = """\
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES CXX)
find_package(sandbox-grpc 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE sandbox-grpc::sandbox-grpc)
"""
PROGRAM = """\
#include <sandbox/v1/node.pb.h>
int main() { return sandbox::v1::GetNodeInfoRequest().ByteSizeLong() == 0 ? 0 : 1; }
"""

pytestmark = pytest.mark.timeout(900)


def cmake(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["cmake", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_installed_package_is_found_and_linked(tmp_path: Path) -> None:
    if not PACKAGE.at_hand:
        return
    build(PACKAGE)
    cmake("--install", CPP, "--prefix", tmp_path / "moved/usr")
    source, made = tmp_path / "consumer", tmp_path / "made"
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CONSUMER)
    (source / "main.cpp").write_text(PROGRAM)
    cmake("-S", source, "-B", made, f"-DCMAKE_PREFIX_PATH={tmp_path / 'moved/usr'}")
    cmake("--build", made)
    subprocess.run([made / "consumer"], check=True)


def test_with_another_protobuf_it_writes_the_code_anew(tmp_path: Path) -> None:
    if not PACKAGE.at_hand:
        return
    cmake("-S", PACKAGE.folder, "-B", tmp_path, "-DSANDBOX_GRPC_REGENERATE=ON")
    cmake("--build", tmp_path, "--target", "sandbox-grpc-generated")
    fresh, committed = (root / "gen/sandbox/v1" for root in (tmp_path, PACKAGE.folder))
    assert {path.name for path in fresh.iterdir()} == {path.name for path in committed.iterdir()}
    # The messages' files hold the descriptor too, whose bytes buf orders otherwise than protoc.
    services = [path.name for path in committed.glob("*.grpc.pb.*")]
    _, differing, missing = filecmp.cmpfiles(fresh, committed, services, shallow=False)
    assert services and not differing and not missing
