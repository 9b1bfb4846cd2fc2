"""`fs_find` and `fs_replace`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sandbox_guest import fields, search
from sandbox_guest.framing import Control
from sandbox_guest.silkd.errors import bad_request
from sandbox_guest.silkd.files import absolute, path_of
from sandbox_guest.silkd.rpc import Rpc
from sandbox_guest.worker import Say

DONE: Control = {"type": "done"}


async def find(rpc: Rpc) -> Control:
    """Lines that match, as they are found."""
    path = path_of(rpc)
    Path(path).stat()  # for its error: the worker skips what it cannot read
    glob = fields.text(rpc.request, "glob")
    return await _relay(rpc, partial(search.find, path, _pattern(rpc), glob))


async def replace(rpc: Rpc) -> Control:
    """Replace in files, in order, up to the first that cannot be."""
    replacement = fields.optional(rpc.request, "replacement", str)
    if replacement is None:
        raise bad_request("replacement: is missing")
    files = [absolute(rpc, file) for file in fields.words(rpc.request, "files")]
    return await _relay(rpc, partial(search.replace, files, _pattern(rpc), replacement))


def _pattern(rpc: Rpc) -> re.Pattern[str]:
    pattern = fields.optional(rpc.request, "pattern", str)
    if pattern is None:
        raise bad_request("pattern: is missing")
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise bad_request(f"pattern: {error}") from error


async def _relay(rpc: Rpc, work: Callable[[Say], None]) -> Control:
    """What the worker says, paced by the reader."""
    async with rpc.agent.workers.run(work) as messages:
        async for message in messages:
            if message["type"] == "error":
                return message
            await rpc.stream.drain()
            rpc.send(message)
    return DONE


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {"fs_find": find, "fs_replace": replace}
