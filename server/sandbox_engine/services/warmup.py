"""A pool's warm-up: a command run in a VM before it joins, which must succeed."""

from __future__ import annotations

import asyncio

from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import WarmupFailed
from sandbox_engine.ports.guest import GuestConnection, GuestPort, GuestStream
from sandbox_engine.wire.guest_status import error_of, parse

TIMEOUT_S = 300.0
_HEAD = 2048  # of what it printed, for the message


async def run_warmup(guest: GuestConnection, argv: tuple[str, ...]) -> None:
    """Run `argv` to its end.  Raises `WarmupFailed`, `GuestUnavailable`."""
    stream = guest.open(
        GuestPort.ENGINE,
        {
            "op": "exec",
            "argv": argv,
            "timeout_ms": int(TIMEOUT_S * 1000),
            "head_out": _HEAD,
            "head_err": _HEAD,
        },
    )
    try:
        async with asyncio.timeout(TIMEOUT_S + 15):
            code, said = await _ended(stream)
    except TimeoutError as error:
        raise WarmupFailed(argv, "it did not end in time") from error
    finally:
        stream.reset()
    if code:
        raise WarmupFailed(argv, f"exit status {code}: {said}")


async def _ended(stream: GuestStream) -> tuple[int, str]:
    said = bytearray()
    while (received := await stream.receive()) is not None:
        if received[0] != FrameKind.CONTROL:
            said += received[1]
            continue
        message = parse(received)
        if message.get("type") == "error":
            return 127, str(error_of(message))
        if message.get("type") == "exit":
            return int(message["code"]), said.decode(errors="replace").strip()
    return -1, "the guest ended it without its exit"
