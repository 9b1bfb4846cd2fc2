"""The byte link to the host: a virtio-serial port.

What the kernel's driver does, and what follows:
  * one write takes at most 32 KiB and one read returns at most a page, whatever was
    asked for; `writev` and `readv` repeat the driver's call for each segment, so
    segments of just that size move a large chunk in one system call;
  * while the host's end is closed the port polls as hung up without pause and reads as
    empty.  An edge-triggered epoll, nested in the loop's own, turns that into silence
    until the state changes: an idle guest does nothing.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
from collections.abc import Callable
from pathlib import Path

WRITE_MAX = 32 << 10
READ_PAGE = 4096
READ_MAX = 256 << 10
_SEGMENTS = 64

Segment = bytes | memoryview
Receive = Callable[[Segment], None]


def find_port(name: str) -> str | None:
    """The device of the virtio-serial port called `name`."""
    for entry in sorted(Path("/sys/class/virtio-ports").glob("*/name")):
        if entry.read_text().strip() == name:
            return f"/dev/{entry.parent.name}"
    return None


class Link:
    """A non-blocking descriptor with an output queue.

    The queue is bounded by the channel: nothing is sent without credit.
    """

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._receive: Receive = lambda _: None
        self._lost: Callable[[], None] = lambda: None
        self._pending: list[Segment] = []
        self._bulk = False  # the last read was full: more is waiting
        self._buffer = bytearray(READ_MAX)
        view = memoryview(self._buffer)
        self._view = view
        self._pages = [view[at : at + READ_PAGE] for at in range(0, READ_MAX, READ_PAGE)]
        self._revival = select.epoll()

    def start(self, receive: Receive, lost: Callable[[], None]) -> None:
        """Hand every chunk to `receive`; call `lost` each time the host closed its end.

        A chunk may be a view of a buffer that is used again after the call.
        """
        self._receive, self._lost = receive, lost
        self._loop.add_reader(self._fd, self._readable)

    # -- in ----------------------------------------------------------------------

    def _readable(self) -> None:
        try:
            if self._bulk:
                size = os.readv(self._fd, self._pages)
                data: Segment = self._view[:size]
            else:
                data = os.read(self._fd, READ_PAGE)
        except BlockingIOError:
            return
        except OSError as error:
            _check_hang_up(error)
            data = b""
        if data:
            self._bulk = len(data) >= READ_PAGE
            self._receive(data)
        else:
            self._hung_up()

    def _hung_up(self) -> None:
        self._loop.remove_reader(self._fd)
        self.discard()
        self._lost()
        events = select.EPOLLIN | select.EPOLLOUT | select.EPOLLET
        self._revival.register(self._fd, events)
        self._loop.add_reader(self._revival.fileno(), self._changed)

    def _changed(self) -> None:
        if any(mask & select.EPOLLHUP for _, mask in self._revival.poll(0)):
            return
        self._loop.remove_reader(self._revival.fileno())
        self._revival.unregister(self._fd)
        self._loop.add_reader(self._fd, self._readable)

    # -- out ---------------------------------------------------------------------

    def send(self, chunks: list[bytes]) -> None:
        """Write `chunks` now as far as the port takes them, and the rest when it does."""
        segments = _segments(chunks)
        if self._pending:
            self._pending += segments
            return
        self._pending = segments
        self._write()
        if self._pending:
            self._loop.add_writer(self._fd, self._writable)

    def send_buffer(self, buffer: memoryview) -> None:
        """The same for a buffer that is used again after the call: what must wait is copied."""
        if self._pending:
            self._pending.append(bytes(buffer))
            return
        whole = len(buffer)
        try:
            size = os.writev(
                self._fd, [buffer[at : at + WRITE_MAX] for at in range(0, whole, WRITE_MAX)]
            )
        except BlockingIOError:
            size = 0
        except OSError as error:
            _check_hang_up(error)
            return
        if size < whole:
            self.send([bytes(buffer[size:])])

    def discard(self) -> None:
        """Forget what has not been written."""
        if self._pending:
            self._pending = []
            self._loop.remove_writer(self._fd)

    def _writable(self) -> None:
        self._write()
        if not self._pending:
            self._loop.remove_writer(self._fd)

    def _write(self) -> None:
        while pending := self._pending:
            try:
                if len(pending) == 1:
                    size = os.write(self._fd, pending[0])
                else:
                    size = os.writev(self._fd, pending[:_SEGMENTS])
            except BlockingIOError:
                return
            except OSError as error:
                _check_hang_up(error)
                self._pending = []  # the reader learns of the loss
                return
            self._drop(size)

    def _drop(self, size: int) -> None:
        pending = self._pending
        whole = 0
        for segment in pending:
            if size < len(segment):
                break
            size -= len(segment)
            whole += 1
        del pending[:whole]
        if size:
            pending[0] = memoryview(pending[0])[size:]


def _check_hang_up(error: OSError) -> None:
    """Raise what is not the host's going away."""
    if error.errno not in (errno.EPIPE, errno.ECONNRESET):
        raise error


def _segments(chunks: list[bytes]) -> list[Segment]:
    """Cut and join `chunks` into segments of `WRITE_MAX`, copying at most one of those a chunk."""
    segments: list[Segment] = []
    small: list[Segment] = []
    room = WRITE_MAX
    for chunk in chunks:
        if len(chunk) <= room:
            small.append(chunk)
            room -= len(chunk)
            continue
        view = memoryview(chunk)
        small.append(view[:room])
        segments.append(b"".join(small))
        whole = room + (len(chunk) - room) // WRITE_MAX * WRITE_MAX
        segments += [view[at : at + WRITE_MAX] for at in range(room, whole, WRITE_MAX)]
        small = [view[whole:]]
        room = WRITE_MAX - (len(chunk) - whole)
    if small:
        segments.append(small[0] if len(small) == 1 else b"".join(small))
    return segments
