"""The QEMU monitor protocol (QMP) on one Unix socket.

Own code and not `qemu.qmp`, because a descriptor must travel with a command while the
loop is uvloop, whose transports hide their socket, and because a clone waits for two of
these round trips (see DECISIONS.md).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_engine.errors import VmmError

EventHandler = Callable[[str, dict[str, Any]], None]


class Monitor:
    """One QMP session.  After the socket is lost every call raises `VmmError`."""

    def __init__(
        self, link: socket.socket, on_event: Callable[[str, dict[str, Any]], None]
    ) -> None:
        self._link, self._on_event = link, on_event
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._pending = bytearray()
        self._greeting: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._closed = False
        self._loop.add_reader(link.fileno(), self._readable)

    @classmethod
    async def connect(cls, path: Path, on_event: EventHandler, timeout_s: float) -> Monitor:
        """Connect, wait for QEMU's greeting and leave negotiation mode."""
        link = socket.socket(socket.AF_UNIX)
        link.setblocking(False)
        try:
            link.connect(str(path))
        except OSError as error:
            link.close()
            raise VmmError(f"cannot reach the monitor: {error}") from error
        monitor = cls(link, on_event)
        try:
            async with asyncio.timeout(timeout_s):
                await monitor._greeting
                await monitor.execute("qmp_capabilities")
        except BaseException as error:
            monitor.close()
            if isinstance(error, TimeoutError):
                raise VmmError(f"the monitor was silent for {timeout_s:g} s") from error
            raise
        return monitor

    async def execute(self, command: str, *, handing: int | None = None, **arguments: Any) -> Any:
        """Run one command; a descriptor travels with it.  Raises `VmmError` with QEMU's words."""
        return await self.send(command, handing, arguments)

    def send(
        self, command: str, handing: int | None, arguments: dict[str, Any]
    ) -> asyncio.Future[Any]:
        """Send one command now, after those sent before; its result, as `execute` tells it.

        QEMU reads the next command when it is done with one, so each has its own descriptor.
        """
        if self._closed:
            raise VmmError("the VMM is gone")
        number = next(self._ids)
        future: asyncio.Future[Any] = self._loop.create_future()
        message: dict[str, Any] = {"execute": command, "id": number}
        if arguments:
            message["arguments"] = arguments
        # QEMU reads byte by byte: no space that is not needed.
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            # Commands are few and smaller than an empty socket buffer.
            if handing is None:
                self._link.send(data)
            else:
                socket.send_fds(self._link, [data], [handing])
        except OSError as error:
            raise VmmError(f"{command}: the VMM is gone ({error})") from error
        self._waiting[number] = future
        future.add_done_callback(lambda _: self._waiting.pop(number, None))
        return future

    def fail_when_lost(self, future: asyncio.Future[Any]) -> None:
        """Give `future`, awaiting an event, the error of a lost session."""
        if self._closed:
            future.set_exception(VmmError("the VMM is gone"))
            return
        number = next(self._ids)
        self._waiting[number] = future
        future.add_done_callback(lambda _: self._waiting.pop(number, None))

    def close(self) -> None:
        """Drop the session and fail what waits.  Idempotent."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._link.fileno())
        self._link.close()
        error = VmmError("the VMM is gone")
        for future in (self._greeting, *list(self._waiting.values())):
            if not future.done():
                future.set_exception(error)
                with contextlib.suppress(asyncio.InvalidStateError):
                    future.exception()  # retrieved: nobody may be waiting any more

    def _readable(self) -> None:
        try:
            data = self._link.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        self._pending += data
        while (end := self._pending.find(b"\n")) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            self._handle(json.loads(line))

    def _handle(self, message: dict[str, Any]) -> None:
        if "event" in message:
            self._on_event(message["event"], message.get("data", {}))
        elif "QMP" in message:
            if not self._greeting.done():
                self._greeting.set_result(message["QMP"])
        elif (future := self._waiting.get(message.get("id", 0))) and not future.done():
            if "error" in message:
                future.set_exception(VmmError(message["error"]["desc"]))
            else:
                future.set_result(message["return"])
