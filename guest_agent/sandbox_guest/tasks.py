"""The one place that creates tasks: each has a name and is kept until it ends."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Coroutine
from typing import Any

_running: set[asyncio.Task[None]] = set()


def spawn(work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
    """Run `work` beside the caller.  A failure is logged to the console, never lost."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    _running.add(task)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[None]) -> None:
    _running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        log(f"task {task.get_name()} failed", error)


def log(message: str, error: BaseException | None = None) -> None:
    """A line on the console, which the engine keeps, size-capped, for each machine."""
    sys.stderr.write(f"agent: {message}\n")
    if error is not None:
        traceback.print_exception(error, file=sys.stderr)
    sys.stderr.flush()
