"""Run a program for its output: what the agent itself needs to know, such as of git."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

from sandbox_guest.cgroups import Cgroups
from sandbox_guest.pipes import Pump, always, reading
from sandbox_guest.process import Command, Launcher, Process

_ERRORS_MAX = 64 << 10
DRAIN_S = 2.0


@dataclass(frozen=True, slots=True)
class Captured:
    """What a program wrote and how it ended."""

    code: int
    out: bytes
    err: bytes
    truncated: bool
    """It wrote more than was asked for, and was killed."""


async def capture(
    launcher: Launcher, cgroups: Cgroups, command: Command, *, most: int = 1 << 20
) -> Captured:
    """Run `command`; at most `most` bytes of its output are kept.

    Raises what `Launcher.start` does.  Cancelled, it kills what it started.
    """
    await cgroups.thawed()
    started = launcher.start(command)
    process = started.process
    out, err = bytearray(), bytearray()
    truncated = False
    loop = asyncio.get_running_loop()
    closed: list[asyncio.Future[None]] = [loop.create_future() for _ in range(3)]

    def took_out(data: bytes) -> None:
        nonlocal truncated
        kept = data[: most - len(out)]
        out.extend(kept)
        if len(kept) < len(data):
            truncated = True
            process.kill()

    def took_err(data: bytes) -> None:
        err.extend(data[: _ERRORS_MAX - len(err)])

    pumps = (
        Pump(started.stdout, reading(always, took_out), lambda: closed[0].set_result(None)),
        Pump(started.stderr, reading(always, took_err), lambda: closed[1].set_result(None)),
    )
    process.on_exit = lambda: closed[2].set_result(None)
    try:
        await closed[2]
        with contextlib.suppress(TimeoutError):  # something it left behind holds them open
            async with asyncio.timeout(DRAIN_S):
                await closed[0]
                await closed[1]
    finally:
        for pump in pumps:
            pump.close()
        _let_go(process)
    return Captured(process.code, bytes(out), bytes(err), truncated)


def _let_go(process: Process) -> None:
    """Close it, now or once the kill has taken effect."""
    process.kill()
    if process.status is None:
        process.on_exit = process.close
    else:
        process.close()
