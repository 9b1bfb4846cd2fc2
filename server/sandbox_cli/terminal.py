"""The terminal of this process: its size, and raw mode with its way back."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager


def size() -> tuple[int, int]:
    """Columns and rows; 80 by 24 where this process has no terminal."""
    for stream in (sys.stdout, sys.stdin, sys.stderr):
        try:
            found = os.get_terminal_size(stream.fileno())
        except (OSError, ValueError):
            continue
        if found.columns and found.lines:
            return found.columns, found.lines
    return 80, 24


@contextmanager
def raw() -> Iterator[None]:
    """Pass keys on as they are typed, Ctrl-C included, for the length of the block.

    Without a terminal on standard input it does nothing.
    """
    descriptor = sys.stdin.fileno()
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
