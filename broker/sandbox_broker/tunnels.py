"""Opaque tunnels: bytes both ways, once the name inside agrees with the name asked for."""

from __future__ import annotations

import asyncio

from sandbox_broker import tasks
from sandbox_broker.errors import Denied
from sandbox_broker.hello import Peek, server_name
from sandbox_broker.policy import DENIED_POLICY
from sandbox_broker.record import Entry
from sandbox_broker.stream import Closed, Stream


async def tunnel(client: Stream, upstream: Stream, host: str, entry: Entry) -> None:
    """Relay until both directions have ended, or either side is gone."""
    peeked = 0

    async def outward() -> None:
        nonlocal peeked
        first = await _first(client, host)
        peeked = len(first)
        upstream.write(first)
        await client.splice(upstream)

    sending = tasks.spawn(outward(), name="tunnel out")
    receiving = tasks.spawn(upstream.splice(client), name="tunnel in")
    try:
        await asyncio.gather(sending, receiving)
    except Denied as denied:
        entry.decision, entry.reason = denied.decision, denied.reason
        client.abort()
    except (Closed, OSError):
        pass
    finally:
        await tasks.cancel(sending, receiving)
        entry.sent += peeked + client.passed
        entry.received += upstream.passed
        upstream.close()
        client.close()


async def _first(client: Stream, host: str) -> bytes:
    """The guest's first bytes, as soon as they show that no other name is meant."""
    data = b""
    while True:
        piece = await client.read()
        data += piece
        found = server_name(data)
        if isinstance(found, str) and found != host:
            raise Denied("the name in the TLS handshake is not the tunnel's", DENIED_POLICY)
        if found is Peek.BROKEN:
            raise Denied("a TLS handshake that cannot be read", DENIED_POLICY)
        if found is not Peek.MORE or not piece:
            return data
