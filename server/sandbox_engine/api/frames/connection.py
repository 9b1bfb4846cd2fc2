"""One client of the frame socket.

Owns the sandboxes created over it: when it is lost, however it is lost, what runs for it
is cancelled and then they are destroyed.

Memory is bounded: reading stops while `MAX_PENDING` requests wait or run, and while the
client does not take its replies.
"""

from __future__ import annotations

import asyncio
import functools
from collections import deque
from collections.abc import Callable
from typing import Protocol, cast

from google.protobuf.message import DecodeError
from sandbox.v1 import legacy_pb2 as pb

from sandbox_engine.api.errors import known
from sandbox_engine.api.frames import convert
from sandbox_engine.api.frames.calls import Calls
from sandbox_engine.api.frames.turns import Turn, Turns
from sandbox_engine.api.sockets import peer_uid
from sandbox_engine.errors import GuestBusy, InvalidArgument, PermissionDenied
from sandbox_engine.model.caller import Caller
from sandbox_engine.observe.tasks import run_eagerly, spawn
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.wire.frames import FrameDecoder, FrameTooLarge, encode

MAX_GUEST_OPERATIONS = 16
"""In flight at once (seed "Functions")."""
MAX_PENDING = 256
LINGER_S = 5.0
"""How long a client may take to read the error that ends its connection."""
Result = pb.ServerMessage | BaseException
EAGER = frozenset({"create", "inspect", None})
"""Requests that are answered without waiting where they can be."""


class Request:
    """One message and what it asks."""

    __slots__ = ("counted", "id", "kind", "message")

    def __init__(self, message: pb.ClientMessage) -> None:
        self.counted = False  # among the guest operations in flight
        self.message = message
        self.id = message.request_id
        self.kind: str | None = message.WhichOneof("request")


class Roster(Protocol):
    """Who listens: knows every connection and who may use one."""

    def opened(self, connection: FrameConnection, uid: int) -> PermissionDenied | None:
        """A client is here; why each of its requests is denied, if they are."""

    def closed(self, connection: FrameConnection) -> None:
        """It is gone."""


class FrameConnection(asyncio.Protocol):
    """See the module."""

    def __init__(self, calls: Calls, sessions: Sessions, roster: Roster) -> None:
        self._calls, self._sessions, self._roster = calls, sessions, roster
        self._decoder = FrameDecoder()
        self._turns: Turns[Request] = Turns()
        self._tasks: set[asyncio.Task[None]] = set()
        self._startable: deque[Turn[Request]] = deque()
        self._starting = False
        self._pending = 0
        self._guest_operations = 0
        self._taking = True  # the client takes its replies
        self._held = False  # reading is paused
        self._closing = False
        self._transport: asyncio.Transport
        self._caller: Caller
        self._denied: PermissionDenied | None = None

    # -- asyncio.Protocol ------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See who it is."""
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no such base
        uid = peer_uid(transport.get_extra_info("socket"))
        self._denied = self._roster.opened(self, uid)
        session = None if self._denied else self._sessions.open()
        self._caller = Caller(name=f"uid:{uid}", uid=uid, session=session, confined=True)

    def data_received(self, data: bytes) -> None:
        """Serve what became whole."""
        if not self._closing:
            self._decoder.feed(data)
            self._pump()

    def pause_writing(self) -> None:
        """The client takes no replies: take no requests."""
        self._taking = False
        self._hold()

    def resume_writing(self) -> None:
        """It takes them again."""
        self._taking = True
        self._go_on()

    def connection_lost(self, _: Exception | None) -> None:
        """Give up what was held."""
        self._closing = True
        self._roster.closed(self)
        self._startable.clear()
        for task in self._tasks:
            task.cancel()
        if self._caller.session is not None:
            spawn(self._give_up(self._caller.session), name="end frame connection")

    async def _give_up(self, session: str) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._sessions.close(session)

    def close(self) -> None:
        """Hang up."""
        self._closing = True
        self._transport.abort()

    # -- requests --------------------------------------------------------------------

    def _pump(self) -> None:
        """Take frames while this connection may have more in hand."""
        while not self._closing and self._taking:
            if self._pending >= MAX_PENDING:
                self._hold()
                return
            try:
                payload = self._decoder.next()
            except FrameTooLarge as error:
                self._refuse(str(error))
                return
            if payload is None:
                return
            self._received(payload)

    def _hold(self) -> None:
        if not self._held:
            self._held = True
            self._transport.pause_reading()

    def _go_on(self) -> None:
        """Read again, once there is room for a good many requests."""
        if self._held and self._taking and self._pending <= MAX_PENDING // 2:
            self._held = False
            if not self._closing:
                self._transport.resume_reading()
                self._pump()

    def _received(self, payload: bytes) -> None:
        try:
            message = pb.ClientMessage.FromString(payload)
        except DecodeError:
            self._send(convert.failure(InvalidArgument("frame", "it holds no message")))
            return
        request = Request(message)
        self._pending += 1
        turn = self._turns.arrive(request, ordered=not request.id, create=request.kind == "create")
        if turn is not None:
            self._start(turn)

    def _refuse(self, reason: str) -> None:
        """Say why, and close: what follows on this stream cannot be told apart."""
        self._send(convert.failure(InvalidArgument("frame", reason)))
        self._closing = True
        self._hold()
        asyncio.get_running_loop().call_later(LINGER_S, self._transport.abort)
        self._transport.close()

    def _start(self, turn: Turn[Request]) -> None:
        """Start a turn and, one after the other, those that its end lets start."""
        self._startable.append(turn)
        if self._starting:
            return
        self._starting = True
        while self._startable:
            self._begin(self._startable.popleft())
        self._starting = False

    def _begin(self, turn: Turn[Request]) -> None:
        request = turn.item
        done = functools.partial(self._finished, turn)
        if request.kind == "guest" and not self._denied:
            if self._guest_operations >= MAX_GUEST_OPERATIONS:
                done(GuestBusy(f"{MAX_GUEST_OPERATIONS} guest operations are in flight"))
                return
            self._guest_operations += 1
            request.counted = True
        if request.kind in EAGER:
            task = run_eagerly(self._answer(request), done, name=f"frame {request.kind}")
        else:
            task = spawn(self._report(request, done), name=f"frame {request.kind}")
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, request: Request) -> pb.ServerMessage:
        if self._denied is not None:
            raise self._denied
        if request.kind == "guest" and not request.id:
            raise InvalidArgument("request_id", "a guest operation needs one that is not 0")
        return await self._calls.answer(self._caller, request.kind, request.message)

    async def _report(self, request: Request, done: Callable[[Result], None]) -> None:
        try:
            result: Result = await self._answer(request)
        except Exception as error:  # noqa: BLE001 - every failure is an answer
            result = error
        done(result)

    def _finished(self, turn: Turn[Request], result: Result) -> None:
        """Answer, and start what waited for that."""
        if self._closing:
            return
        request = turn.item
        if isinstance(result, BaseException):
            result = convert.failure(known(result, f"frame {request.kind}"))
        if request.id:
            result.request_id = request.id
        self._guest_operations -= request.counted
        self._pending -= 1
        self._send(result)
        following = self._turns.leave(turn)
        if following is not None:
            self._start(following)
        self._go_on()

    def _send(self, reply: pb.ServerMessage) -> None:
        self._transport.write(encode(reply.SerializeToString()))
