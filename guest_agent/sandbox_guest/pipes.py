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
_BURST_S = 0.003  # reads closer together than this
_BURST_READS = 8  # and as many as this in a row are a burst
_GATHER_S = 0.001


Read = Callable[[int, int], int | None]
"""`read(fd, most)` disposes of up to `most` bytes of `fd` and returns how many; 0 is the end
and None that there is no room for any."""


class Pump:
    """Has `fd` read whenever there is something; `ended()` at its end.

    The end is told once, not after `close()`.  The pump owns `fd`.
    """

    __slots__ = ("_burst", "_ended", "_last", "_loop", "_paused", "_read", "_size", "fd")

    def __init__(self, fd: int, read: Read, ended: Callable[[], None]) -> None:
        self.fd = fd
        self._read, self._ended = read, ended
        self._size = _PIPE_DEFAULT
        self._paused = False
        self._burst = 0
        self._last = 0.0
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
        try:
            size = self._read(self.fd, self._size)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process left the terminal
            size = 0
        if size is None:
            self._pause()
        elif size == 0:
            if self.fd >= 0:
                self.close()
                self._ended()
        elif size >= _PIPE_DEFAULT:
            self._burst = 0
            if self._size == _PIPE_DEFAULT:
                self._grow()
        else:
            self._gather()

    def _pause(self) -> None:
        self._paused = True
        self._loop.remove_reader(self.fd)

    def _grow(self) -> None:
        """A command that fills its pipe gets a larger one: fewer switches to and fro."""
        self._size = BULK_MAX
        with contextlib.suppress(OSError):
            fcntl.fcntl(self.fd, fcntl.F_SETPIPE_SZ, _PIPE_BULK)

    def _gather(self) -> None:
        """A command that writes little by little without pause is let write for a moment.

        Or each of its writes would wake us, and each wake costs more than the bytes.
        """
        now = self._loop.time()
        self._burst = self._burst + 1 if now - self._last < _BURST_S else 0
        self._last = now
        if self._burst >= _BURST_READS and self.fd >= 0 and not self._paused:
            self._pause()
            self._loop.call_later(_GATHER_S, self.resume)


def always() -> int:
    """Room for whatever comes."""
    return BULK_MAX


def reading(room: Callable[[], int], give: Callable[[bytes], None]) -> Read:
    """Reads into `give(data)` as far as `room()` says."""

    def read(fd: int, most: int) -> int | None:
        most = min(room(), most)
        if not most:
            return None
        data = os.read(fd, most)
        if data:
            give(data)
        return len(data)

    return read


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
        self._pending.append(bytes(data) if waiting else data)
        if not waiting and not self._flush():
            self._pending[0] = bytes(self._pending[0])  # it may be a view of the link's buffer
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
