"""The languages whose buf plugins are not Python packages: where their plugins come from.

Each plugin is installed below `.tools` or in its SDK's own folder by its language's package
manager, at the version written here or in a manifest; C++'s are Debian packages.  A language
whose toolchain is missing is named and left out; with CI=true that is a failure.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GO_BIN = ROOT / ".tools/go"
JAVA_TOOLS = ROOT / ".tools/java"
RUST_TOOLS = ROOT / ".tools/rust"
RUST_PLUGIN = ROOT / "tools/codegen/rust"
TYPESCRIPT = ROOT / "sdk/typescript"
GO_PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.11",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0",
)
JAVA_PLUGINS = (
    ("com.google.protobuf", "protoc", "4.33.5", "protoc-java"),
    ("io.grpc", "protoc-gen-grpc-java", "1.83.0", "protoc-gen-grpc-java"),
)
"""Group, artifact, version, and the program's name here."""
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
CPP_PROTOC = "libprotoc 3.21."
"""Debian 12's; what another one writes differs, and would not compile against Debian's headers."""
NPM_INSTALL = ("npm", "install", "--no-audit", "--no-fund", "--no-package-lock", "--silent")
"""No lock file: it would name the registry of whoever wrote it; the manifest pins exactly."""


@dataclass(frozen=True, kw_only=True)
class Plugins:
    """One language's plugins."""

    language: str
    needs: tuple[str, ...]
    """Programs of its toolchain."""
    folder: Path
    """Where its plugins are once installed; it comes into buf's PATH."""
    commands: tuple[tuple[str, ...], ...] = ()
    within: Path = ROOT
    inputs: tuple[str, ...] = ()
    """What they depend on: with the same words nothing is installed again."""
    fits: Callable[[], bool] = lambda: True
    """Whether a toolchain that is there is the right one."""

    @property
    def at_hand(self) -> bool:
        """Whether the machine has the language's toolchain."""
        return all(shutil.which(program) for program in self.needs) and self.fits()

    @property
    def template(self) -> Path:
        """Its buf template."""
        return ROOT / f"buf.gen.{self.language}.yaml"

    def install(self) -> None:
        """Install what is not there yet."""
        stamp = self.folder / ".stamp"
        wanted = "\n".join(self.inputs)
        if not self.commands or (stamp.is_file() and stamp.read_text() == wanted):
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
    return [_cpp(), _go(), _java(), _rust(), _typescript()]


def _cpp() -> Plugins:
    needs = ("protoc", "grpc_cpp_plugin")
    return Plugins(language="cpp", needs=needs, folder=Path("/usr/bin"), fits=_debian_protoc)


def _debian_protoc() -> bool:
    said = subprocess.run(["protoc", "--version"], capture_output=True, text=True, check=False)
    return said.stdout.startswith(CPP_PROTOC)


def _go() -> Plugins:
    return Plugins(
        language="go",
        needs=("go",),
        folder=GO_BIN,
        commands=tuple(("go", "install", plugin) for plugin in GO_PLUGINS),
        inputs=GO_PLUGINS,
    )


def _java() -> Plugins:
    kind = "linux-aarch_64" if platform.machine() == "aarch64" else "linux-x86_64"
    commands: list[tuple[str, ...]] = []
    for group, artifact, version, program in JAVA_PLUGINS:
        named = f"-Dartifact={group}:{artifact}:{version}:exe:{kind}"
        into = f"-DoutputDirectory={JAVA_TOOLS}"
        commands.append(("mvn", "-q", "-B", "-ntp", "-Dstyle.color=never", MAVEN_COPY, named, into))
        downloaded = JAVA_TOOLS / f"{artifact}-{version}-{kind}.exe"
        placed = JAVA_TOOLS / "bin" / program
        commands.append(("install", "-D", "-m", "755", str(downloaded), str(placed)))
    return Plugins(
        language="java",
        needs=("mvn", "javac"),
        folder=JAVA_TOOLS / "bin",
        commands=tuple(commands),
        inputs=tuple(":".join(plugin) for plugin in JAVA_PLUGINS),
    )


def _rust() -> Plugins:
    sources = (RUST_PLUGIN / "Cargo.toml", RUST_PLUGIN / "src/main.rs")
    build = ("cargo", "install", "--quiet", "--debug", "--path", str(RUST_PLUGIN))
    into = ("--root", str(RUST_TOOLS), "--target-dir", str(RUST_TOOLS / "target"))
    return Plugins(
        language="rust",
        needs=("cargo",),
        folder=RUST_TOOLS / "bin",
        commands=((*build, *into),),
        inputs=tuple(source.read_text() for source in sources),
    )


def _typescript() -> Plugins:
    return Plugins(
        language="typescript",
        needs=("npm",),
        folder=TYPESCRIPT / "node_modules/.bin",
        commands=(NPM_INSTALL,),
        within=TYPESCRIPT,
        inputs=((TYPESCRIPT / "package.json").read_text(),),
    )


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
