"""The languages beside Python and C that have an SDK: how each is built and run."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".cache" / "sdks"
"""What is built here; every compiler keeps its own cache and does nothing twice."""
LIMIT_S = 900
"""Against hanging, for a build from nothing or a scenario on a busy machine."""

Command = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Language:
    """One SDK: the programs it needs, how to build it, and its two programs."""

    name: str
    package: str = ""
    """Its folder below `sdk/`, where that is not its name."""
    needs: Command
    build: tuple[Command, ...]
    scenario: Command
    quick_start: Command
    quick_start_source: str

    @property
    def folder(self) -> Path:
        """Its package."""
        return ROOT / "sdk" / (self.package or self.name)

    @property
    def at_hand(self) -> bool:
        """Whether this machine has the toolchain."""
        return all(shutil.which(program) for program in self.needs)


def _words(text: str) -> Command:
    return tuple(text.split())


def _java(program: str) -> Command:
    examples = f"dev.sandboxengine.examples.{program}"
    return ("java", "-cp", "target/classes:target/test-classes:target/lib/*", examples)


CPP, GO, RUST = BUILT / "cpp", BUILT / "go", BUILT / "rust"
GO_PROGRAMS = ("./scenario", "./quickstart")
LANGUAGES = [
    Language(
        name="cpp",
        package="cpp/grpc",
        needs=("cmake", "c++", "grpc_cpp_plugin"),
        build=(
            _words(f"cmake -S . -B {CPP} -DSANDBOX_GRPC_PROGRAMS=ON -DCMAKE_CXX_FLAGS=-O0"),
            _words(f"cmake --build {CPP} --parallel 2"),
        ),
        scenario=(f"{CPP}/scenario",),
        quick_start=(f"{CPP}/quickstart",),
        quick_start_source="programs/quickstart.cpp",
    ),
    Language(
        name="go",
        needs=("go",),
        build=(("go", "build", "-p", "2", "-ldflags=-s -w", "-o", f"{GO}/", *GO_PROGRAMS),),
        scenario=(f"{GO}/scenario",),
        quick_start=(f"{GO}/quickstart",),
        quick_start_source="quickstart/main.go",
    ),
    Language(
        name="java",
        needs=("mvn", "javac"),
        build=(
            _words(
                "mvn -q -B -ntp test-compile dependency:copy-dependencies"
                " -DoutputDirectory=target/lib"
            ),
        ),
        scenario=_java("Scenario"),
        quick_start=_java("QuickStart"),
        quick_start_source="src/test/java/dev/sandboxengine/examples/QuickStart.java",
    ),
    Language(
        name="rust",
        needs=("cargo",),
        build=(_words(f"cargo build --quiet --examples --target-dir {RUST}"),),
        scenario=(f"{RUST}/debug/examples/scenario",),
        quick_start=(f"{RUST}/debug/examples/quickstart",),
        quick_start_source="examples/quickstart.rs",
    ),
    Language(
        name="typescript",
        needs=("node", "npm"),
        build=(
            _words("npm install --no-audit --no-fund --no-package-lock --silent"),
            _words("npm run --silent build"),
        ),
        scenario=("node", "dist/scenario.js"),
        quick_start=("node", "dist/quickstart.js"),
        quick_start_source="src/quickstart.ts",
    ),
]


@functools.cache
def build(language: Language) -> None:
    """Build a language's programs, once a run; quick where they are built already.

    Another run that is building them is waited for.
    """
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / f"{language.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in language.build:
            run(language, command)


def run(language: Language, command: Command, **env: str) -> str:
    """What a program of the language wrote; a failure shows both its outputs."""
    done = subprocess.run(
        command,
        cwd=language.folder,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout
