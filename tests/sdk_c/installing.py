"""The libraries as `make install` puts them, for those who build against them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.sdk_c.building import BUILD, make


class Installed:
    """A folder in which both libraries are installed below /usr."""

    def __init__(self, stage: Path) -> None:
        self.stage = stage
        self.library = stage / "usr/lib"
        builds = [f"BUILD={BUILD / 'sdk/cpp'}", f"C_BUILD={BUILD / 'sdk/c'}"]
        make("sdk/cpp", "install", f"DESTDIR={stage}", "PREFIX=/usr", *builds)
        self.environment = os.environ | {
            "PKG_CONFIG_PATH": str(self.library / "pkgconfig"),
            "PKG_CONFIG_SYSROOT_DIR": str(stage),
            "LD_LIBRARY_PATH": str(self.library),
        }
        """Makes pkg-config, the linker and the loader look there."""

    def run(self, *argv: str | Path, cwd: Path | None = None) -> str:
        """Run a command against what is installed; what it printed.  Fails if it failed."""
        done = subprocess.run(
            [str(word) for word in argv],
            env=self.environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def flags(self, package: str, *options: str) -> list[str]:
        """What pkg-config says."""
        return self.run("pkg-config", "--cflags", "--libs", *options, package).split()
