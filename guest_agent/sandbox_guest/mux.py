"""The multiplexed channel between engine and agent: many streams on one byte link.

Pure and symmetric: no I/O, no clock.  Bytes that arrived go into `receive()`, which
returns events; bytes to send come out of `take()`.  The engine (`Role.HOST`) and the
agent (`Role.GUEST`) use this very file.

Wire
    A frame is a 12-byte header, `kind u8, flags u8 (0), port u16, stream u32,
    length u32` (big endian), and `length` bytes of payload.  Streams the host opens
    are odd, the guest's are even.  A stream is bytes in both directions, each closed
    on its own (FIN), or ended at once (RESET).

Flow control
    A sender may have `WINDOW` bytes of one stream in flight.  The receiver returns
    credit with `grant()` once it has disposed of what it got, so a slow reader holds
    back its own stream and no other.

Epochs
    After a restore, or when either end lost its place, every old stream is dead.  An
    end without an epoch skips bytes until it finds `MAGIC`, which only a greeting
    (HELLO, WELCOME) carries; the host's greeting holds a fresh nonce that the
    guest's answer repeats, so stale bytes are never taken for an answer.  The host
    sends `resync()` first where it cannot know that the guest is between frames.
    `QUIESCE` takes a guest to a clean boundary before a snapshot: it sends nothing
    after `QUIESCED` until `RESUME` (the same epoch goes on) or HELLO (a new one).
"""

from __future__ import annotations

import enum
import struct
from typing import cast

from sandbox_guest.events import (
    Data,
    Event,
    Finished,
    Hello,
    Lost,
    Opened,
    Quiesce,
    Quiesced,
    Resume,
    Resumed,
    WasReset,
    Welcome,
    Writable,
)

HEADER = struct.Struct(">BBHII")
MAGIC = bytes.fromhex("9b1ec0de5a4db0c5f00ddeadc4a11e57")
NONCE_SIZE = 16
WINDOW = 4 << 20
"""Bytes of one stream that may be in flight in one direction."""
GRANT = WINDOW // 4
"""Credit is returned in pieces of this: a sender whose bytes were all disposed of has credit
for all but one, and may wait for it."""
MAX_PAYLOAD = 1 << 20
"""Largest payload of one frame.  Large, because every frame costs an emulated guest as much as
copying a hundred kilobytes; it bounds how long a bulk stream delays its neighbours (2 ms)."""
MAX_CONTROL = 1024
"""Largest payload of a frame that is neither data nor a greeting."""
MAX_GREETING = 1 << 20
GREETING_FIXED = len(MAGIC) + NONCE_SIZE


class Kind(enum.IntEnum):
    """What a frame is; 0 is invalid so that a run of zeros is never a frame."""

    HELLO = 1
    WELCOME = 2
    OPEN = 3
    DATA = 4
    CREDIT = 5
    FIN = 6
    RESET = 7
    QUIESCE = 8
    QUIESCED = 9
    RESUME = 10
    RESUMED = 11


class Role(enum.Enum):
    """Which end this is."""

    HOST = "host"
    GUEST = "guest"


class MuxError(Exception):
    """The peer broke the protocol; the epoch is over."""


class _Stream:
    """Credit and half-close state of one stream."""

    __slots__ = ("credit", "finished", "peer_finished", "ungranted", "window")

    def __init__(self) -> None:
        self.credit = WINDOW  # what we may still send
        self.window = WINDOW  # what the peer may still send
        self.ungranted = 0  # disposed of, not yet returned as credit
        self.finished = False
        self.peer_finished = False


class Mux:
    """One end of the channel.

    Invariants
        Without an epoch (`open` is false) nothing but a greeting is accepted or sent.
        A stream leaves the table once both directions ended; late frames for it are
        dropped, since the peer may have sent them before it knew.
    """

    def __init__(self, role: Role) -> None:
        self._role = role
        self._streams: dict[int, _Stream] = {}
        self._next = 1 if role is Role.HOST else 2
        self._in = bytearray()  # the start of what has not arrived whole
        self._need = 0  # how long that must be before it is looked at again
        self._bulk_stream = 0  # stream of the DATA frame being received
        self._bulk_left = 0  # its bytes still to come
        self._out: list[bytes] = []
        self._nonce: bytes | None = None
        self.open = False
        self.quiet = False

    # -- epochs ------------------------------------------------------------------

    def hello(self, nonce: bytes, body: bytes) -> None:
        """Begin an epoch (host).  Every stream of the one before is forgotten."""
        self._forget()
        self._nonce = nonce
        self._greet(Kind.HELLO, nonce, body)

    def welcome(self, nonce: bytes, body: bytes) -> None:
        """Confirm an epoch (guest)."""
        self._greet(Kind.WELCOME, nonce, body)
        self.open = True

    def resync(self) -> None:
        """Send zeros enough to end any frame the guest may be in the middle of (host)."""
        self._out.append(bytes(MAX_GREETING + HEADER.size))

    def lose(self) -> None:
        """Forget the epoch and what arrived: the link itself was closed and opened again."""
        self._in.clear()
        self._forget()

    def quiesce(self) -> None:
        """Ask the guest for silence (host)."""
        self._frame(Kind.QUIESCE, 0)

    def quiesced(self) -> None:
        """Promise silence (guest): nothing may be sent until `Resume` or `Hello`."""
        self._frame(Kind.QUIESCED, 0)
        self.quiet = True

    def resume(self) -> None:
        """Continue the epoch after a snapshot of this same machine (host)."""
        self._frame(Kind.RESUME, 0)

    def resumed(self) -> None:
        """Confirm (guest)."""
        self.quiet = False
        self._frame(Kind.RESUMED, 0)

    # -- streams -----------------------------------------------------------------

    def open_stream(self, port: int) -> int:
        """Open a stream towards `port` of the peer; it may be sent on at once."""
        stream = self._next
        self._next += 2
        self._streams[stream] = _Stream()
        self._frame(Kind.OPEN, stream, port=port)
        return stream

    def send(self, stream: int, data: bytes | bytearray | memoryview) -> int:
        """Queue as much of `data` as credit allows; return how many bytes that was.

        The rest waits for `Writable`.  0 on a stream that has ended.
        """
        state = self._streams.get(stream)
        if state is None or state.finished:
            return 0
        allowed = min(len(data), state.credit)
        state.credit -= allowed
        out = self._out
        if allowed <= MAX_PAYLOAD:
            if allowed:
                out.append(HEADER.pack(Kind.DATA, 0, 0, stream, allowed))
                out.append(bytes(data) if allowed == len(data) else bytes(data[:allowed]))
            return allowed
        view = memoryview(data)
        for start in range(0, allowed, MAX_PAYLOAD):
            piece = view[start : min(start + MAX_PAYLOAD, allowed)]
            out.append(HEADER.pack(Kind.DATA, 0, 0, stream, len(piece)))
            out.append(bytes(piece))
        return allowed

    def reserve(self, stream: int, size: int) -> bytes | None:
        """Take credit for a frame of `size` bytes; its header, or None if credit lacks.

        The caller writes header and payload itself, after everything taken so far.
        """
        state = self._streams.get(stream)
        if state is None or state.finished or state.credit < size or size > MAX_PAYLOAD:
            return None
        state.credit -= size
        return HEADER.pack(Kind.DATA, 0, 0, stream, size)

    def send_message(self, stream: int, header: bytes, body: bytes) -> bool:
        """Queue `header` and `body` as one frame, uncopied; False if credit lacks for both."""
        frame = self.reserve(stream, len(header) + len(body))
        if frame is None:
            return False
        self._out += (frame + header, body)
        return True

    def credit(self, stream: int) -> int:
        """How many bytes `send()` would take on `stream` now."""
        state = self._streams.get(stream)
        return 0 if state is None or state.finished else state.credit

    def grant(self, stream: int, size: int) -> None:
        """Return `size` received bytes of `stream` as credit, once disposed of."""
        state = self._streams.get(stream)
        if state is None or state.peer_finished:
            return
        state.ungranted += size
        if state.ungranted >= GRANT:  # batched: a frame a read would double the traffic
            state.window += state.ungranted
            self._frame(Kind.CREDIT, stream, state.ungranted.to_bytes(4, "big"))
            state.ungranted = 0

    def knows(self, stream: int) -> bool:
        """Whether `stream` has not ended in both directions."""
        return stream in self._streams

    def finish(self, stream: int) -> None:
        """Send no more on `stream` (half-close)."""
        state = self._streams.get(stream)
        if state is None or state.finished:
            return
        state.finished = True
        self._frame(Kind.FIN, stream)
        self._retire(stream, state)

    def reset(self, stream: int, message: str = "") -> None:
        """End `stream` in both directions at once."""
        if self._streams.pop(stream, None) is not None:
            self._frame(Kind.RESET, stream, message.encode()[:512])

    def put(self, frame: bytes) -> None:
        """Queue a frame whose header `reserve()` gave."""
        self._out.append(frame)

    def take(self) -> list[bytes]:
        """What to write to the link now, in order."""
        out, self._out = self._out, []
        return out

    # -- receiving ---------------------------------------------------------------

    def receive(self, data: bytes | memoryview) -> list[Event]:
        """Absorb bytes of the link; return what they meant.

        A broken frame ends the epoch: the list then holds `Lost`, and what follows in
        `data` is searched for a greeting.  A greeting ends whatever came before it in
        the list, so the list never mixes streams of two epochs.
        """
        kept = self._in
        if kept:
            kept += data
            if len(kept) < self._need:
                return []
            data = bytes(kept)
            kept.clear()
        events: list[Event] = []
        at, end = 0, len(data)
        while at < end:
            start = at
            if self._bulk_left:
                at = self._take_bulk(data, at, events)
            elif self.open:
                try:
                    at = self._take_frame(data, at, events)
                except MuxError as error:
                    self._forget()
                    events.append(Lost(str(error)))
                    continue
            else:
                data = bytes(data)  # as it is, if it is not a view
                at = self._find_greeting(data, at, events)
            if at == start and self._need > end - at:
                kept += data[at:]
                break
        return events

    def _take_bulk(self, data: bytes | memoryview, at: int, events: list[Event]) -> int:
        size = min(self._bulk_left, len(data) - at)
        self._bulk_left -= size
        if self._bulk_stream in self._streams:
            piece = data if size == len(data) else data[at : at + size]
            events.append(Data(self._bulk_stream, cast("bytes", piece)))  # see `Data`
        return at + size

    def _take_frame(self, data: bytes | memoryview, at: int, events: list[Event]) -> int:
        """Where the next frame starts; `at` itself if `_need` bytes are not here yet."""
        body = at + HEADER.size
        self._need = HEADER.size
        if len(data) < body:
            return at
        length: int
        kind, _, port, stream, length = HEADER.unpack_from(data, at)
        if kind == Kind.DATA:
            if length > MAX_PAYLOAD:
                raise MuxError(f"a frame of {length} bytes; the limit is {MAX_PAYLOAD}")
            self._begin_bulk(stream, length)
            return body
        if kind in (Kind.HELLO, Kind.WELCOME):
            self.open = False  # found again, and checked, by `_find_greeting`
            return at
        if not 0 < kind <= Kind.RESUMED or length > MAX_CONTROL:
            raise MuxError(f"no frame starts with kind {kind}, length {length}")
        self._need += length
        end = body + length
        if len(data) < end:
            return at
        self._control(Kind(kind), port, stream, bytes(data[body:end]), events)
        return end

    def _begin_bulk(self, stream: int, length: int) -> None:
        state = self._streams.get(stream)
        if state is not None:
            if state.peer_finished:
                raise MuxError(f"data on stream {stream} after its end")
            if length > state.window:
                raise MuxError(f"stream {stream} sent past its window")
            state.window -= length
        self._bulk_stream, self._bulk_left = stream, length

    def _control(
        self, kind: Kind, port: int, stream: int, payload: bytes, events: list[Event]
    ) -> None:
        match kind:
            case Kind.OPEN:
                if stream % 2 == self._next % 2 or stream in self._streams:
                    raise MuxError(f"stream {stream} is not the peer's to open")
                self._streams[stream] = _Stream()
                events.append(Opened(stream, port))
            case Kind.QUIESCE:
                events.append(Quiesce())
            case Kind.QUIESCED:
                events.append(Quiesced())
            case Kind.RESUME:
                events.append(Resume())
            case Kind.RESUMED:
                events.append(Resumed())
            case _:
                state = self._streams.get(stream)
                if state is not None:
                    self._stream_control(kind, stream, state, payload, events)

    def _stream_control(
        self, kind: Kind, stream: int, state: _Stream, payload: bytes, events: list[Event]
    ) -> None:
        if kind is Kind.CREDIT:
            state.credit += int.from_bytes(payload, "big")
            if state.credit > WINDOW:
                raise MuxError(f"stream {stream} was given more credit than it used")
            events.append(Writable(stream))
        elif kind is Kind.FIN:
            state.peer_finished = True
            events.append(Finished(stream))
            self._retire(stream, state)
        else:
            del self._streams[stream]
            events.append(WasReset(stream, payload.decode(errors="replace")))

    def _find_greeting(self, data: bytes, at: int, events: list[Event]) -> int:
        """Skip to a greeting meant for this end and consume it; as `_take_frame`."""
        found = data.find(MAGIC, at + HEADER.size)
        if found < 0:
            # Its header and all but the last byte of the magic may be here already.
            self._need = HEADER.size + len(MAGIC)
            return max(at, len(data) - self._need + 1)
        start = found - HEADER.size
        length: int
        kind, _, _, _, length = HEADER.unpack_from(data, start)
        expected = Kind.HELLO if self._role is Role.GUEST else Kind.WELCOME
        if kind != expected or not GREETING_FIXED <= length <= MAX_GREETING:
            return found + 1
        self._need = HEADER.size + length
        if len(data) < found + length:
            return start
        nonce = data[found + len(MAGIC) : found + GREETING_FIXED]
        self._greeted(nonce, data[found + GREETING_FIXED : found + length], events)
        return found + length

    def _greeted(self, nonce: bytes, body: bytes, events: list[Event]) -> None:
        if self._role is Role.GUEST:
            self._streams.clear()
            self._next = 2
            self.quiet = False
            events[:] = [Hello(nonce, body)]
            self.open = True  # frames may follow at once; replies wait for `welcome()`
        elif nonce == self._nonce:
            self.open = True
            events[:] = [Welcome(body)]

    # -- shared ------------------------------------------------------------------

    def _greet(self, kind: Kind, nonce: bytes, body: bytes) -> None:
        payload = MAGIC + nonce + body
        self._out.append(HEADER.pack(kind, 0, 0, 0, len(payload)) + payload)

    def _frame(self, kind: Kind, stream: int, payload: bytes = b"", port: int = 0) -> None:
        self._out.append(HEADER.pack(kind, 0, port, stream, len(payload)) + payload)

    def _retire(self, stream: int, state: _Stream) -> None:
        if state.finished and state.peer_finished:
            del self._streams[stream]

    def _forget(self) -> None:
        self._streams.clear()
        self._next = 1 if self._role is Role.HOST else 2
        self._bulk_left = 0
        self.open = False
        self.quiet = False
