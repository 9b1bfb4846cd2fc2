"""`fs_write`, `fs_read`, `fs_list`, `fs_stat`, `fs_mkdir`, `fs_rm`, `fs_rename`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox_guest import fields, trees
from sandbox_guest.framing import Control, FrameKind
from sandbox_guest.pace import Pace
from sandbox_guest.replace import Replacement
from sandbox_guest.silkd.errors import bad_request
from sandbox_guest.silkd.rpc import Rpc
from sandbox_guest.upload import upload

BATCH = 4096
DONE: Control = {"type": "done"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def path_of(rpc: Rpc, field: str = "path") -> str:
    """A path of the request; a relative one is taken from where commands start."""
    return absolute(rpc, fields.required_text(rpc.request, field))


def absolute(rpc: Rpc, path: str) -> str:
    """The same for a path that was read."""
    return path if path.startswith("/") else f"{rpc.agent.places.start_folder()}/{path}"


async def write(rpc: Rpc) -> Control:
    """Replace a file in one step; through a link, the file it leads to."""
    mode = fields.optional(rpc.request, "mode", int)
    if mode is not None and not 0 <= mode <= 0o7777:
        raise fields.refuse("mode", "must be permission bits")
    path = os.path.realpath(path_of(rpc))
    folder, name = os.path.split(path)
    if not name:
        raise bad_request(f"{path}: is a directory")
    parent = os.open(folder, _FOLDER)
    try:
        with Replacement(parent, name, mode) as replacement:
            await upload(rpc.stream, replacement.write)
            replacement.commit()
    finally:
        os.close(parent)
    return DONE


async def read(rpc: Rpc) -> Control:
    """A regular file's bytes."""
    path = path_of(rpc)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise bad_request(f"{path}: is not a regular file")
        await rpc.stream.send_file(FrameKind.DATA, fd, 0, None)
    finally:
        os.close(fd)
    return DONE


async def listing(rpc: Rpc) -> Control:
    """A folder's entries in batches, in no order."""
    pace = Pace()
    entries: list[Control] = []
    with os.scandir(path_of(rpc)) as found:
        for entry in found:
            await pace()
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # removed since it was listed
                continue
            kind = trees.kind_of(status.st_mode)
            entries.append({"name": entry.name, "kind": kind, "size": status.st_size})
            if len(entries) == BATCH:
                await rpc.stream.drain()
                rpc.send({"type": "entries", "entries": entries})
                entries = []
    if entries:
        rpc.send({"type": "entries", "entries": entries})
    return DONE


def status(rpc: Rpc) -> Control:
    """What a path is; a link is a link."""
    found = os.lstat(path_of(rpc))
    return {
        "type": "stat",
        "info": {
            "kind": trees.kind_of(found.st_mode),
            "size": found.st_size,
            "mode": stat.S_IMODE(found.st_mode),
            "mtime_epoch_secs": int(found.st_mtime),
        },
    }


def mkdir(rpc: Rpc) -> Control:
    """Make a folder."""
    path = path_of(rpc)
    parents = fields.flag(rpc.request, "parents")
    Path(path).mkdir(parents=parents, exist_ok=parents)
    return DONE


async def remove(rpc: Rpc) -> Control:
    """Remove a file, an empty folder, or with `recursive` a tree."""
    path = path_of(rpc).rstrip("/")
    folder, name = os.path.split(path)
    if name in ("", ".", ".."):
        raise bad_request(f"{path or '/'}: is never removed")
    parent = os.open(folder, _FOLDER)
    try:
        await trees.remove(parent, name, recursive=fields.flag(rpc.request, "recursive"))
    finally:
        os.close(parent)
    return DONE


def rename(rpc: Rpc) -> Control:
    """Rename `from` to `to`, replacing a file that is there."""
    Path(path_of(rpc, "from")).rename(path_of(rpc, "to"))
    return DONE


OPERATIONS: dict[str, Callable[[Rpc], Any]] = {
    "fs_write": write,
    "fs_read": read,
    "fs_list": listing,
    "fs_stat": status,
    "fs_mkdir": mkdir,
    "fs_rm": remove,
    "fs_rename": rename,
}
