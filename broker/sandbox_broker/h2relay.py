"""An intercepted HTTP/2 connection: each stream judged by itself, relayed to one upstream.

Flow control is end to end: a guest's window grows by what the upstream took, and the other way
round, so a slow side costs one window of memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from sandbox_broker import plan as plans
from sandbox_broker import tasks
from sandbox_broker.errors import Denied, Malformed, Misdirected, Refused, TooLarge, UpstreamFailed
from sandbox_broker.http1 import Headers, authority, parse_authority
from sandbox_broker.policy import Grant, judge_request
from sandbox_broker.record import Entry, Recorder
from sandbox_broker.relay import Means
from sandbox_broker.scrub import Replacer
from sandbox_broker.stream import Closed, Stream

CONNECTION_WINDOW = 1 << 20
_REFUSED = h2.errors.ErrorCodes.REFUSED_STREAM
_CANCEL = h2.errors.ErrorCodes.CANCEL


@dataclass(slots=True)
class _Item:
    """Something to send on a stream: bytes, then perhaps trailers, then perhaps the end."""

    data: bytes = b""
    trailers: Headers | None = None
    end: bool = False
    credit: int = 0


@dataclass(slots=True)
class _Lane:
    """One stream, on both sides."""

    entry: Entry
    up: int
    down: int
    body: Replacer
    scrub: Replacer
    to_up: deque[_Item] = field(default_factory=deque)
    to_down: deque[_Item] = field(default_factory=deque)
    up_ended: bool = False
    down_ended: bool = False


class H2Relay:
    """Runs until either side ends."""

    def __init__(
        self,
        means: Means,
        recorder: Recorder,
        *,
        grant: Grant,
        ask: Callable[[], Awaitable[Grant]],
        origin: tuple[str, int],
        client: Stream,
        upstream: Stream,
    ) -> None:
        self._means, self._grant, self._ask, self._recorder = means, grant, ask, recorder
        self._origin = origin
        self._down_stream, self._up_stream = client, upstream
        self._down = _connection(client_side=False)
        self._up = _connection(client_side=True)
        self._by_down: dict[int, _Lane] = {}
        self._by_up: dict[int, _Lane] = {}

    async def run(self) -> None:
        """Relay; the caller closes both connections."""
        for connection in (self._down, self._up):
            connection.initiate_connection()
            connection.increment_flow_control_window(CONNECTION_WINDOW)
        self._flush()
        pumps = [
            tasks.spawn(self._pump(self._down_stream, self._down, self._up_stream), name="h2 out"),
            tasks.spawn(self._pump(self._up_stream, self._up, self._down_stream), name="h2 in"),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await tasks.cancel(*pumps)
            for lane in list(self._by_down.values()):
                self._finish(lane)

    async def _pump(
        self, source: Stream, connection: h2.connection.H2Connection, sink: Stream
    ) -> None:
        handle = self._from_guest if connection is self._down else self._from_upstream
        try:
            while data := await source.read():
                if connection is self._down:
                    self._grant = await self._ask()
                for event in connection.receive_data(data):
                    if isinstance(event, h2.events.ConnectionTerminated):
                        return
                    handle(event)
                self._flush()
                await sink.drain()
        except (h2.exceptions.ProtocolError, Refused, Closed, OSError):
            pass
        finally:
            self._flush()

    # What the guest sends.

    def _from_guest(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self._request(event)
            return
        lane = self._by_down.get(getattr(event, "stream_id", 0) or 0)
        if isinstance(event, h2.events.DataReceived):
            self._guest_data(event, lane)
        elif lane is None:
            return
        elif isinstance(event, h2.events.TrailersReceived):
            lane.to_up.append(_Item(lane.body.end(), trailers=_plain(event.headers), end=True))
            lane.up_ended = True
        elif isinstance(event, h2.events.StreamEnded) and not lane.up_ended:
            lane.to_up.append(_Item(lane.body.end(), end=True))
            lane.up_ended = True
        elif isinstance(event, h2.events.StreamReset):
            _reset(self._up, lane.up, event.error_code)
            self._finish(lane)

    def _guest_data(self, event: h2.events.DataReceived, lane: _Lane | None) -> None:
        credit = event.flow_controlled_length or 0
        if lane is None:  # refused; the rest of its body is let by
            self._down.acknowledge_received_data(credit, event.stream_id or 0)
            return
        lane.entry.sent += len(event.data or b"")
        if lane.entry.sent > self._means.max_body:
            _reset(self._up, lane.up, _CANCEL)
            self._refuse(lane.down, TooLarge("the body is over the limit"))
            lane.entry.status = 413
            self._finish(lane)
            return
        lane.to_up.append(_Item(lane.body.feed(event.data or b""), credit=credit))

    def _request(self, event: h2.events.RequestReceived) -> None:
        down = event.stream_id or 0
        headers = _plain(event.headers)
        pseudo = {name: value for name, value in headers if name.startswith(b":")}
        entry = self._recorder.begin(
            self._grant.sandbox_id, *self._origin, pseudo.get(b":method", b"").decode("latin-1")
        )
        try:
            plan = self._admit(pseudo, headers, entry)
            up = self._up.get_next_available_stream_id()
            self._up.send_headers(up, plan.headers, end_stream=False)
        except Refused as error:
            entry.status, entry.reason = error.status, error.reason
            self._recorder.finish(entry)
            self._refuse(down, error)
            return
        except h2.exceptions.ProtocolError:
            entry.status, entry.reason = 502, "the upstream takes no further stream"
            self._recorder.finish(entry)
            _reset(self._down, down, _REFUSED)
            return
        lane = _Lane(entry, up, down, plan.body, plan.scrub())
        self._by_down[down] = self._by_up[up] = lane

    def _admit(self, pseudo: dict[bytes, bytes], headers: Headers, entry: Entry) -> plans.Plan:
        host, port = self._origin
        hosts = [value for name, value in headers if name == b"host"]
        for named in (pseudo.get(b":authority", b""), *hosts):
            if named and parse_authority(named.decode("latin-1")) != self._origin:
                raise Misdirected("the request names another host than its connection")
        path = pseudo.get(b":path", b"")
        if not path.startswith(b"/") or b"#" in path or pseudo.get(b":scheme") != b"https":
            raise Malformed("the target is no path of an https address")
        grant = self._grant
        verdict = judge_request(
            grant,
            host,
            port,
            entry.method,
            holds=lambda *asked: plans.holds(grant, self._means.held, *asked),
        )
        entry.decision = verdict.decision
        if not verdict.allowed:
            raise Denied("the egress policy does not allow this request", verdict.decision)
        rest = [each for each in headers if not each[0].startswith(b":")]
        trailers = [(n, v) for n, v in rest if n == b"te" and v == b"trailers"]
        plan = plans.make(
            grant, verdict, self._means.held, host=host, port=port, path=path, headers=rest
        )
        if plan.body:
            plan.headers = [each for each in plan.headers if each[0] != b"content-length"]
        plan.headers[:0] = [
            (b":method", entry.method.encode()),
            (b":scheme", b"https"),
            (b":authority", authority(host, port)),
            (b":path", plan.path),
        ]
        plan.headers += trailers
        entry.secrets, entry.upstream = plan.names, self._means.dialer.via
        return plan

    def _refuse(self, down: int, error: Refused) -> None:
        try:
            headers = [(":status", str(error.status)), ("content-type", "text/plain")]
            self._down.send_headers(down, headers)
            self._down.send_data(down, (error.reason + "\n").encode(), end_stream=True)
        except h2.exceptions.ProtocolError:
            _reset(self._down, down, _CANCEL)

    # What the upstream sends.

    def _from_upstream(self, event: h2.events.Event) -> None:
        lane = self._by_up.get(getattr(event, "stream_id", 0) or 0)
        if isinstance(event, h2.events.DataReceived):
            credit = event.flow_controlled_length or 0
            if lane is None:
                self._up.acknowledge_received_data(credit, event.stream_id or 0)
                return
            ready = lane.scrub.feed(event.data or b"")
            lane.entry.received += len(event.data or b"")
            lane.to_down.append(_Item(ready, credit=credit))
        elif lane is None:
            return
        elif isinstance(event, h2.events.ResponseReceived):
            self._response(event, lane)
        elif isinstance(event, h2.events.TrailersReceived):
            trailers = [(n, lane.scrub.whole(v)) for n, v in _plain(event.headers)]
            lane.to_down.append(_Item(lane.scrub.end(), trailers=trailers, end=True))
            lane.down_ended = True
        elif isinstance(event, h2.events.StreamEnded) and not lane.down_ended:
            lane.to_down.append(_Item(lane.scrub.end(), end=True))
            lane.down_ended = True
        elif isinstance(event, h2.events.StreamReset):
            _reset(self._down, lane.down, event.error_code)
            self._finish(lane)

    def _response(self, event: h2.events.ResponseReceived, lane: _Lane) -> None:
        headers = _plain(event.headers)
        encodings = [v for n, v in headers if n == b"content-encoding" and v != b"identity"]
        if lane.scrub and encodings:
            _reset(self._up, lane.up, _CANCEL)
            self._refuse(lane.down, UpstreamFailed("the upstream compressed what must be read"))
            lane.entry.status = 502
            self._finish(lane)
            return
        lane.entry.status = int(dict(headers).get(b":status", b"0"))
        scrubbed = [(n, lane.scrub.whole(v)) for n, v in headers]
        lane.down_ended = event.stream_ended is not None
        # Headers that end the stream stay so: gRPC tells errors by them, and by nothing after.
        self._down.send_headers(lane.down, scrubbed, end_stream=lane.down_ended)

    # Both.

    def _flush(self) -> None:
        for lane in list(self._by_down.values()):
            try:
                _send(self._up, lane.up, lane.to_up, self._down, lane.down)
                _send(self._down, lane.down, lane.to_down, self._up, lane.up)
            except h2.exceptions.ProtocolError:
                _reset(self._up, lane.up, _CANCEL)
                _reset(self._down, lane.down, _CANCEL)
                self._finish(lane)
                continue
            if lane.down_ended and not lane.to_down and (lane.up_ended and not lane.to_up):
                self._finish(lane)
        self._down_stream.write(self._down.data_to_send())
        self._up_stream.write(self._up.data_to_send())

    def _finish(self, lane: _Lane) -> None:
        if self._by_down.pop(lane.down, None) is not None:
            self._by_up.pop(lane.up, None)
            self._recorder.finish(lane.entry)


def _connection(*, client_side: bool) -> h2.connection.H2Connection:
    config = h2.config.H2Configuration(client_side=client_side, header_encoding=None)
    return h2.connection.H2Connection(config=config)


def _plain(headers: Iterable[tuple[Any, Any]]) -> Headers:
    """The headers as bytes; h2's types allow for text, which this configuration never gives."""
    return [(bytes(name), bytes(value)) for name, value in headers]


def _reset(connection: h2.connection.H2Connection, stream_id: int, code: int | None) -> None:
    with contextlib.suppress(h2.exceptions.ProtocolError):  # it may be closed already
        connection.reset_stream(stream_id, int(code or 0))


def _send(
    connection: h2.connection.H2Connection,
    stream_id: int,
    items: deque[_Item],
    source: h2.connection.H2Connection,
    source_id: int,
) -> None:
    """Send what the window allows, and credit the other side for it."""
    while items:
        item = items[0]
        while item.data:
            window = connection.local_flow_control_window(stream_id)
            size = min(window, connection.max_outbound_frame_size, len(item.data))
            if size <= 0:
                return
            connection.send_data(stream_id, item.data[:size])
            item.data = item.data[size:]
        if item.credit:
            with contextlib.suppress(h2.exceptions.StreamClosedError):
                source.acknowledge_received_data(item.credit, source_id)
        if item.trailers is not None:
            connection.send_headers(stream_id, item.trailers, end_stream=True)
        elif item.end:
            connection.end_stream(stream_id)
        items.popleft()
