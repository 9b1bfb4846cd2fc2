"""The broker's Unix socket: `ports.doors.Broker`."""

from __future__ import annotations

import asyncio
from pathlib import Path

_LIMIT = 256 << 10
"""Bytes of an answer that are read ahead of a slow guest."""


class UnixBroker:
    """A connection begins with one line that says whose it is; see docs/egress.md."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def connect(
        self, sandbox_id: str, door: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See `ports.doors.Broker`."""
        reader, writer = await asyncio.open_unix_connection(str(self._path), limit=_LIMIT)
        writer.write(f"SANDBOX/1 {sandbox_id} {door}\n".encode())
        return reader, writer
