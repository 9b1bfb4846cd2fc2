"""`sandbox-engined` that dies by SIGKILL at one step of its journal; run as a program.

The daemon is the real one.  What is added is around its journal, from outside: a file named
by `SANDBOX_KILL_AT` holds `METHOD NUMBER before` or `METHOD NUMBER after`, and that call of
the method, counted since the file is there, ends the process: before anything is written, or
right after.
"""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_engine.__main__ import main
from sandbox_engine.journal.sqlite import SqliteJournal

WRITES = (
    "next_number", "vm_intended", "vm_launched", "vm_gone", "sandbox_put", "sandbox_gone",
    "request_put",
)  # fmt: skip
AT = "SANDBOX_KILL_AT"


def deadly(name: str, where: Path, call: Callable[..., Any]) -> Callable[..., Any]:
    """`call`, and the end of this process before or after it if the file says so."""
    calls = 0

    @functools.wraps(call)
    def called(*args: Any) -> Any:
        nonlocal calls
        method, number, moment = where.read_text().split() if where.exists() else ("", 0, "")
        if method != name:
            return call(*args)
        calls += 1
        if calls == int(number) and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*args)
        if calls == int(number) and moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return called


if __name__ == "__main__":
    place = Path(os.environ[AT])
    for method in WRITES:
        setattr(SqliteJournal, method, deadly(method, place, getattr(SqliteJournal, method)))
    main()
