"""`fs_watch`: what changes below a path, live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sandbox_guest import fields
from sandbox_guest.framing import Control
from sandbox_guest.inotify import Overflow, Watch
from sandbox_guest.silkd.errors import INTERNAL, RpcError
from sandbox_guest.silkd.files import path_of
from sandbox_guest.silkd.rpc import Rpc


async def watch(rpc: Rpc) -> Control:
    """Report changes until the client's input ends; nothing after `ready` is missed.

    A reader that is too slow is told, by the error that an overflow is, when the kernel's
    queue ran over.
    """
    armed = Watch(path_of(rpc), recursive=fields.flag(rpc.request, "recursive"))
    loop = asyncio.get_running_loop()
    wake = asyncio.Event()
    over = False

    def ended() -> None:
        nonlocal over
        over = True
        wake.set()

    loop.add_reader(armed.fd, wake.set)
    try:
        rpc.send({"type": "ready"})
        rpc.listen(lambda _, data: rpc.stream.grant(len(data)), ended, end_op="data_end")
        while not over:
            await wake.wait()
            wake.clear()
            await _report(rpc, armed)
    except Overflow:
        raise RpcError(INTERNAL, "overflow: changes were lost; watch again") from None
    finally:
        loop.remove_reader(armed.fd)
        armed.close()
    return {"type": "done"}


async def _report(rpc: Rpc, armed: Watch) -> None:
    last = None
    for change in armed.changes():
        if change != last:  # a file written in pieces is one change in a burst
            last = change
            await rpc.stream.drain()
            rpc.send({"type": "event", "kind": change[0], "path": change[1]})


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {"fs_watch": watch}
