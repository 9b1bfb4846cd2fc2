"""`fs_push` and `fs_pull`: whole trees as tar archives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_guest.framing import Control, FrameKind
from sandbox_guest.pace import Pace
from sandbox_guest.pack import archive
from sandbox_guest.silkd.errors import bad_request
from sandbox_guest.silkd.files import path_of
from sandbox_guest.silkd.rpc import Rpc
from sandbox_guest.tarstream import TarError
from sandbox_guest.unpack import Unpacking


async def push(rpc: Rpc) -> Control:
    """Unpack what follows into `dest`, made if missing; a cut stream changes nothing in it."""
    dest = path_of(rpc, "dest")
    Path(dest).mkdir(parents=True, exist_ok=True)
    try:
        async with Unpacking(dest) as unpacking:
            async for piece in rpc.data():
                await unpacking.feed(piece)
            await unpacking.merge()
    except TarError as error:
        raise bad_request(str(error)) from error
    return {"type": "done"}


async def pull(rpc: Rpc) -> Control:
    """A file or tree as an archive."""
    pace = Pace()
    for piece in archive(path_of(rpc)):
        await pace()
        if piece:
            await rpc.stream.drain()
            rpc.stream.send_bulk(FrameKind.DATA, piece)
    return {"type": "done"}


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {"fs_push": push, "fs_pull": pull}
