"""Where connections of guests go that come by the channel: the broker's doors."""

from __future__ import annotations

import asyncio
from typing import Protocol

from sandbox_engine.ports.guest import GuestPort

DOORS = {GuestPort.HTTP_DOOR: "proxy", GuestPort.SOCKS_DOOR: "socks5"}
"""Ports of the channel, as the broker calls its doors."""


class Broker(Protocol):
    """Takes connections of guests."""

    async def connect(
        self, sandbox_id: str, door: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection that the broker knows for this sandbox's.  Raises `OSError`."""
