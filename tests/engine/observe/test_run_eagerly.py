"""A coroutine that does not wait needs no task; one that does is cancelled and reported whole."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sandbox_engine.observe.tasks import run_eagerly


class Reports(list[Any]):
    """What `done` was given."""

    def __call__(self, result: Any) -> None:
        self.append(result)


async def test_what_never_waits_is_done_at_once_without_a_task() -> None:
    async def work() -> str:
        return "done"

    reports = Reports()
    assert run_eagerly(work(), reports, name="test") is None
    assert reports == ["done"]


async def test_an_error_before_the_first_wait_is_reported_at_once() -> None:
    async def work() -> str:
        raise ValueError("early")

    reports = Reports()
    assert run_eagerly(work(), reports, name="test") is None
    assert isinstance(reports[0], ValueError)


@pytest.mark.parametrize("waits", [1, 2, 5])
async def test_what_waits_goes_on_as_a_task(waits: int) -> None:
    async def work() -> int:
        for _ in range(waits):
            await asyncio.sleep(0)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, 7)
        return await future

    reports = Reports()
    task = run_eagerly(work(), reports, name="test")
    assert task is not None
    assert not reports
    await task
    assert reports == [7]


async def test_an_error_after_a_wait_is_reported_and_not_raised_again() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError("late")

    reports = Reports()
    task = run_eagerly(work(), reports, name="test")
    assert task is not None
    await task
    assert isinstance(reports[0], ValueError)


async def test_after_its_first_wait_it_has_a_task_and_may_use_timeouts() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        try:
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        except TimeoutError:
            return "timed out"
        return "never"

    reports = Reports()
    task = run_eagerly(work(), reports, name="test")
    assert task is not None
    await task
    assert reports == ["timed out"]


@pytest.mark.parametrize("turns", [0, 1, 3])
async def test_cancellation_cleans_up_whenever_it_comes(turns: int) -> None:
    """Also before the task's first step, which an ordinary task would never enter."""
    cleaned = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.set()

    reports = Reports()
    task = run_eagerly(work(), reports, name="test")
    assert task is not None
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned.is_set()
    assert isinstance(reports[0], asyncio.CancelledError)
