"""The channel: a `Mux` on the link, its streams, and what an epoch means to the guest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from sandbox_guest import events, framing
from sandbox_guest import mux as wire
from sandbox_guest.framing import FramingError, parse_control
from sandbox_guest.mux import Mux, Role
from sandbox_guest.stream import Stream
from sandbox_guest.tasks import log

_HEADERS = wire.HEADER.size + framing.HEADER.size


class ByteLink(Protocol):
    """What carries the channel; `link.Link` is the real one."""

    def start(
        self, receive: Callable[[bytes | memoryview], None], lost: Callable[[], None]
    ) -> None:
        """Hand every chunk to `receive`; call `lost` each time the host closed its end."""

    def send(self, chunks: list[bytes]) -> None:
        """Write `chunks`, in order, after what was sent before."""

    def send_buffer(self, buffer: memoryview) -> None:
        """The same for a buffer that is used again after the call."""

    def discard(self) -> None:
        """Forget what has not been written."""


class Machine(Protocol):
    """What the channel asks of the rest of the agent between epochs."""

    def greet(self, body: dict[str, object]) -> bytes:
        """Apply the identity of a greeting, let the workload run; return the welcome."""

    def quiesce(self) -> None:
        """Stop the workload and write out what it wrote."""

    def resume(self) -> None:
        """Let the workload run on."""


class Channel:
    """Dispatches what arrives; sends what streams queue.

    Invariants
        Events of one chunk are handled before anything is sent: answers travel together.
        Nothing is sent between QUIESCED and what ends it.
    """

    def __init__(
        self, link: ByteLink, machine: Machine, accept: Mapping[int, Callable[[Stream], None]]
    ) -> None:
        self.mux = Mux(Role.GUEST)
        self._link = link
        self._machine = machine
        self._accept = accept
        self._streams: dict[int, Stream] = {}
        self._handling = False
        self._frame = memoryview(bytearray(wire.HEADER.size + wire.MAX_PAYLOAD))

    def start(self) -> None:
        """Begin to read the link."""
        self._link.start(self._receive, self._lose)

    def open(self, port: int) -> Stream | None:
        """Open a stream towards `port` of the host; None while no host is there."""
        if not self.mux.open or self.mux.quiet:
            return None
        number = self.mux.open_stream(port)
        stream = self._streams[number] = Stream(self, number, port)
        self.flush()
        return stream

    def flush(self) -> None:
        """Write what is queued; inside `_receive` that is done once, at its end."""
        if not self._handling and not self.mux.quiet:
            chunks = self.mux.take()
            if chunks:
                self._link.send(chunks)

    def send_bulk_from(self, stream: int, kind: int, fill: Callable[[memoryview], int]) -> int:
        """Send what `fill` reads into a frame, without a copy; how much that was.

        The stream has credit for a whole frame.
        """
        size = fill(self._frame[_HEADERS:])
        if not size:
            return 0
        self._frame[wire.HEADER.size : _HEADERS] = framing.HEADER.pack(kind, size)
        header = self.mux.reserve(stream, framing.HEADER.size + size)
        assert header is not None
        self._frame[: wire.HEADER.size] = header
        whole = self._frame[: _HEADERS + size]
        if self._handling or self.mux.quiet:
            self.mux.put(bytes(whole))
        else:
            self.flush()
            self._link.send_buffer(whole)
        return size

    def finish(self, stream: int) -> None:
        """End our direction of `stream`."""
        self.mux.finish(stream)
        self._forget_ended(stream)
        self.flush()

    def reset(self, stream: int, message: str) -> None:
        """End both directions of `stream`."""
        self.mux.reset(stream, message)
        self._streams.pop(stream, None)
        self.flush()

    def _receive(self, data: bytes | memoryview) -> None:
        self._handling = True
        try:
            for event in self.mux.receive(data):
                self._handle(event)
        finally:
            self._handling = False
            self.flush()

    def _handle(self, event: events.Event) -> None:
        match event:
            case events.Data():
                if (stream := self._streams.get(event.stream)) is not None:
                    stream.feed(event.data)
                else:
                    self.mux.grant(event.stream, len(event.data))
            case events.Writable():
                if (stream := self._streams.get(event.stream)) is not None:
                    stream.writable()
            case events.Opened():
                self._opened(event.stream, event.port)
            case events.Finished():
                if (stream := self._streams.get(event.stream)) is not None:
                    stream.peer_finished()
                    self._forget_ended(event.stream)
            case events.WasReset():
                if (stream := self._streams.pop(event.stream, None)) is not None:
                    stream.lose()
            case _:
                self._handle_epoch(event)

    def _handle_epoch(self, event: events.Event) -> None:
        match event:
            case events.Hello():
                self._hello(event)
            case events.Quiesce():
                self._machine.quiesce()
                self.mux.quiesced()
                self._link.send(self.mux.take())
            case events.Resume():
                self._machine.resume()
                self.mux.resumed()
            case events.Lost():
                log(f"channel lost: {event.reason}")
                self._drop_streams()

    def _opened(self, number: int, port: int) -> None:
        accept = self._accept.get(port)
        if accept is None:
            self.mux.reset(number, f"nothing listens on port {port}")
            return
        stream = self._streams[number] = Stream(self, number, port)
        accept(stream)

    def _hello(self, event: events.Hello) -> None:
        """A new epoch: whatever belongs to the old one dies before the workload may run."""
        self._drop_streams()
        self.mux.take()
        self._link.discard()
        try:
            body = parse_control(event.body)
        except FramingError as error:
            log(f"a greeting without sense: {error}")
            body = {}
        self.mux.welcome(event.nonce, self._machine.greet(body))

    def _lose(self) -> None:
        self.mux.lose()
        self.mux.take()
        self._drop_streams()

    def _drop_streams(self) -> None:
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.lose()

    def _forget_ended(self, stream: int) -> None:
        """The mux forgets a stream that ended both ways; so do we."""
        if not self.mux.knows(stream):
            self._streams.pop(stream, None)
