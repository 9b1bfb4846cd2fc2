"""The rate of this host's time-stamp counter, which emulated guests read as their own.

A guest's kernel measures it against the emulated timer chip at boot.  On a busy host the
two are too uneven, the kernel gives the counter up, and then waits for ever for a tick
that this machine type does not deliver.  So it is told the rate instead.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import time
from collections.abc import Callable

INTERVAL_S = 0.02
TRIES = 5
_READ = bytes.fromhex(
    "0f31"  # rdtsc
    "48c1e220"  # shl rdx, 32
    "4809d0"  # or rax, rdx
    "c3"  # ret
)


@functools.cache
def khz() -> int:
    """The rate in kHz; 0 where this process may not measure it.  Blocks for `INTERVAL_S`."""
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        return 0
    page.write(_READ)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    ticks, nanoseconds = _sample(read)
    time.sleep(INTERVAL_S)
    later_ticks, later_nanoseconds = _sample(read)
    return (later_ticks - ticks) * 1_000_000 // (later_nanoseconds - nanoseconds)


def _sample(read: Callable[[], int]) -> tuple[int, int]:
    """The counter and the clock at one moment: of some tries, the least disturbed."""
    tries = []
    for _ in range(TRIES):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        ticks = read()
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        tries.append((after - before, ticks, (before + after) // 2))
    _, ticks, nanoseconds = min(tries)
    return ticks, nanoseconds
