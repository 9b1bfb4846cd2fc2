"""A frame client inside the test's own loop; raw bytes where a test wants them."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Self

from sandbox.v1 import legacy_pb2 as pb

HEADER = struct.Struct(">I")


class FrameClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, path: Path) -> Self:
        return cls(*await asyncio.open_unix_connection(str(path)))

    @staticmethod
    def frame(message: pb.ClientMessage) -> bytes:
        body = message.SerializeToString()
        return HEADER.pack(len(body)) + body

    def send(self, *messages: pb.ClientMessage) -> None:
        self.writer.write(b"".join(map(self.frame, messages)))

    async def receive(self) -> pb.ServerMessage:
        (size,) = HEADER.unpack(await self.reader.readexactly(4))
        return pb.ServerMessage.FromString(await self.reader.readexactly(size))

    async def ask(self, message: pb.ClientMessage) -> pb.ServerMessage:
        self.send(message)
        return await self.receive()

    async def closed_by_peer(self) -> bool:
        try:
            return not await self.reader.read(1)
        except ConnectionError:
            return True

    async def close(self) -> None:
        """Hang up at once, whatever was not sent yet."""
        self.writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


async def until(holds: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Let the loop turn until something holds."""
    async with asyncio.timeout(timeout_s):
        while not holds():
            await asyncio.sleep(0)
