"""The languages whose buf plugins are not Python packages: where their plugins come from.

Each plugin is installed below `.tools` or in its SDK's own folder by its language's package
manager, at the version written here or in the SDK's manifest.  A language whose toolchain is
missing is named and left out; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GO_BIN = ROOT / ".tools/go"
TYPESCRIPT = ROOT / "sdk/typescript"
GO_PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0",
)
NPM_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent")
"""No lock file: it would name the registry of whoever wrote it; the manifest pins exactly."""


@dataclass(frozen=True)
class Plugins:
    """One language's plugins."""

    language: str
    needs: str
    folder: Path
    """Where their programs are once installed; it comes into buf's PATH."""
    commands: tuple[tuple[str, ...], ...]
    within: Path
    inputs: tuple[str, ...]
    """What they depend on: with the same words nothing is installed again."""

    @property
    def at_hand(self) -> bool:
        """Whether the machine has the language's toolchain."""
        return shutil.which(self.needs) is not None

    @property
    def template(self) -> Path:
        """Its buf template."""
        return ROOT / f"buf.gen.{self.language}.yaml"

    def install(self) -> None:
        """Install what is not there yet."""
        stamp = self.folder / ".stamp"
        wanted = "\n".join(self.inputs)
        if stamp.is_file() and stamp.read_text() == wanted:
            return
        print(f"codegen: installing the plugins of {self.language}", file=sys.stderr)
        for command in self.commands:
            subprocess.run(command, cwd=self.within, env=_environment(), check=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp.write_text(wanted)


def _environment() -> dict[str, str]:
    return os.environ | {"GOBIN": str(GO_BIN), "GOFLAGS": "-p=2"}


def all_plugins() -> list[Plugins]:
    """Every language's, as the manifests say now."""
    return [
        Plugins(
            "go",
            "go",
            GO_BIN,
            tuple(("go", "install", plugin) for plugin in GO_PLUGINS),
            ROOT,
            GO_PLUGINS,
        ),
        Plugins(
            "typescript",
            "npm",
            TYPESCRIPT / "node_modules/.bin",
            (NPM_INSTALL,),
            TYPESCRIPT,
            ((TYPESCRIPT / "package.json").read_text(),),
        ),
    ]


def install() -> list[Plugins]:
    """Install the plugins of every language at hand; gives those that are left out.

    With CI=true none may be left out: `SystemExit` names them.
    """
    left_out = []
    for plugins in all_plugins():
        if plugins.at_hand:
            plugins.install()
        else:
            left_out.append(plugins)
    if left_out:
        names = ", ".join(plugins.language for plugins in left_out)
        said = f"no toolchain, code not generated: {names}"
        if os.environ.get("CI") == "true":
            raise SystemExit(said)
        print(said, file=sys.stderr)
    return left_out
