"""Where the agent finds and keeps things.  Tests run it on a host with other places."""

from __future__ import annotations

from dataclasses import dataclass


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
