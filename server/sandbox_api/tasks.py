"""The only place that creates tasks: each has a name, a kept reference, and a logged failure."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

_T = TypeVar("_T")
_log = structlog.get_logger(__name__)
_alive: set[asyncio.Task[Any]] = set()


def spawn(work: Coroutine[Any, Any, _T], *, name: str) -> asyncio.Task[_T]:
    """Start `work`; an exception that nobody awaits is logged."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    _alive.add(task)
    task.add_done_callback(_alive.discard)
    return task


def guard(work: Coroutine[Any, Any, Any], *, name: str) -> asyncio.Task[Any]:
    """`spawn()` for work that nobody awaits."""
    task = spawn(work, name=name)
    task.add_done_callback(_told)
    return task


def _told(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("task failed", task=task.get_name(), exc_info=error)


async def cancel(*tasks: asyncio.Task[Any]) -> None:
    """Cancel and wait for the end."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task
