"""One HTTP/1.1 request to an https upstream and its answer back, both in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import h11

from sandbox_broker import plan as plans
from sandbox_broker import tasks
from sandbox_broker.credentials import Credentials
from sandbox_broker.errors import Denied, Malformed, Refused, TooLarge, UpstreamFailed
from sandbox_broker.http1 import MAX_HEAD, Head, Headers, authority, end_to_end
from sandbox_broker.policy import Grant, judge_request
from sandbox_broker.record import Entry
from sandbox_broker.scrub import Replacer
from sandbox_broker.stream import Closed, Stream
from sandbox_broker.upstream import Dialer, Pool

GATHERED = 1 << 20
"""Bodies up to this size keep a `Content-Length` where a placeholder is replaced in them."""
CHUNK = 64 << 10
ANSWER_TIMEOUT_S = 600.0
REPEATABLE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


@dataclass(slots=True)
class Means:
    """What a request is relayed with."""

    dialer: Dialer
    pool: Pool
    held: Credentials
    max_body: int


class _Stale(Exception):
    """A kept connection turned out to be closed before the upstream saw anything."""


async def relay(means: Means, client: Stream, head: Head, grant: Grant, entry: Entry) -> bool:
    """Judge and relay one request; whether the connection can carry another.

    Raises `Refused` as long as nothing of an answer was sent.
    """
    plan = admit(means, head, grant, entry)
    key = (grant.sandbox_id, head.host, head.port)

    def attempt(upstream: Stream, *, fresh: bool) -> _Exchange:
        return _Exchange(
            means, upstream, client=client, head=head, plan=plan, entry=entry, fresh=fresh
        )

    kept = means.pool.take(key)
    if kept is not None:
        try:
            return await attempt(kept, fresh=False).run(key)
        except _Stale:
            pass
    upstream = await means.dialer.connect_tls(head.host, head.port)
    return await attempt(upstream, fresh=True).run(key)


def admit(means: Means, head: Head, grant: Grant, entry: Entry) -> plans.Plan:
    """The policy's and the size limit's answer; what to send if both allow it."""
    verdict = judge_request(
        grant,
        head.host,
        head.port,
        head.method,
        holds=lambda name, host, port: plans.holds(grant, means.held, name, host, port),
    )
    entry.decision = verdict.decision
    if not verdict.allowed:
        raise Denied("the egress policy does not allow this request", verdict.decision)
    if head.length is not None and head.length > means.max_body:
        raise TooLarge(f"the body is over the limit of {means.max_body} bytes")
    plan = plans.make(
        grant,
        verdict,
        means.held,
        host=head.host,
        port=head.port,
        path=head.path,
        headers=head.headers,
    )
    entry.secrets = plan.names
    entry.upstream = means.dialer.via
    return plan


class _Exchange:
    """One attempt on one connection."""

    def __init__(
        self,
        means: Means,
        upstream: Stream,
        *,
        client: Stream,
        head: Head,
        plan: plans.Plan,
        entry: Entry,
        fresh: bool,
    ) -> None:
        self._means, self._client, self._head = means, client, head
        self._plan, self._entry, self._upstream, self._fresh = plan, entry, upstream, fresh
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD)
        self._answering = False
        self._upload: asyncio.Task[None] | None = None

    async def run(self, key: tuple[str, str, int]) -> bool:
        reusable = False
        try:
            await self._send_request()
            response = await self._response()
            if isinstance(response, h11.InformationalResponse):
                await self._switch(response)
                return False
            keep = await self._answer(response)
            uploaded = self._upload is None or self._upload.done()
            reusable = uploaded and self._over()
            return keep and uploaded
        except (Closed, OSError):
            if self._answering:
                return self._broken()
            raise UpstreamFailed("the connection broke") from None
        except Refused:
            if self._answering:
                return self._broken()
            raise
        finally:
            if self._upload is not None:
                await tasks.cancel(self._upload)
            if reusable:
                self._means.pool.give(key, self._upstream)
            else:
                self._upstream.abort()

    def _broken(self) -> bool:
        """The answer cannot be completed, and the guest must be able to see that."""
        self._client.abort()
        return False

    def _over(self) -> bool:
        http = self._http
        return (
            http.our_state is h11.DONE
            and http.their_state is h11.DONE
            and not http.trailing_data[0]
        )

    # The request.

    async def _send_request(self) -> None:
        head, plan = self._head, self._plan
        headers: Headers = [(b"host", authority(head.host, head.port))]
        headers += [each for each in plan.headers if each[0] != b"content-length"]
        gathered: bytes | None = None
        if head.websocket:
            headers += [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
        if head.has_body and head.values(b"expect"):
            self._client.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if plan.body and head.has_body and (head.length or GATHERED + 1) <= GATHERED:
            gathered = plan.body.whole(b"".join([part async for part in self._body()]))
            headers.append((b"content-length", str(len(gathered)).encode()))
        elif head.chunked or (plan.body and head.has_body):
            headers.append((b"transfer-encoding", b"chunked"))
        elif head.length is not None:
            headers.append((b"content-length", str(head.length).encode()))
        try:
            self._put(h11.Request(method=head.method, target=plan.path, headers=headers))
        except h11.LocalProtocolError as error:
            raise Malformed(f"malformed request: {error}") from None
        if gathered is not None:
            self._put(h11.Data(data=gathered))
            self._entry.sent += len(gathered)
        if gathered is not None or not head.has_body:
            self._put(h11.EndOfMessage())
        else:
            self._upload = tasks.spawn(self._send_body(), name="upload")

    def _put(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self._upstream.write(data)

    async def _send_body(self) -> None:
        replacer = self._plan.body
        try:
            async for part in self._body():
                ready = replacer.feed(part)
                if ready:
                    self._put(h11.Data(data=ready))
                    self._entry.sent += len(ready)
                await self._upstream.drain()
            if rest := replacer.end():
                self._put(h11.Data(data=rest))
                self._entry.sent += len(rest)
            self._put(h11.EndOfMessage())
        except Closed:
            pass  # the upstream may have answered before it had everything
        except h11.LocalProtocolError:
            self._upstream.abort()

    async def _body(self) -> AsyncIterator[bytes]:
        """The guest's body, decoded; raises `Malformed` and `TooLarge`."""
        parser, seen = self._head.parser, 0
        while True:
            try:
                event = parser.next_event()
                if event is h11.NEED_DATA:
                    parser.receive_data(await self._client.read())
                    continue
            except h11.RemoteProtocolError as error:
                raise Malformed(f"malformed body: {error}") from None
            if isinstance(event, h11.Data):
                seen += len(event.data)
                if seen > self._means.max_body:
                    raise TooLarge(f"the body is over the limit of {self._means.max_body} bytes")
                yield bytes(event.data)
            else:
                self._client.unread(parser.trailing_data[0])
                return

    # The answer.

    async def _response(self) -> h11.Response | h11.InformationalResponse:
        """The final answer's head, or a 101; a body that turns out bad meanwhile is raised."""
        if self._upload is None:
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT_S):
                    return await self._read_response()
            except TimeoutError:
                raise UpstreamFailed("the upstream does not answer") from None
        reading = tasks.spawn(self._read_response(), name="answer")
        try:
            await asyncio.wait({reading, self._upload}, return_when=asyncio.FIRST_COMPLETED)
            if self._upload.done() and not reading.done() and self._upload.exception():
                raise self._upload.exception() or UpstreamFailed("the upload failed")
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await reading
        except TimeoutError:
            raise UpstreamFailed("the upstream does not answer") from None
        finally:
            await tasks.cancel(reading)

    async def _read_response(self) -> h11.Response | h11.InformationalResponse:
        while True:
            event = await self._event()
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                if not self._head.websocket:
                    raise UpstreamFailed("the upstream switched protocols unasked")
                return event

    async def _event(self) -> h11.Event:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                raise UpstreamFailed(f"the upstream's answer is malformed: {error}") from None
            if isinstance(event, h11.Event):
                return event
            if event is h11.PAUSED:
                raise UpstreamFailed("the upstream said something after its answer")
            data = await self._upstream.read()
            if not data and self._nothing_yet():
                raise _Stale
            self._http.receive_data(data)

    def _nothing_yet(self) -> bool:
        return (
            not self._fresh
            and not self._head.has_body
            and self._head.method in REPEATABLE
            and self._http.their_state is h11.SEND_RESPONSE
            and not self._http.trailing_data[0]
        )

    async def _answer(self, response: h11.Response) -> bool:
        scrub = self._plan.scrub()
        bodiless = self._head.method == "HEAD" or response.status_code in {204, 304}
        received = [(bytes(name), bytes(value)) for name, value in response.headers]
        headers = _answer_headers(received, scrub)
        encodings = [v.lower() for n, v in headers if n == b"content-encoding"]
        if scrub and not bodiless and any(each != b"identity" for each in encodings):
            raise UpstreamFailed("the upstream compressed an answer that must be read")
        self._entry.status = response.status_code
        sized = any(name == b"content-length" for name, _ in headers)
        chunked = not bodiless and not sized and self._head.version == b"1.1"
        keep = self._head.keep_alive and (sized or chunked or bodiless)
        if chunked:
            headers.append((b"transfer-encoding", b"chunked"))
        headers.append((b"connection", b"keep-alive" if keep else b"close"))
        self._answering = True
        self._client.write(_head_bytes(response.status_code, bytes(response.reason), headers))
        while isinstance(event := await self._event(), h11.Data):
            self._write(scrub.feed(bytes(event.data)), chunked)
            await self._client.drain()
        self._write(scrub.end(), chunked)
        if chunked:
            self._client.write(b"0\r\n\r\n")
        await self._client.drain()
        return keep

    def _write(self, data: bytes, chunked: bool) -> None:
        if not data:
            return
        self._entry.received += len(data)
        self._client.write(b"%x\r\n%b\r\n" % (len(data), data) if chunked else data)

    async def _switch(self, response: h11.InformationalResponse) -> None:
        """Relay a websocket; what comes back is scrubbed like any answer."""
        scrub = self._plan.scrub()
        received = [(bytes(name), bytes(value)) for name, value in response.headers]
        headers = _answer_headers(received, scrub)
        headers += [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
        self._entry.status = 101
        self._answering = True
        self._client.write(_head_bytes(101, b"Switching Protocols", headers))
        self._upstream.unread(self._http.trailing_data[0])
        sending = tasks.spawn(self._client.splice(self._upstream), name="websocket")
        try:
            if not scrub:
                await self._upstream.splice(self._client)
                self._entry.received += self._upstream.passed
                return
            while data := await self._upstream.read():
                ready = scrub.feed(data)
                self._entry.received += len(ready)
                self._client.write(ready)
                await self._client.drain()
            self._client.write(scrub.end())
        finally:
            await tasks.cancel(sending)
            self._entry.sent += self._client.passed
            self._client.close()


def _answer_headers(headers: Headers, scrub: Replacer) -> Headers:
    kept = end_to_end(headers)
    return [(name, scrub.whole(value)) for name, value in kept] if scrub else kept


def _head_bytes(status: int, reason: bytes, headers: Headers) -> bytes:
    lines = [b"HTTP/1.1 %d %b" % (status, reason)]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join(lines) + b"\r\n\r\n"
