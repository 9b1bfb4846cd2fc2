"""`sandbox-engined` that dies by SIGKILL at one step; run as a program.

The daemon is the real one.  What is added is around its journal, and around what it does to
volumes, from outside: a file named by `SANDBOX_KILL_AT` holds `METHOD NUMBER before` or
`METHOD NUMBER after`, and that call of the method, counted since the file is there, ends the
process: before anything is done, or right after.
"""

from __future__ import annotations

import functools
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_engine.__main__ import main
from sandbox_engine.guest.channel import Channel
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.services.vms import VmFactory
from sandbox_engine.storage.volumes import FileImages
from sandbox_engine.vmm.qemu.driver import QemuMachine

WRITES = (
    "next_number", "vm_intended", "vm_launched", "vm_gone", "sandbox_put", "sandbox_gone",
    "request_put",
)  # fmt: skip
AT = "SANDBOX_KILL_AT"
GUEST = ("mount_volumes", "unmount_volumes")
"""Operations of the guest."""
_calls: Counter[str] = Counter()


def due(name: str, where: Path) -> str:
    """Count this call; the moment of it at which the process ends, if any."""
    method, number, moment = where.read_text().split() if where.exists() else ("", 0, "")
    if method != name:
        return ""
    _calls[name] += 1
    return moment if _calls[name] == int(number) else ""


def die(*, now: bool) -> None:
    """End this process."""
    if now:
        os.kill(os.getpid(), signal.SIGKILL)


def deadly(name: str, where: Path, call: Callable[..., Any]) -> Callable[..., Any]:
    """`call`, and the end of this process before or after it if the file says so."""

    @functools.wraps(call)
    def called(*args: Any, **fields: Any) -> Any:
        moment = due(name, where)
        die(now=moment == "before")
        result = call(*args, **fields)
        die(now=moment == "after")
        return result

    return called


def deadly_async(name: str, where: Path, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a coroutine function; `name` is empty for the guest's calls."""

    @functools.wraps(call)
    async def called(self: Any, *args: Any, **fields: Any) -> Any:
        own = name or str(args[0]["op"])
        moment = due(own, where) if name or own in GUEST else ""
        die(now=moment == "before")
        result = await call(self, *args, **fields)
        die(now=moment == "after")
        return result

    return called


def arm(where: Path) -> None:
    """Put them around what they are around."""
    for method in WRITES:
        setattr(SqliteJournal, method, deadly(method, where, getattr(SqliteJournal, method)))
    for method in ("mark", "clear"):
        setattr(FileImages, method, deadly(method, where, getattr(FileImages, method)))
    for owner, name, shown in (
        (QemuMachine, "attach_disk", "attach_disk"),
        (QemuMachine, "detach_disk", "detach_disk"),
        (VmFactory, "stop", "stop"),
        (Channel, "call", ""),
    ):
        setattr(owner, name, deadly_async(shown, where, getattr(owner, name)))


if __name__ == "__main__":
    arm(Path(os.environ[AT]))
    main()
