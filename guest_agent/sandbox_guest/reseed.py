"""For programs in a guest: seed random generators anew once this machine became another one.

A fork, a branch and a wake go on in the middle of a program, so a generator that was seeded
before draws the same in each of them.  A Python of the guest that draws anything secret says,
early and in its main thread

    import sys
    sys.path.append("/run/agent/agent")
    from sandbox_guest import reseed
    reseed.register()

and before anything else of it runs in the new machine, `random` (and numpy's generator, where
that is loaded) has a seed of the kernel's, which was given new entropy before.  What else is
to be seeded is a callback.  Needs nothing but the standard library of Python 3.8 or later.
"""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from typing import Any, Callable, List  # noqa: UP035 - a guest's Python may be an old one

STATE = "/run/sandbox"
"""Where the agent keeps `generation` and `reseed/`."""

_callbacks: List[Callable[[], object]] = []  # noqa: UP006 - as above
_number = 0
_before: Any = None


def register(callback: Callable[[], object] | None = None, number: int = signal.SIGUSR1) -> None:
    """Ask to be told by the signal `number`; the children of this process are told too.

    `callback` is run after the generators are seeded, in the order of registration; what the
    program had for this signal is run last.  Raises `ValueError` outside of the main thread,
    `OSError` where there is no agent.
    """
    global _number, _before
    if callback is not None:
        _callbacks.append(callback)
    if _number:
        return
    before = signal.signal(number, _told)
    _number, _before = number, before if callable(before) else None
    os.register_at_fork(after_in_child=_enlist)
    _enlist()


def generation() -> str:
    """Which machine this is: another text after every fork, branch and wake."""
    return (Path(STATE) / "generation").read_text().strip()


def seed() -> None:
    """Seed what is loaded from the kernel's generator."""
    random.seed()
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _enlist() -> None:
    (Path(STATE) / "reseed" / str(os.getpid())).write_text(str(int(_number)))


def _told(number: int, frame: object) -> None:
    seed()
    for callback in _callbacks:
        callback()
    if _before is not None:
        _before(number, frame)
