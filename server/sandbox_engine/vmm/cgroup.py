"""Limits on a VMM process by cgroup, v2 where it has controllers, else v1, else none.

What is missing is said by `doctor`, not hidden: `Cgroups.describe()` names what applies.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PARENT = "sandbox-engine"
OVERHEAD_MIB = 512
"""Memory of a VMM beside its guest's: translated code under emulation, device queues."""
MAX_PIDS = 256
"""Threads of a VMM process."""


class Cgroups:
    """Creates and removes one group per VMM."""

    def __init__(self, root: Path = Path("/sys/fs/cgroup")) -> None:
        controllers = root / "cgroup.controllers"
        self._unified = controllers.exists() and "memory" in controllers.read_text().split()
        if self._unified:
            self._parents = [root / PARENT]
        else:
            self._parents = [
                root / name / PARENT
                for name in ("memory", "pids")
                if os.access(root / name / "cgroup.procs", os.W_OK)
            ]

    def describe(self) -> str:
        """`v2`, `v1 (memory, pids)` or `none`."""
        if self._unified:
            return "v2"
        if self._parents:
            return f"v1 ({', '.join(path.parent.name for path in self._parents)})"
        return "none"

    def create(self, name: str, memory_mib: int) -> list[Path]:
        """Make the group of `name`; return the `cgroup.procs` files to be placed in."""
        limit = str((memory_mib + OVERHEAD_MIB) << 20)
        procs = []
        for parent in self._parents:
            group = parent / name
            try:
                group.mkdir(parents=True, exist_ok=True)
                self._limit(parent, group, limit)
            except OSError:
                continue  # a controller that is mounted but not ours to use
            procs.append(group / "cgroup.procs")
        return procs

    def remove(self, name: str) -> None:
        """Remove the group of `name` once its process is gone.  Idempotent."""
        for parent in self._parents:
            for group in (parent / name, parent):
                with contextlib.suppress(OSError):  # the parent goes with its last child
                    group.rmdir()

    def _limit(self, parent: Path, group: Path, memory: str) -> None:
        if self._unified:
            (parent / "cgroup.subtree_control").write_text("+memory +pids")
            (group / "memory.max").write_text(memory)
            (group / "pids.max").write_text(str(MAX_PIDS))
        elif parent.parent.name == "memory":
            (group / "memory.limit_in_bytes").write_text(memory)
        else:
            (group / "pids.max").write_text(str(MAX_PIDS))
