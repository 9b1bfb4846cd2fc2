"""One request of a browser, carried to a guest's port and its answer back.

HTTP is h11's on both sides, so both agree on where a body ends.  Bodies stream in bounded
memory: each piece is read once the one before was taken.  A protocol that both sides
agree to change to (a websocket) becomes bytes in both directions.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

import h11

from sandbox_engine.api.preview import pages
from sandbox_engine.api.preview.headers import (
    Headers,
    switch,
    to_browser,
    to_guest,
    upgrade_of,
    value_of,
)
from sandbox_engine.errors import EngineError, GuestUnavailable
from sandbox_engine.model.preview import Pass
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.services.previews import Previews
from sandbox_engine.services.relay import PortRelay, RelayEnded

PIECE = 128 << 10
MAX_HEAD = 64 << 10
IDLE_S = 120.0
"""A connection without a request, or with half of one's head, is closed after this."""
HALF_S = 30.0
"""How long a server may go on talking to a browser that closed its half of a websocket."""
_PATH = b"/p/"


class Gone(ConnectionError):
    """The browser went away."""


class Client:
    """A browser's connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        peer = writer.get_extra_info("peername")
        self.peer = str(peer[0]) if peer else ""

    async def event(self) -> Any:
        """The next event.  Raises `h11.RemoteProtocolError`, `Gone`."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            if self.http.they_are_waiting_for_100_continue:
                await self.send(h11.InformationalResponse(status_code=100, headers=[]))
            data = await self.reader.read(PIECE)
            if not data and self.http.their_state is h11.SEND_BODY:
                raise Gone
            self.http.receive_data(data)
        return event

    async def send(self, event: Any) -> None:
        """Send an event, and wait while the browser does not read."""
        data = self.http.send(event)
        if data:
            self.writer.write(data)
            await self.writer.drain()

    async def watch(self) -> None:
        """Return when the browser leaves; what it sends before that is kept."""
        while data := await self.reader.read(PIECE):
            self.http.receive_data(data)
            if len(self.http.trailing_data[0]) > MAX_HEAD:
                await asyncio.Event().wait()  # more will be read with the next request


async def serve(client: Client, previews: Previews) -> bool:
    """Serve one request; whether another may follow.  Raises `ConnectionError`, `TimeoutError`."""
    try:
        async with asyncio.timeout(IDLE_S):
            request = await client.event()
    except h11.RemoteProtocolError as error:
        await _say(client, error.error_status_hint, pages.page("Bad request", str(error)), [])
        return False
    if not isinstance(request, h11.Request):
        return False  # closed
    prefix, rest = _split(request.target)
    if prefix and not rest:
        moved = [(b"location", prefix + b"/")]
        await _say(client, 308, pages.page("Moved", "The address ends with a slash."), moved)
        return False
    what: Pass | None = None
    try:
        what = previews.admit(prefix.removeprefix(_PATH).decode("ascii", "replace"))
        relay = await previews.open(what)
    except Exception as error:  # noqa: BLE001 - every error has a page
        await _say(client, *pages.failure(error, what), [])
        return False
    with contextlib.closing(relay):
        async with asyncio.timeout(previews.left_s(what)):
            again = await _Exchange(client, relay, what, prefix).run(request, rest)
    if client.http.their_state is h11.SEND_BODY:
        await _linger(client)
    return again


def _split(target: bytes) -> tuple[bytes, bytes]:
    """The prefix that holds the pass, and what the guest is asked for; nothing where none is."""
    if not target.startswith(_PATH):
        return b"", b""
    end = target.find(b"/", len(_PATH))
    return (target, b"") if end < 0 else (target[:end], target[end:])


async def _say(client: Client, status: int, page: bytes, headers: Headers) -> None:
    """Answer without a guest, and end the connection."""
    if client.http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    answer = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", b"%d" % len(page)),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
        (b"connection", b"close"),
        *headers,
    ]
    await client.send(h11.Response(status_code=status, headers=answer))
    await client.send(h11.Data(data=page))
    await client.send(h11.EndOfMessage())
    await _linger(client)


async def _linger(client: Client) -> None:
    """Let an answer arrive whose request was not read to its end."""
    if client.writer.can_write_eof():
        client.writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(2):
            while await client.reader.read(PIECE):
                pass


class _Exchange:
    """One request and its answer."""

    def __init__(self, client: Client, relay: PortRelay, what: Pass, prefix: bytes) -> None:
        self._client, self._relay = client, relay
        self._what, self._prefix = what, prefix
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._host = b""
        self._began = False

    async def run(self, request: h11.Request, target: bytes) -> bool:
        """Carry it; whether the connection can take another."""
        headers: Headers = list(request.headers.raw_items())
        self._host = value_of(headers, b"host") or b""
        sender = spawn(_caught(self._send(request, target, headers)), name="preview in")
        answer = spawn(_caught(self._answer()), name="preview out")
        try:
            # The sender ends before the answer only where the browser left or broke.
            await asyncio.wait((sender, answer), return_when=asyncio.FIRST_COMPLETED)
            ended = answer.result() if answer.done() else sender.result()
        finally:
            await cancel(sender, answer)
        return await self._ended(ended)

    async def _ended(self, ended: bool | Exception) -> bool:
        if isinstance(ended, bool):
            return ended
        if self._began or isinstance(ended, ConnectionError):
            raise Gone from ended  # half an answer cannot be taken back: break it off
        broke_it = self._client.http.their_state is h11.ERROR
        if isinstance(ended, h11.RemoteProtocolError) and broke_it:
            status, words = ended.error_status_hint, pages.page("Bad request", str(ended))
        else:
            cause = ended if isinstance(ended, EngineError) else _broke(ended)
            status, words = pages.failure(cause, self._what)
        await _say(self._client, status, words, [])
        return False

    # -- to the guest ------------------------------------------------------------

    async def _send(self, request: h11.Request, target: bytes, headers: Headers) -> bool:
        """Returns only by raising: an answer is what ends an exchange."""
        shown = to_guest(headers, prefix=self._prefix, peer=self._client.peer)
        target = target.replace(self._prefix.rpartition(b"/")[2], b"")
        try:
            await self._forward(h11.Request(method=request.method, target=target, headers=shown))
            while isinstance(event := await self._client.event(), h11.Data):
                await self._forward(h11.Data(data=event.data))
            if isinstance(event, h11.EndOfMessage):
                await self._forward(h11.EndOfMessage(headers=event.headers.raw_items()))
        except (EngineError, RelayEnded):
            await asyncio.Event().wait()  # the other direction hears why
        if upgrade_of(headers) is not None:
            await asyncio.Event().wait()  # what follows has a meaning once the guest has answered
        await self._client.watch()
        raise Gone

    async def _forward(self, event: Any) -> None:
        data = self._http.send(event)
        if data:
            await self._relay.send(data)

    # -- from the guest ----------------------------------------------------------

    async def _answer(self) -> bool:
        async for event in self._events():
            match event:
                case h11.InformationalResponse(status_code=101):
                    await self._become_bytes(event)
                    return False
                case h11.InformationalResponse():
                    continue
                case h11.Response():
                    await self._begin(event)
                case h11.Data():
                    await self._client.send(h11.Data(data=event.data))
                case h11.EndOfMessage():
                    await self._client.send(h11.EndOfMessage())
                    break
                case _:
                    raise _broke("the server in the guest closed the connection")
        return self._next()

    async def _events(self) -> AsyncIterator[Any]:
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                pieces = await self._relay.receive()
                self._http.receive_data(b"".join(pieces) if pieces is not None else b"")
            elif event is h11.PAUSED:
                return
            else:
                yield event

    async def _begin(self, event: h11.Response) -> None:
        headers = to_browser(
            list(event.headers.raw_items()),
            prefix=self._prefix,
            host=self._host,
            port=self._what.port,
        )
        self._began = True
        await self._client.send(h11.Response(status_code=event.status_code, headers=headers))

    def _next(self) -> bool:
        http = self._client.http
        if (http.our_state, http.their_state) != (h11.DONE, h11.DONE):
            return False
        http.start_next_cycle()
        return True

    async def _become_bytes(self, event: h11.InformationalResponse) -> None:
        """Both sides speak something else from here on."""
        headers: Headers = list(event.headers.raw_items())
        kept = to_browser(headers, prefix=self._prefix, host=self._host, port=self._what.port)
        kept += switch(value_of(headers, b"upgrade") or b"")
        self._began = True
        client = self._client
        await client.send(h11.InformationalResponse(status_code=101, headers=kept))
        outward = spawn(_caught(self._bytes_out(self._http.trailing_data[0])), name="preview out")
        inward = spawn(_caught(self._bytes_in(client.http.trailing_data[0])), name="preview in")
        try:
            await asyncio.wait((inward, outward), return_when=asyncio.FIRST_COMPLETED)
            if inward.done() and inward.result() is True:  # the browser closed its half
                await asyncio.wait((outward,), timeout=HALF_S)
        finally:
            await cancel(inward, outward)

    async def _bytes_out(self, early: bytes) -> bool:
        writer = self._client.writer
        pieces: Sequence[bytes] | None = (early,)
        while pieces is not None:
            writer.writelines(pieces)
            await writer.drain()
            pieces = await self._relay.receive()
        if writer.can_write_eof():
            writer.write_eof()
        await self._relay.ended()
        return True

    async def _bytes_in(self, early: bytes) -> bool:
        data = early or await self._client.reader.read(PIECE)
        while data:
            await self._relay.send(data)
            data = await self._client.reader.read(PIECE)
        await self._relay.finish()
        return True


async def _caught(work: Coroutine[Any, Any, bool]) -> bool | Exception:
    """How `work` ended, if in a way that it may end."""
    try:
        return await work
    except (EngineError, RelayEnded, h11.ProtocolError, ConnectionError) as error:
        return error


def _broke(problem: object) -> GuestUnavailable:
    return GuestUnavailable(f"the server in the guest does not speak HTTP as it should: {problem}")
