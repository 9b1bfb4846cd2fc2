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


async def together(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run them side by side; the first failure ends the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in coroutines:
                group.create_task(coroutine)
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def settle() -> None:
    """Wait for every spawned task: the last step of an orderly stop."""
    current = asyncio.current_task()
    while pending := {task for task in _alive if task is not current}:
        await asyncio.wait(pending)


def run_eagerly(
    coroutine: Coroutine[Any, Any, _T], done: Callable[[_T | BaseException], None], *, name: str
) -> asyncio.Task[None] | None:
    """Run `coroutine` now, up to its first real wait; only then does it become a task.

    A call that never waits (a warm create, an inspect) completes in the caller's own
    stack, which spares it a task and two turns of the loop.  `done` gets the result or
    the exception, at once (then there is no task) or later; it must not raise.

    Up to its first wait the coroutine has no task of its own: it must not use
    `asyncio.timeout` or `asyncio.current_task` there.
    """
    try:
        waiting_on = coroutine.send(None)
    except StopIteration as stop:
        done(stop.value)
        return None
    except Exception as error:  # noqa: BLE001 - handed to `done`, which answers the caller
        done(error)
        return None
    return spawn(_Begun(coroutine, waiting_on, done), name=name)


class _Begun(Coroutine[Any, Any, None]):
    """The rest of a coroutine that was advanced to its first wait already.

    A coroutine by hand and not by `async def`, since a task that is cancelled before its
    first step never enters one: the rest would then neither clean up nor report.
    """

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, _T],
        waiting_on: Any,
        done: Callable[[_T | BaseException], None],
    ) -> None:
        self._coroutine, self._done = coroutine, done
        self._waiting_on, self._handed_on = waiting_on, False

    def send(self, value: Any) -> Any:
        """Go on; the first time by handing the task what is waited for already."""
        if not self._handed_on:
            self._handed_on = True
            return self._waiting_on
        return self._step(self._coroutine.send, value)

    def throw(self, kind: Any, value: Any = None, _trace: Any = None) -> Any:
        """Raise inside, cancellation above all."""
        self._handed_on = True
        return self._step(self._coroutine.throw, kind if value is None else value)

    def _step(self, advance: Callable[[Any], Any], value: Any) -> Any:
        try:
            return advance(value)
        except StopIteration as stop:
            self._done(stop.value)
            raise StopIteration from None
        except asyncio.CancelledError as error:
            self._done(error)
            raise
        except Exception as error:  # noqa: BLE001 - handed to `done`, which answers the caller
            self._done(error)
            raise StopIteration from None

    def close(self) -> None:
        """Drop the rest."""
        self._coroutine.close()

    def __await__(self) -> Any:
        """Not awaited: a task drives it."""
        return self
