"""Building against what `make install` put: pkg-config, CMake, static, and the examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sdk_c.building import ROOT
from tests.sdk_c.driving import run
from tests.sdk_c.frame_daemon import FrameDaemon
from tests.sdk_c.installing import Installed

DRIVER = ROOT / "tests/sdk_c/c/driver.c"
HELLO = ["--", "string", "code=-15"]


def test_what_is_installed(installed: Installed) -> None:
    found = {
        str(path.relative_to(installed.stage))
        for path in installed.stage.rglob("*")
        if not path.is_dir()
    }
    assert found == {
        "usr/include/libsandbox.h",
        "usr/include/libsandbox.hpp",
        "usr/lib/libsandbox.a",
        "usr/lib/libsandbox.so",
        "usr/lib/libsandbox.so.0",
        "usr/lib/libsandbox.so.0.1.0",
        "usr/lib/libsandbox++.so",
        "usr/lib/libsandbox++.so.0",
        "usr/lib/libsandbox++.so.0.1.0",
        "usr/lib/pkgconfig/libsandbox.pc",
        "usr/lib/pkgconfig/libsandbox++.pc",
        "usr/lib/cmake/libsandbox/libsandboxConfig.cmake",
        "usr/lib/cmake/libsandbox/libsandboxConfigVersion.cmake",
        "usr/lib/cmake/libsandbox++/libsandbox++Config.cmake",
        "usr/lib/cmake/libsandbox++/libsandbox++ConfigVersion.cmake",
    }


@pytest.mark.parametrize("linking", ["shared", "static"])
def test_pkg_config(installed: Installed, tmp_path: Path, linking: str) -> None:
    program = tmp_path / "driver"
    flags = installed.flags("libsandbox")
    if linking == "static":
        flags = ["-static", *installed.flags("libsandbox", "--static")]
    installed.run("gcc", "-std=c99", DRIVER, "-o", program, *flags)
    assert "did not answer in time" in installed.run(program, *HELLO)


CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(user C CXX)
find_package(libsandbox 0.1 REQUIRED CONFIG)
find_package(libsandbox++ 0.1 REQUIRED CONFIG)
add_executable(driver {driver})
target_link_libraries(driver libsandbox::sandbox)
add_executable(driver_static {driver})
target_link_libraries(driver_static libsandbox::sandbox_static)
add_executable(hello {hello})
target_link_libraries(hello libsandbox++::sandbox++)
"""


async def test_cmake(installed: Installed, tmp_path: Path, daemon: FrameDaemon) -> None:
    source = CMAKE.format(driver=DRIVER, hello=ROOT / "examples/cpp/hello.cpp")
    (tmp_path / "CMakeLists.txt").write_text(source)
    prefix = f"-DCMAKE_PREFIX_PATH={installed.stage / 'usr'}"
    installed.run("cmake", "-S", tmp_path, "-B", tmp_path / "build", prefix)
    installed.run("cmake", "--build", tmp_path / "build")
    for name in ("driver", "driver_static"):
        assert "did not answer in time" in installed.run(tmp_path / "build" / name, *HELLO)
    said = await run(tmp_path / "build/hello", daemon.path, env=installed.environment)
    assert said == (ROOT / "examples/cpp/hello.txt").read_text()


EXAMPLES = sorted((ROOT / "examples").glob("c*/*.c*"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: f"{p.parent.name}/{p.name}")
async def test_an_example_prints_what_the_tutorial_says(
    installed: Installed, tmp_path: Path, daemon: FrameDaemon, example: Path
) -> None:
    installed.run(
        "make", "-s", "-C", example.parent, f"OUT={tmp_path}", f"{tmp_path}/{example.stem}"
    )
    said = await run(tmp_path / example.stem, daemon.path, "base", env=installed.environment)
    assert said == example.with_suffix(".txt").read_text()
    tutorial = {"c": "libsandbox.md", "cpp": "libsandbox-cpp.md"}[example.parent.name]
    page = (ROOT / "docs" / tutorial).read_text()
    assert said in page
    assert example.read_text() in page
