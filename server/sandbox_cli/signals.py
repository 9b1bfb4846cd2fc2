"""Signals that end a command, as an exception in the main thread."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from sandbox_cli.failures import Interrupted

STOPPING: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block the first SIGINT or SIGTERM raises `Interrupted`.

    The second one ends the process as it would have without us, so that a clean-up that
    hangs can be left.
    """
    before = {signum: signal.getsignal(signum) for signum in STOPPING}

    def stop(signum: int, _frame: FrameType | None) -> None:
        for each in STOPPING:
            signal.signal(each, signal.SIG_DFL)
        raise Interrupted(signum)

    for signum in STOPPING:
        signal.signal(signum, stop)
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
