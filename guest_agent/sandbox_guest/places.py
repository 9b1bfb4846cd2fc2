"""Where the agent finds and keeps things.  Tests run it on a host with other places."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Absolute paths."""

    library: str
    """`libspawn.so`, the compiled `native/spawn.c`."""
    workspace: str = "/workspace"
    cgroups: str = "/sys/fs/cgroup/sandbox"
    """The cgroup below which every workload lives."""
    state: str = "/run/sandbox"
    etc: str = "/etc"
    silkd: str = "/run/silkd"
    """What the public guest protocol promises to keep there."""
    metadata: str = "169.254.169.254:80"
    """`host:port` of the instance metadata; empty serves none."""

    def start_folder(self) -> str:
        """Where a client's command starts that names no folder."""
        return self.workspace if Path(self.workspace).is_dir() else "/"
