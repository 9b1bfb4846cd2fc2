"""The languages beside Python and C that have an SDK: how each is built and run."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".cache" / "sdks"
"""What is built here; every compiler keeps its own cache and does nothing twice."""
LIMIT_S = 600
"""Against hanging, for a build from nothing or a scenario on a busy machine."""


@dataclass(frozen=True)
class Language:
    """One SDK: the program it needs, how to build it, and its two programs."""

    name: str
    needs: str
    build: tuple[tuple[str, ...], ...]
    scenario: tuple[str, ...]
    quick_start: tuple[str, ...]
    quick_start_source: str

    @property
    def folder(self) -> Path:
        """Its package."""
        return ROOT / "sdk" / self.name

    @property
    def at_hand(self) -> bool:
        """Whether this machine has the toolchain."""
        return shutil.which(self.needs) is not None


GO = BUILT / "go"
GO_PROGRAMS = ("./scenario", "./quickstart")
LANGUAGES = [
    Language(
        "go",
        "go",
        (
            (
                "go",
                "build",
                "-p",
                "2",
                "-ldflags=-s -w",
                "-o",
                f"{GO}/",
                "./scenario",
                "./quickstart",
            ),
        ),
        (f"{GO}/scenario",),
        (f"{GO}/quickstart",),
        "quickstart/main.go",
    ),
    Language(
        "typescript",
        "node",
        (
            ("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent"),
            ("npm", "run", "--silent", "build"),
        ),
        ("node", "dist/scenario.js"),
        ("node", "dist/quickstart.js"),
        "src/quickstart.ts",
    ),
]


def build(language: Language) -> None:
    """Build a language's programs; quick where they are built already."""
    for command in language.build:
        run(language, command)


def run(language: Language, command: tuple[str, ...], **env: str) -> str:
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
