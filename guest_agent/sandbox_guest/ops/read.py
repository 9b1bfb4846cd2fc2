"""`read_file`, `list_dir`, `stat`."""

from __future__ import annotations

import os
import stat as modes

from sandbox_guest import fields
from sandbox_guest.agent import Agent
from sandbox_guest.framing import Control, FrameKind
from sandbox_guest.ops.errors import OpError, Status
from sandbox_guest.ops.paths import folder_of
from sandbox_guest.stream import Stream
from sandbox_guest.trees import kind_of

MAX_FILE = 4 << 20
MAX_ENTRIES = 20_000
"""Bounds the one message that holds them: names have at most 255 bytes."""


async def read_file(agent: Agent, stream: Stream, request: Control) -> Control:
    """The file from `offset`, at most `max_bytes`; `size` is the whole file's."""
    offset = fields.number(request, "offset", 0)
    most = fields.number(request, "max_bytes", 0) or None
    if not fields.flag(request, "stream"):
        most = min(most or MAX_FILE, MAX_FILE)
    with folder_of(agent, request) as (folder, path):
        fd = folder.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        status = os.fstat(fd)
        if not modes.S_ISREG(status.st_mode):
            raise OpError(Status.IO, f"{request['path']}: is not a regular file")
        sent = await stream.send_file(FrameKind.DATA, fd, offset, most)
        more = sent == most and bool(os.pread(fd, 1, offset + sent))
    finally:
        os.close(fd)
    return {"type": "done", "size": status.st_size, "truncated": more}


def list_dir(agent: Agent, _stream: Stream, request: Control) -> Control:
    """What a folder holds, by name."""
    most = min(fields.number(request, "max_entries", MAX_ENTRIES), MAX_ENTRIES)
    entries: list[Control] = []
    truncated = False
    with folder_of(agent, request) as (folder, path):
        fd = folder.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with os.scandir(fd) as found:
            for entry in found:
                if len(entries) == most:
                    truncated = True
                    break
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:  # removed since it was listed
                    continue
                entries.append(
                    {
                        "name": entry.name,
                        "kind": kind_of(status.st_mode),
                        "size": status.st_size,
                        "mtime": int(status.st_mtime),
                    }
                )
    finally:
        os.close(fd)
    entries.sort(key=lambda entry: str(entry["name"]))
    return {"type": "entries", "entries": entries, "truncated": truncated}


def stat(agent: Agent, _stream: Stream, request: Control) -> Control:
    """What a path is; a link is a link."""
    with folder_of(agent, request) as (folder, path):
        fd = folder.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        status = os.fstat(fd)
    finally:
        os.close(fd)
    return {
        "type": "stat",
        "kind": kind_of(status.st_mode),
        "size": status.st_size,
        "mode": modes.S_IMODE(status.st_mode),
        "mtime": int(status.st_mtime),
    }
