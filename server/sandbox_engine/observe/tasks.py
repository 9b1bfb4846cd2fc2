"""The only place that creates asyncio tasks.

Every task has a name and a kept reference, and an exception nobody awaited is logged
instead of vanishing.  A long-lived part offers `run()` and the daemon's task group owns
it; `spawn()` is for short work that outlives the call which began it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

_T = TypeVar("_T")
_log = structlog.get_logger(__name__)
_alive: set[asyncio.Task[Any]] = set()


def spawn(coroutine: Coroutine[Any, Any, _T], *, name: str) -> asyncio.Task[_T]:
    """Start `coroutine` as a task that is kept alive and whose failure is logged."""
    task = asyncio.get_running_loop().create_task(coroutine, name=name)
    _alive.add(task)
    task.add_done_callback(_finished)
    return task


def _finished(task: asyncio.Task[Any]) -> None:
    _alive.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("task failed", task=task.get_name(), exc_info=error)


async def cancel(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel tasks and wait until they have ended."""
    live = [task for task in tasks if task is not None and not task.done()]
    for task in live:
        task.cancel()
    for task in live:
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await task


async def settle() -> None:
    """Wait for every spawned task: the last step of an orderly stop."""
    current = asyncio.current_task()
    while pending := {task for task in _alive if task is not current}:
        await asyncio.wait(pending)


def run_eagerly(
    coroutine: Coroutine[Any, Any, _T], done: Callable[[_T | BaseException], None], *, name: str
) -> None:
    """Run `coroutine` now, up to its first real wait; only then does it become a task.

    A call that never waits (a warm create, an inspect) completes in the caller's own
    stack, which spares it a task and two turns of the loop.  `done` gets the result or
    the exception, at once or later.
    """
    try:
        waiting_on = coroutine.send(None)
    except StopIteration as stop:
        done(stop.value)
        return
    except Exception as error:  # noqa: BLE001 - handed to `done`, which answers the caller
        done(error)
        return
    task = spawn(_finish(coroutine, waiting_on, done), name=name)
    del task


async def _finish(
    coroutine: Coroutine[Any, Any, _T],
    waiting_on: Any,
    done: Callable[[_T | BaseException], None],
) -> None:
    try:
        result = await _Continuation(coroutine, waiting_on)
    except asyncio.CancelledError as error:
        done(error)
        raise
    except Exception as error:  # noqa: BLE001 - handed to `done`, which answers the caller
        done(error)
    else:
        done(result)


class _Continuation:
    """Awaits the rest of a coroutine that was already advanced to its first wait."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], waiting_on: Any) -> None:
        self._coroutine, self._waiting_on = coroutine, waiting_on

    def __await__(self) -> Any:
        waiting_on = self._waiting_on
        while True:
            try:
                sent = yield waiting_on
            except BaseException as error:  # noqa: BLE001 - thrown on into the coroutine
                step = self._throw(error)
            else:
                step = self._send(sent)
            if step[0]:
                return step[1]
            waiting_on = step[1]

    def _send(self, value: Any) -> tuple[bool, Any]:
        try:
            return False, self._coroutine.send(value)
        except StopIteration as stop:
            return True, stop.value

    def _throw(self, error: BaseException) -> tuple[bool, Any]:
        try:
            return False, self._coroutine.throw(error)
        except StopIteration as stop:
            return True, stop.value
