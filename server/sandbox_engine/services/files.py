"""Files below /workspace: one call a file, streamed in bounded memory, or whole for frames."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from sandbox_guest.framing import FrameKind

from sandbox_engine.errors import GuestUnavailable, InvalidArgument, PathDenied, TooLarge
from sandbox_engine.model.caller import Caller
from sandbox_engine.ports.guest import GuestPort, GuestStream
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.wire.guest_status import error_of, parse

MAX_FILE = 4 << 20
"""Largest file of the whole-file operations (seed "Functions")."""
MAX_CHUNK = 48 << 10
"""Largest chunk of one frame."""
MAX_PATH = 4096
MAX_ENTRIES = 65536


class FileEntry(Struct, frozen=True, kw_only=True):
    """One name in a directory."""

    name: str
    kind: str
    """`file`, `dir`, `symlink` or `other`."""
    size: int
    mtime: float
    """Unix seconds."""


class FileStat(Struct, frozen=True, kw_only=True):
    """One path, a final symlink not followed."""

    kind: str
    size: int
    mode: int
    """Permission bits."""
    mtime: float


class FileChange(Struct, frozen=True, kw_only=True):
    """Something that happened to a path."""

    kind: str
    """`created`, `modified`, `deleted` or `renamed`."""
    path: str


class FileRead(Struct, frozen=True, kw_only=True):
    """How a read ended."""

    size: int
    """Of the whole file."""
    truncated: bool
    """The file goes on behind what was read."""


class WriteOptions(Struct, frozen=True, kw_only=True):
    """How a file is written.  Replacing is atomic: a temporary file, renamed."""

    mode: int | None = None
    append: bool = False
    exclusive: bool = False
    """Fail where the path exists."""
    parents: bool = False
    """Make missing directories."""


class Files:
    """File operations, each confined to /workspace by the guest."""

    def __init__(self, sandboxes: Sandboxes) -> None:
        self._sandboxes = sandboxes

    async def read(
        self, caller: Caller, sandbox_id: str, path: str, *, offset: int = 0, max_bytes: int = 0
    ) -> AsyncGenerator[bytes | FileRead, None]:
        """Pieces of the file, then a `FileRead`.  `max_bytes` 0 reads to the end."""
        if offset < 0 or max_bytes < 0:
            raise InvalidArgument("offset", "must not be negative")
        message: dict[str, Any] = {"op": "read_file", "path": check_path(path), "stream": True}
        message |= {"offset": offset} if offset else {}
        message |= {"max_bytes": max_bytes} if max_bytes else {}
        async with self._open(caller, sandbox_id, message) as stream:
            while (received := await stream.receive()) is not None:
                if received[0] == FrameKind.DATA:
                    yield received[1]
                    continue
                reply = _checked(received)
                yield FileRead(size=reply["size"], truncated=reply["truncated"])
                return
            raise GuestUnavailable("the guest ended a read without its answer")

    async def read_chunk(
        self, caller: Caller, sandbox_id: str, path: str, *, offset: int, max_bytes: int
    ) -> tuple[bytes, FileRead]:
        """Up to `max_bytes` (at most 4 MiB) from `offset`."""
        if max_bytes > MAX_FILE:
            raise TooLarge(f"max_bytes: {max_bytes}; the limit is {MAX_FILE}")
        data = bytearray()
        end = FileRead(size=0, truncated=False)
        async for piece in self.read(caller, sandbox_id, path, offset=offset, max_bytes=max_bytes):
            if isinstance(piece, FileRead):
                end = piece
            else:
                data += piece
        return bytes(data), end

    async def write(
        self,
        caller: Caller,
        sandbox_id: str,
        path: str,
        pieces: AsyncIterable[bytes],
        options: WriteOptions,
    ) -> int:
        """Write what `pieces` yields; the bytes written.

        A raise from `pieces`, or a cancellation, leaves the old file as it was.
        """
        size = 0
        async with self._open(caller, sandbox_id, _write_message(path, options)) as stream:
            async for piece in pieces:
                size += len(piece)
                await stream.send_bulk(FrameKind.DATA, piece)
            await stream.send({"op": "data_end"})
            await _answer(stream)
        return size

    async def write_chunk(
        self, caller: Caller, sandbox_id: str, path: str, data: bytes, options: WriteOptions
    ) -> None:
        """Write one chunk of at most 48 KiB."""
        if len(data) > MAX_CHUNK:
            raise TooLarge(f"data: {len(data)} bytes; the limit of one chunk is {MAX_CHUNK}")
        await self.write(caller, sandbox_id, path, _once(data), options)

    async def list_directory(
        self, caller: Caller, sandbox_id: str, path: str, *, max_entries: int = MAX_ENTRIES
    ) -> tuple[list[FileEntry], bool]:
        """Names in a directory, and whether there are more."""
        reply = await self._call(
            caller,
            sandbox_id,
            {"op": "list_dir", "path": check_path(path), "max_entries": max_entries},
        )
        entries = [
            FileEntry(name=row["name"], kind=row["kind"], size=row["size"], mtime=row["mtime"])
            for row in reply["entries"]
        ]
        return entries, reply["truncated"]

    async def stat(self, caller: Caller, sandbox_id: str, path: str) -> FileStat:
        """What a path is.  Raises `PathNotFound`."""
        row = await self._call(caller, sandbox_id, {"op": "stat", "path": check_path(path)})
        return FileStat(kind=row["kind"], size=row["size"], mode=row["mode"], mtime=row["mtime"])

    async def mkdir(
        self, caller: Caller, sandbox_id: str, path: str, *, mode: int = 0o755, parents: bool
    ) -> None:
        """Make a directory; with `parents` missing ones too, and none is no error."""
        message = {"op": "mkdir", "path": check_path(path), "mode": mode, "parents": parents}
        await self._call(caller, sandbox_id, message)

    async def remove(self, caller: Caller, sandbox_id: str, path: str, *, recursive: bool) -> None:
        """Remove a path; never `/` nor the workspace root."""
        message = {"op": "remove", "path": check_path(path), "recursive": recursive}
        await self._call(caller, sandbox_id, message)

    async def rename(self, caller: Caller, sandbox_id: str, path: str, new_path: str) -> None:
        """Move a path; what is at the new one is replaced, but no directory that holds files."""
        message = {"op": "rename", "path": check_path(path), "new_path": check_path(new_path)}
        await self._call(caller, sandbox_id, message)

    async def watch(
        self, caller: Caller, sandbox_id: str, path: str, *, recursive: bool
    ) -> AsyncGenerator[FileChange | None, None]:
        """None once armed, then each change; nothing after the None is missed.

        Raises `GuestIo` where the guest lost changes.
        """
        message = {"op": "watch", "path": check_path(path), "recursive": recursive}
        async with self._open(caller, sandbox_id, message) as stream:
            while (received := await stream.receive()) is not None:
                reply = _checked(received)
                if reply.get("type") == "ready":
                    yield None
                else:
                    yield FileChange(kind=reply["kind"], path=reply["path"])
            raise GuestUnavailable("the guest ended a watch")

    async def _call(
        self, caller: Caller, sandbox_id: str, message: dict[str, Any]
    ) -> dict[str, Any]:
        async with self._open(caller, sandbox_id, message) as stream:
            return await _answer(stream)

    @asynccontextmanager
    async def _open(
        self, caller: Caller, sandbox_id: str, message: dict[str, Any]
    ) -> AsyncIterator[GuestStream]:
        """One call of the guest, which holds the idle clock while it is open."""
        await self._sandboxes.awake(caller, sandbox_id)
        channel = self._sandboxes.channel(caller, sandbox_id)
        with self._sandboxes.idle(caller, sandbox_id).hold():
            stream = channel.open(GuestPort.ENGINE, message)
            try:
                yield stream
            finally:
                stream.reset()


def check_path(path: str) -> str:
    """Absolute, no `.` or `..`, no NUL, at most 4096 bytes; the guest confines the rest."""
    if "\0" in path or len(path.encode(errors="surrogateescape")) > MAX_PATH:
        raise InvalidArgument("path", f"must be at most {MAX_PATH} bytes without NUL")
    if not path.startswith("/"):
        raise PathDenied(f"{path!r} is not absolute")
    if any(part in (".", "..") for part in path.split("/")):
        raise PathDenied(f"{path!r} holds `.` or `..`")
    return path


def _write_message(path: str, options: WriteOptions) -> dict[str, Any]:
    message: dict[str, Any] = {"op": "write_file", "path": check_path(path), "stream": True}
    if options.mode is not None:
        message["mode"] = options.mode
    message |= {"append": True} if options.append else {}
    message |= {"excl": True} if options.exclusive else {}
    message |= {"parents": True} if options.parents else {}
    return message


async def _answer(stream: GuestStream) -> dict[str, Any]:
    received = await stream.receive()
    if received is None:
        raise GuestUnavailable("the guest ended an operation without its answer")
    return _checked(received)


def _checked(received: tuple[int, bytes]) -> dict[str, Any]:
    reply = parse(received)
    if reply.get("type") == "error":
        raise error_of(reply)
    return reply


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
