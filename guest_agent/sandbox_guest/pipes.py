"""Our ends of a command's descriptors, on the loop: `Pump` reads one, `Feeder` writes one."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections import deque
from collections.abc import Callable

from sandbox_guest.stream import BULK_MAX

_PIPE_DEFAULT = 64 << 10
_PIPE_BULK = 1 << 20


class Pump:
    """Reads `fd` into `give(data)` as far as `room()` says; `ended()` at its end.

    The end is told once, not after `close()`.  The pump owns `fd`.
    """

    __slots__ = ("_ended", "_give", "_loop", "_paused", "_room", "_size", "fd")

    def __init__(
        self,
        fd: int,
        room: Callable[[], int],
        give: Callable[[bytes], None],
        ended: Callable[[], None],
    ) -> None:
        self.fd = fd
        self._room, self._give, self._ended = room, give, ended
        self._size = _PIPE_DEFAULT
        self._paused = False
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._readable)

    def resume(self) -> None:
        """There may be room again."""
        if self._paused:
            self._paused = False
            self._loop.add_reader(self.fd, self._readable)

    def close(self) -> None:
        """Read no more.  Idempotent."""
        if self.fd >= 0:
            if not self._paused:
                self._loop.remove_reader(self.fd)
            os.close(self.fd)
            self.fd = -1
            self._paused = False

    def _readable(self) -> None:
        room = self._room()
        if room <= 0:
            self._paused = True
            self._loop.remove_reader(self.fd)
            return
        try:
            data = os.read(self.fd, min(room, self._size))
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process left the terminal
            data = b""
        if not data:
            self.close()
            self._ended()
            return
        if len(data) == _PIPE_DEFAULT and self._size == _PIPE_DEFAULT:
            self._grow()
        self._give(data)

    def _grow(self) -> None:
        """A command that fills its pipe gets a larger one: fewer switches to and fro."""
        self._size = BULK_MAX
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _PIPE_BULK)


class Feeder:
    """Writes to `fd` in order, as fast as the command reads; `wrote(size)` returns credit.

    Owns `fd`, which is non-blocking.  What comes after the end is dropped, and credited.
    """

    __slots__ = ("_close_fd", "_closing", "_fd", "_loop", "_pending", "_wrote")

    def __init__(
        self,
        fd: int,
        wrote: Callable[[int], None],
        close_fd: Callable[[int], None] = os.close,
    ) -> None:
        self._fd = fd
        self._close_fd = close_fd
        self._wrote = wrote
        self._pending: deque[bytes] = deque()
        self._closing = fd < 0
        self._loop = asyncio.get_running_loop()

    def write(self, data: bytes) -> None:
        """Write `data`, now or later."""
        if self._closing or self._fd < 0:
            self._wrote(len(data))
            return
        waiting = bool(self._pending)
        self._pending.append(data)
        if not waiting and not self._flush():
            self._loop.add_writer(self._fd, self._writable)

    def finish(self) -> None:
        """Close once everything was written.  Idempotent."""
        self._closing = True
        if not self._pending:
            self.close()

    def close(self) -> None:
        """Close now.  Idempotent."""
        if self._fd >= 0:
            if self._pending:
                self._loop.remove_writer(self._fd)
                self._discard()
            self._close_fd(self._fd)
            self._fd = -1

    def _writable(self) -> None:
        if self._flush():
            self._loop.remove_writer(self._fd)
            if self._closing:
                self.close()

    def _flush(self) -> bool:
        """Write what the pipe takes; True once nothing is left."""
        pending = self._pending
        while pending:
            data = pending[0]
            try:
                size = os.write(self._fd, data)
            except BlockingIOError:
                return False
            except OSError:  # the command closed its input: the rest is of no use to it
                self._closing = True
                self._discard()
                return True
            if size == len(data):
                pending.popleft()
            else:
                pending[0] = data[size:]
            self._wrote(size)
        return True

    def _discard(self) -> None:
        size = sum(map(len, self._pending))
        self._pending.clear()
        self._wrote(size)
