"""Wait for a condition by asking again, bounded; for what announces itself in no other way."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Return once `condition()` is true; fail after `timeout_s`."""
    limit = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < limit, f"not true after {timeout_s:g} s"
        time.sleep(0.01)
