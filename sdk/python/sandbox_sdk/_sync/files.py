# Generated from `_async/files.py` by tools/codegen/blocking.py: change that one.
"""Files below /workspace of a sandbox, and whole trees."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from sandbox.v1 import guest_pb2

from sandbox_sdk import _convert, _methods, _tree
from sandbox_sdk._sync.calls import Calls
from sandbox_sdk._sync.command import Command
from sandbox_sdk._wire_sync import in_thread
from sandbox_sdk.errors import CommandFailed, ConnectionLost
from sandbox_sdk.models import (
    Change,
    DirectoryEntry,
    ExecResult,
    Exited,
    FileInfo,
    Stderr,
    Stdout,
)

if TYPE_CHECKING:
    from sandbox_sdk._sync.sandbox import Sandbox

PIECE = 256 << 10
"""Bytes of a file in one message; the engine takes up to 1 MiB."""


class Files:
    """The files of one sandbox.

    Paths are absolute in the guest and stay below /workspace.  Every call raises
    `PathNotFound`, `PathDenied`, `PathExists` or another `SandboxError`.
    """

    def __init__(self, calls: Calls, sandbox: Sandbox) -> None:
        self._calls, self._sandbox = calls, sandbox

    def read(self, path: str, *, offset: int = 0, max_bytes: int = 0) -> bytes:
        """What a file holds, from `offset`; at most `max_bytes` where that is not 0."""
        held = bytearray()
        for piece in self.stream(path, offset=offset, max_bytes=max_bytes):
            held += piece
        return bytes(held)

    def read_text(self, path: str) -> str:
        """A UTF-8 file.  Raises `UnicodeDecodeError` where it is not."""
        return (self.read(path)).decode()

    def stream(self, path: str, *, offset: int = 0, max_bytes: int = 0) -> Iterator[bytes]:
        """The pieces of a file, as they arrive."""
        call = self._calls.open(_methods.READ)
        try:
            request = guest_pb2.ReadFileRequest(
                sandbox_id=self._sandbox.id, path=path, offset=offset, max_bytes=max_bytes
            )
            call.feed((request,))
            while (answer := call.read()) is not None:
                if answer.HasField("done"):
                    return
                yield answer.data
            raise ConnectionLost("the file was cut")
        finally:
            call.cancel()

    def write(
        self,
        path: str,
        data: bytes | str,
        *,
        mode: int | None = None,
        append: bool = False,
        exclusive: bool = False,
        parents: bool = True,
    ) -> int:
        """Write a file, text as UTF-8; the number of bytes.

        A file that is replaced is replaced as a whole.  `mode` is its permission bits (0644,
        or what it had), `exclusive` fails where it exists, `parents` makes missing folders.
        """
        raw = data.encode() if isinstance(data, str) else data
        start = guest_pb2.WriteFileStart(
            sandbox_id=self._sandbox.id,
            path=path,
            mode=mode,
            append=append,
            exclusive=exclusive,
            parents=parents,
        )
        call = self._calls.open(_methods.WRITE)
        try:
            call.feed(_pieces(start, raw))
            answer = call.read()
            if answer is None:
                raise ConnectionLost("the write was not confirmed")
            return answer.size
        finally:
            call.cancel()

    def list(self, path: str, *, max_entries: int = 0) -> list[DirectoryEntry]:
        """The entries of a directory, at most `max_entries` (4096)."""
        request = guest_pb2.ListDirectoryRequest(
            sandbox_id=self._sandbox.id, path=path, max_entries=max_entries
        )
        answer = self._calls.ask(_methods.LIST_DIRECTORY, request)
        return [_convert.entry(each) for each in answer.entries]

    def rename(self, path: str, new_path: str) -> None:
        """Move a path; a file that is at the new one is replaced."""
        request = guest_pb2.RenameRequest(sandbox_id=self._sandbox.id, path=path, new_path=new_path)
        self._calls.ask(_methods.RENAME, request)

    def watch(self, path: str, *, recursive: bool = False) -> Iterator[Change | None]:
        """None once the watch is armed, then each change; leave the loop to end it.

        Nothing after the None is missed: where the guest lost changes, `GuestIo` is raised.
        """
        call = self._calls.open(_methods.WATCH)
        try:
            request = guest_pb2.WatchRequest(
                sandbox_id=self._sandbox.id, path=path, recursive=recursive
            )
            call.feed((request,))
            while (answer := call.read()) is not None:
                yield _convert.change(answer.change) if answer.HasField("change") else None
            raise ConnectionLost("the watch was cut")
        finally:
            call.cancel()

    def stat(self, path: str) -> FileInfo:
        """What a path is; a final symbolic link is not followed."""
        request = guest_pb2.StatRequest(sandbox_id=self._sandbox.id, path=path)
        return _convert.file_info(self._calls.ask(_methods.STAT, request))

    def make_directory(self, path: str, *, mode: int = 0o755, parents: bool = True) -> None:
        """Make a directory; with `parents` also where it exists."""
        request = guest_pb2.MakeDirectoryRequest(
            sandbox_id=self._sandbox.id, path=path, mode=mode, parents=parents
        )
        self._calls.ask(_methods.MAKE_DIRECTORY, request)

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Remove a file, or with `recursive` a directory and all it holds."""
        request = guest_pb2.RemoveRequest(
            sandbox_id=self._sandbox.id, path=path, recursive=recursive
        )
        self._calls.ask(_methods.REMOVE, request)

    def upload_tree(self, local: str | os.PathLike[str], path: str) -> None:
        """Put what a local directory holds below `path`, which is made.

        Sends regular files, directories and symbolic links.  Needs `tar` in the guest.
        Raises `CommandFailed` where the guest could not unpack.
        """
        with tempfile.TemporaryFile() as packed:
            in_thread(_tree.pack, os.fspath(local), packed)
            where = shlex.quote(path)
            script = f"mkdir -p -- {where} && exec tar -x -f - -C {where}"
            command = self._sandbox.exec(script, input=True)
            with command:
                command.feed_file(packed)
                (command.wait()).check()

    def download_tree(self, path: str, local: str | os.PathLike[str]) -> None:
        """Bring what a directory holds into `local`, which must be missing or empty.

        The guest is not trusted: a name that leaves the tree, a link that points out of it,
        a device or a socket raises `UnsafeTree`, and links are made last, so that nothing is
        written through one.  Needs `tar` in the guest.
        """
        with tempfile.TemporaryFile() as packed:
            script = f"exec tar -c --hard-dereference -f - -C {shlex.quote(path)} ."
            command = self._sandbox.exec(script)
            with command:
                _receive(command, packed)
            in_thread(_tree.unpack, packed, os.fspath(local))


def _receive(command: Command, into: IO[bytes]) -> None:
    said = bytearray()
    for event in command:
        match event:
            case Stdout():
                in_thread(into.write, event.data)
            case Stderr():
                said += event.data[: PIECE - len(said)]
            case Exited() if event.exit_code:
                raise CommandFailed(ExecResult(exit_code=event.exit_code, stderr=bytes(said)))


def _pieces(start: guest_pb2.WriteFileStart, data: bytes) -> Iterator[guest_pb2.WriteFileRequest]:
    yield guest_pb2.WriteFileRequest(start=start)
    for at in range(0, len(data), PIECE):
        yield guest_pb2.WriteFileRequest(data=data[at : at + PIECE])
    yield guest_pb2.WriteFileRequest(done=guest_pb2.WriteFileDone())
