"""Bytes both ways between an RPC's `data` and a pair of descriptors."""

from __future__ import annotations

import os
from collections.abc import Callable

from sandbox_guest.framing import FrameKind
from sandbox_guest.pipes import Feeder, Pump
from sandbox_guest.silkd.rpc import Rpc


class Duplex:
    """Relays until what is read ends, which ends the RPC with `done`.

    The client's `data_end` closes what is written and nothing else.  With `halves` the
    end of what is read is told by `data_end`, and the RPC ends once both directions did.
    `closed` is called once, whatever ended it.
    """

    def __init__(
        self,
        rpc: Rpc,
        reading: int,
        writing: int,
        closed: Callable[[], None] = lambda: None,
        close_writing: Callable[[int], None] = os.close,
        *,
        halves: bool = False,
    ) -> None:
        """Owns both descriptors, which are non-blocking.  The client was told `ready`."""
        self._rpc, self._closed = rpc, closed
        self._close_writing, self._halves = close_writing, halves
        self._written = self._over = False
        stream = rpc.stream
        self._feeder = Feeder(writing, stream.grant, self._written_out)
        self._pump = Pump(reading, self._read, self._ended)
        stream.on_room = self._pump.resume
        stream.on_gone = self._close
        rpc.listen(self._take, self._feeder.finish, end_op="data_end")

    def _read(self, fd: int, most: int) -> int | None:
        stream = self._rpc.stream
        if not stream.room():
            return None
        return stream.send_bulk_from(FrameKind.DATA, lambda view: os.readv(fd, (view[:most],)))

    def _take(self, kind: int, data: bytes) -> None:
        if kind == FrameKind.DATA:
            self._feeder.write(data)
        else:
            self._rpc.stream.grant(len(data))

    def _ended(self) -> None:
        if self._halves and not self._written:
            self._rpc.send({"type": "data_end"})
        else:
            self._finish()

    def _written_out(self, fd: int) -> None:
        if self._written:  # from within itself, by `_finish()`
            return
        self._written = True
        self._close_writing(fd)
        if self._halves and self._pump.fd < 0 and not self._over:
            self._finish()

    def _finish(self) -> None:
        self._close()
        self._rpc.finish({"type": "done"})

    def _close(self) -> None:
        self._over = True
        self._pump.close()
        self._feeder.close()
        self._closed()
