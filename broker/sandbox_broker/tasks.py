"""The only place that creates tasks: each has a name, a kept reference, and a logged failure."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from sandbox_broker import record

_T = TypeVar("_T")
_alive: set[asyncio.Task[Any]] = set()


def spawn(work: Coroutine[Any, Any, _T], *, name: str) -> asyncio.Task[_T]:
    """Start `work`; an exception is logged."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    _alive.add(task)
    task.add_done_callback(_ended)
    return task


def _ended(task: asyncio.Task[Any]) -> None:
    _alive.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        # The kind alone: an exception's text may hold what a guest or an upstream sent.
        record.note("task failed", task=task.get_name(), error=type(error).__name__)


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel and wait for the end."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
