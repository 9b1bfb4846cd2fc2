"""Commands without a stream of their own: their output goes to a ring, readers come and go.

Detached commands and terminals are this.  A reader follows the ring at its own pace; the
command does not wait for it, except a terminal for the reader that holds it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from sandbox_guest.framing import FrameKind
from sandbox_guest.pipes import Feeder, Pump, reading
from sandbox_guest.process import Command, Launcher, resize
from sandbox_guest.ring import CAPACITY, Ring
from sandbox_guest.stream import BULK_MAX, Stream

DRAIN_S = 2.0
_READ = 64 << 10  # at a time, so that a reader which holds never loses what is in the ring


class Background:
    """One command and its ring.

    `over` is true once it ended and its output with it, or `DRAIN_S` later if something
    it left behind holds the output open; that goes on writing to the ring.
    """

    def __init__(self, launcher: Launcher, command: Command, ended: Callable[[], None]) -> None:
        """Start it; raises what `Launcher.start` does.  `ended` is called when it is `over`."""
        self._ended = ended
        self._began = time.monotonic()
        self._took_s = 0.0
        self._limit: asyncio.TimerHandle | None = None
        self._max_output: int | None = None
        self.timed_out = self.truncated = False
        """What ended it, where that was a limit."""
        self.taken = 0
        """Bytes of input it was given."""
        self.on_taken_over: Callable[[], None] | None = None
        """Called when another stream becomes the one that is attached."""
        self._readers: list[Reader] = []
        self._timer: asyncio.TimerHandle | None = None
        started = launcher.start(command)
        self.ring = Ring()
        self.process = started.process
        self.process.on_exit = self._exited
        self._terminal = started.stdout if command.terminal is not None else -1
        self.takes_input = started.stdin >= 0
        self._input = Feeder(started.stdin, self._wrote)
        self.on_wrote: Callable[[int], None] | None = None
        """Told how much of what was typed the terminal took."""
        self._pumps: list[Pump] = []
        for fd, kind in ((started.stdout, FrameKind.STDOUT), (started.stderr, FrameKind.STDERR)):
            if fd >= 0:
                read = reading(self._room, self._giver(kind))
                self._pumps.append(Pump(fd, read, self._output_ended))
        self.over = False

    @property
    def is_terminal(self) -> bool:
        """It runs on a terminal, which takes input."""
        return self._terminal >= 0

    @property
    def duration_ms(self) -> int:
        """How long it ran, or runs already."""
        took = self._took_s if self.over else time.monotonic() - self._began
        return round(took * 1000)

    def write(self, data: bytes) -> None:
        """Type `data`."""
        self.taken += len(data)
        self._input.write(data)

    def end_input(self) -> None:
        """No more input: end of file, or what a terminal has for it."""
        if self.is_terminal:
            self._input.write(b"\x04")
        self._input.finish()
        self.takes_input = False

    def limit(self, *, timeout_s: float | None, max_output: int | None) -> None:
        """Kill it after so long, or when one of its outputs has more bytes."""
        self._max_output = max_output
        if timeout_s is not None and not self.over:
            self._limit = asyncio.get_running_loop().call_later(timeout_s, self._time_out)

    def _time_out(self) -> None:
        self.timed_out = True
        self.process.kill()

    def _wrote(self, size: int) -> None:
        if self.on_wrote is not None:
            self.on_wrote(size)

    def resize(self, columns: int, rows: int) -> bool:
        """Resize its terminal; False if it has none, or no longer."""
        alive = self.is_terminal and self._pumps[0].fd >= 0
        if alive:
            resize(self._terminal, columns, rows)
        return alive

    def linger(self, seconds: float) -> None:
        """Kill it unless somebody reads it again within `seconds`."""

        def check() -> None:
            if not self._readers and not self.over:
                self.process.kill()

        asyncio.get_running_loop().call_later(seconds, check)

    # -- readers -----------------------------------------------------------------

    def add(self, reader: Reader) -> None:
        """Tell `reader` of what comes."""
        self._readers.append(reader)

    def remove(self, reader: Reader) -> None:
        """Tell it no more.  Idempotent."""
        if reader in self._readers:
            self._readers.remove(reader)
            self.resume()

    def resume(self) -> None:
        """A reader that held it back has room."""
        for pump in self._pumps:
            pump.resume()

    # -- inside ------------------------------------------------------------------

    def _room(self) -> int:
        return 0 if any(reader.holds() for reader in self._readers) else _READ

    def _giver(self, kind: FrameKind) -> Callable[[bytes], None]:
        def give(data: bytes) -> None:
            self.ring.append(kind, data)
            self._check_size(kind)
            for reader in list(self._readers):
                reader.pump()

        return give

    def _check_size(self, kind: FrameKind) -> None:
        most = self._max_output
        if most is not None and self.ring.totals[kind] > most and not self.truncated:
            self.truncated = True
            self.process.kill()

    def _exited(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
        if all(pump.fd < 0 for pump in self._pumps):
            self._finish()
        else:
            self._timer = asyncio.get_running_loop().call_later(DRAIN_S, self._finish)

    def _output_ended(self) -> None:
        if self.process.status is not None and all(pump.fd < 0 for pump in self._pumps):
            self._finish()

    def _finish(self) -> None:
        if self.over:
            return
        self._took_s = time.monotonic() - self._began
        self.over = True
        self.takes_input = False
        if self._timer is not None:
            self._timer.cancel()
        self._input.close()
        self.process.close()
        for reader in list(self._readers):
            reader.pump()
        self._ended()


class Reader:
    """Sends a ring's bytes to a stream as it has room, from the oldest on.

    It begins with `pump()`.  `ended` is called once everything was sent and the command
    is over.
    """

    def __init__(
        self,
        source: Background,
        stream: Stream,
        ended: Callable[[], None],
        *,
        holding: bool,
        begin: Mapping[int, int] | None = None,
    ) -> None:
        """`holding`: the command waits rather than let this reader miss a byte.

        `begin` has the offset, of each kind, of the first byte that is sent.
        """
        self._source, self._stream, self._ended = source, stream, ended
        self._holding = holding
        self._begin = dict(begin or {})
        self._position = 0
        self._done = False
        stream.on_room = self._on_room
        source.add(self)

    def holds(self) -> bool:
        """The command must wait for this reader."""
        behind = self._source.ring.end - self._position
        return self._holding and behind > CAPACITY - _READ

    def pump(self) -> None:
        """Send what there is, as far as there is room."""
        if self._done:
            return
        ring = self._source.ring
        while self._stream.room():
            piece = ring.piece(self._position, BULK_MAX)
            if piece is None:
                if self._source.over:
                    self.close()
                    self._ended()
                return
            self._position = piece.next
            data = piece.data[max(0, self._begin.get(piece.kind, 0) - piece.offset) :]
            if data:
                self._stream.send_bulk(FrameKind(piece.kind), data)

    def close(self) -> None:
        """Read no more.  Idempotent."""
        if not self._done:
            self._done = True
            self._stream.on_room = None
            self._source.remove(self)

    def _on_room(self) -> None:
        self.pump()
        self._source.resume()
