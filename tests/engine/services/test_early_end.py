"""A guest that ends an operation while it is still being sent: nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from sandbox_engine.errors import PathExists
from sandbox_engine.services.files import WriteOptions

from tests.fakes.services import OPERATOR, Services


@pytest.mark.parametrize("size", [0, 1, 8 << 20])
async def test_a_write_that_the_guest_refused_early_is_told_so(
    services: Services, size: int
) -> None:
    services.pool(warm=0)
    sandbox = await services.create()
    guest = services.guest(sandbox)
    guest.files["/workspace/a"] = b"old"

    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"
        while guest.open_streams:  # the refusal is under way
            await asyncio.sleep(0)
        await services.sandboxes.channel(OPERATOR, sandbox.id).call({"op": "ping"})
        yield bytes(size)

    with pytest.raises(PathExists):
        await services.files.write(
            OPERATOR, sandbox.id, "/workspace/a", pieces(), WriteOptions(exclusive=True)
        )
    assert guest.files == {"/workspace/a": b"old"}
