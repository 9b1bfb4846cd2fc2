"""`write_file`, `mkdir`, `remove`."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import partial

from sandbox_guest import fields, trees
from sandbox_guest.agent import Agent
from sandbox_guest.confine import Folder
from sandbox_guest.framing import Control
from sandbox_guest.ops.errors import OpError, Status
from sandbox_guest.ops.paths import folder_of, is_root
from sandbox_guest.ops.read import MAX_FILE
from sandbox_guest.replace import Replacement, write_all
from sandbox_guest.stream import Stream
from sandbox_guest.upload import upload

DONE: Control = {"type": "done"}
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOCTTY


async def write_file(agent: Agent, stream: Stream, request: Control) -> Control:
    """Replace (or append to) a file by what follows as DATA up to `data_end`.

    A replacement shows only whole.  A stream that ends early writes nothing, except
    what was appended already.
    """
    mode = _mode(request)
    most = None if fields.flag(request, "stream") else MAX_FILE
    exclusive = fields.flag(request, "excl")
    with folder_of(agent, request) as (folder, path):
        if not path:
            raise OpError(Status.IO, f"{request['path']}: is a directory")
        if fields.flag(request, "parents") and "/" in path:
            folder.make(path.rpartition("/")[0], 0o755, parents=True)
        if fields.flag(request, "append"):
            fd = _open_to_append(folder, path, mode, exclusive=exclusive)
            await _append(stream, fd, most)
        else:
            await _replace(stream, folder, path, mode, most, exclusive=exclusive)
    return DONE


async def _append(stream: Stream, fd: int, most: int | None) -> None:
    try:
        await upload(stream, _capped(partial(write_all, fd), most))
    finally:
        os.close(fd)


def _open_to_append(folder: Folder, path: str, mode: int | None, *, exclusive: bool) -> int:
    """`mode` is for a file that is made here, whatever the umask is."""
    if not exclusive:
        try:
            return folder.open(path, _APPEND)
        except FileNotFoundError:
            pass
    fd = folder.open(path, _APPEND | os.O_CREAT | os.O_EXCL, 0o600)
    os.fchmod(fd, 0o644 if mode is None else mode)
    return fd


async def _replace(
    stream: Stream,
    folder: Folder,
    path: str,
    mode: int | None,
    most: int | None,
    *,
    exclusive: bool,
) -> None:
    parent, name = folder.parent(path)
    try:
        if exclusive and _exists(parent, name):  # before the data; `commit` decides for good
            raise FileExistsError(errno.EEXIST, "File exists")
        with Replacement(parent, name, mode) as replacement:
            await upload(stream, _capped(replacement.write, most))
            replacement.commit(exclusive=exclusive)
    finally:
        os.close(parent)


def _capped(take: Callable[[bytes], None], most: int | None) -> Callable[[bytes], None]:
    """`take`, up to `most` bytes; then `OpError`."""
    total = 0

    def checked(data: bytes) -> None:
        nonlocal total
        total += len(data)
        if most is not None and total > most:
            raise OpError(Status.TOO_LARGE, f"more than {most} bytes")
        take(data)

    return checked


def _exists(parent: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _mode(request: Control) -> int | None:
    mode = fields.optional(request, "mode", int)
    if mode is not None and not 0 <= mode <= 0o7777:
        raise fields.refuse("mode", "must be permission bits")
    return mode


def mkdir(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Make a folder."""
    mode = _mode(request)
    parents = fields.flag(request, "parents")
    with folder_of(agent, request) as (folder, path):
        if path:
            folder.make(path, 0o755 if mode is None else mode, parents=parents)
        elif not parents:
            raise OpError(Status.EXISTS, f"{request['path']}: exists")
    return DONE


def rename(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Move a path; what is at the new one is replaced, as the system call does."""
    target = {**request, "path": fields.required_text(request, "new_path")}
    for one in (request, target):
        if is_root(agent, one):
            raise OpError(Status.DENIED, f"{one['path']}: is never moved nor replaced")
    with folder_of(agent, request) as (source, path), folder_of(agent, target) as (sink, new):
        parent, name = source.parent(path)
        try:
            new_parent, new_name = sink.parent(new)
            try:
                os.rename(name, new_name, src_dir_fd=parent, dst_dir_fd=new_parent)
            finally:
                os.close(new_parent)
        finally:
            os.close(parent)
    return DONE


async def remove(agent: Agent, _stream: Stream, request: Control) -> Control:
    """Remove a file, an empty folder, or with `recursive` a tree."""
    if is_root(agent, request):
        raise OpError(Status.DENIED, f"{request['path']}: is never removed")
    recursive = fields.flag(request, "recursive")
    with folder_of(agent, request) as (folder, path):
        parent, name = folder.parent(path)
        try:
            await trees.remove(parent, name, recursive=recursive)
        finally:
            os.close(parent)
    return DONE
