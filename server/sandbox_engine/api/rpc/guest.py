"""`sandbox.v1.GuestService`: commands (in `exec.py`) and files."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from sandbox.v1 import guest_pb2 as pb
from sandbox.v1.file_kind_pb2 import FileKind

from sandbox_engine.api.errors import wire_text
from sandbox_engine.api.rpc import exec as live
from sandbox_engine.api.rpc import forward
from sandbox_engine.api.rpc.times import timestamp
from sandbox_engine.errors import InvalidArgument, TooLarge
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.exec import ProcessInfo
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import (
    FileChange,
    FileEntry,
    FileRead,
    Files,
    WriteOptions,
)
from sandbox_engine.services.relay import Ports

MAX_DATA = 1 << 20
DEFAULT_ENTRIES = 4096
KINDS = {
    "file": FileKind.FILE_KIND_FILE,
    "dir": FileKind.FILE_KIND_DIRECTORY,
    "symlink": FileKind.FILE_KIND_SYMLINK,
}
CHANGES = {
    "created": pb.WATCH_CHANGE_KIND_CREATED,
    "modified": pb.WATCH_CHANGE_KIND_MODIFIED,
    "deleted": pb.WATCH_CHANGE_KIND_DELETED,
    "renamed": pb.WATCH_CHANGE_KIND_RENAMED,
}


class GuestServicer:
    """Message in, one service call, message out."""

    def __init__(self, execs: Execs, files: Files, ports: Ports) -> None:
        self._execs, self._files, self._ports = execs, files, ports

    def exec(
        self, requests: AsyncIterator[pb.ExecRequest], caller: Caller
    ) -> AsyncIterator[pb.ExecResponse]:
        """A live command."""
        return live.run(self._execs, requests, caller)

    def attach_exec(
        self, requests: AsyncIterator[pb.AttachExecRequest], caller: Caller
    ) -> AsyncIterator[pb.AttachExecResponse]:
        """Go on with a detached command."""
        return live.attach(self._execs, requests, caller)

    async def list_processes(
        self, request: pb.ListProcessesRequest, caller: Caller
    ) -> pb.ListProcessesResponse:
        """The commands the agent knows of."""
        found = await self._execs.processes(caller, request.sandbox_id)
        return pb.ListProcessesResponse(processes=[_process(one) for one in found])

    async def signal_process(
        self, request: pb.SignalProcessRequest, caller: Caller
    ) -> pb.SignalProcessResponse:
        """The signal was sent when this answers."""
        await self._execs.signal(caller, request.sandbox_id, request.pid, request.signal)
        return pb.SignalProcessResponse()

    def forward_port(
        self, requests: AsyncIterator[pb.ForwardPortRequest], caller: Caller
    ) -> AsyncIterator[pb.ForwardPortResponse]:
        """A connection to a port of the guest."""
        return forward.run(self._ports, requests, caller)

    async def read_file(
        self, request: pb.ReadFileRequest, caller: Caller
    ) -> AsyncIterator[pb.ReadFileResponse]:
        """Pieces, then `done`."""
        pieces = self._files.read(
            caller,
            request.sandbox_id,
            request.path,
            offset=request.offset,
            max_bytes=request.max_bytes,
        )
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, FileRead):
                    done = pb.ReadFileDone(size=piece.size, truncated=piece.truncated)
                    yield pb.ReadFileResponse(done=done)
                else:
                    yield pb.ReadFileResponse(data=piece)

    async def write_file(
        self, requests: AsyncIterator[pb.WriteFileRequest], caller: Caller
    ) -> pb.WriteFileResponse:
        """Commits at `done`; a stream that is cut before leaves the file as it was."""
        first = await anext(requests, pb.WriteFileRequest())
        if not first.HasField("start"):
            raise InvalidArgument("start", "the first message must be `start`")
        start = first.start
        options = WriteOptions(
            mode=start.mode if start.HasField("mode") else None,
            append=start.append,
            exclusive=start.exclusive,
            parents=start.parents,
        )
        pieces = _pieces(requests)
        async with aclosing(pieces):
            size = await self._files.write(caller, start.sandbox_id, start.path, pieces, options)
        return pb.WriteFileResponse(size=size)

    async def list_directory(
        self, request: pb.ListDirectoryRequest, caller: Caller
    ) -> pb.ListDirectoryResponse:
        """Its entries."""
        entries, truncated = await self._files.list_directory(
            caller,
            request.sandbox_id,
            request.path,
            max_entries=request.max_entries or DEFAULT_ENTRIES,
        )
        return pb.ListDirectoryResponse(
            entries=[_entry(each) for each in entries], truncated=truncated
        )

    async def stat(self, request: pb.StatRequest, caller: Caller) -> pb.StatResponse:
        """What a path is."""
        found = await self._files.stat(caller, request.sandbox_id, request.path)
        return pb.StatResponse(
            kind=_kind(found.kind),
            size=found.size,
            mode=found.mode,
            modify_time=timestamp(found.mtime),
        )

    async def make_directory(
        self, request: pb.MakeDirectoryRequest, caller: Caller
    ) -> pb.MakeDirectoryResponse:
        """It exists when this answers."""
        mode = request.mode if request.HasField("mode") else 0o755
        await self._files.mkdir(
            caller, request.sandbox_id, request.path, mode=mode, parents=request.parents
        )
        return pb.MakeDirectoryResponse()

    async def remove(self, request: pb.RemoveRequest, caller: Caller) -> pb.RemoveResponse:
        """It is gone when this answers."""
        await self._files.remove(
            caller, request.sandbox_id, request.path, recursive=request.recursive
        )
        return pb.RemoveResponse()

    async def rename(self, request: pb.RenameRequest, caller: Caller) -> pb.RenameResponse:
        """It is moved when this answers."""
        await self._files.rename(caller, request.sandbox_id, request.path, request.new_path)
        return pb.RenameResponse()

    async def watch(
        self, request: pb.WatchRequest, caller: Caller
    ) -> AsyncIterator[pb.WatchResponse]:
        """`ready`, then changes until it is cancelled."""
        changes = self._files.watch(
            caller, request.sandbox_id, request.path, recursive=request.recursive
        )
        async with aclosing(changes):
            async for change in changes:
                if change is None:
                    yield pb.WatchResponse(ready=pb.WatchReady())
                else:
                    yield pb.WatchResponse(change=_change(change))


async def _pieces(requests: AsyncIterator[pb.WriteFileRequest]) -> AsyncGenerator[bytes, None]:
    """The bytes up to `done`.

    The end of the stream alone does not commit: to a server, a client that vanished looks
    for a moment like one that has said everything.
    """
    async for request in requests:
        match request.WhichOneof("message"):
            case "data":
                if len(request.data) > MAX_DATA:
                    raise TooLarge(f"data: more than {MAX_DATA} bytes in one message")
                yield request.data
            case "done":
                return
            case _:
                raise InvalidArgument("message", "after `start` only `data` and `done` may follow")
    raise InvalidArgument("done", "the stream ended before it; nothing was written")


def _entry(entry: FileEntry) -> pb.DirectoryEntry:
    return pb.DirectoryEntry(
        name=wire_text(entry.name),
        kind=_kind(entry.kind),
        size=entry.size,
        modify_time=timestamp(entry.mtime),
    )


def _process(process: ProcessInfo) -> pb.Process:
    return pb.Process(
        pid=process.pid,
        argv=map(wire_text, process.argv),
        exec_id=process.exec_id,
        running=process.running,
        exit_code=process.exit_code,
        start_time=timestamp(process.started_at),
    )


def _change(change: FileChange) -> pb.WatchChange:
    kind = CHANGES.get(change.kind, pb.WATCH_CHANGE_KIND_UNSPECIFIED)
    return pb.WatchChange(kind=kind, path=wire_text(change.path))


def _kind(name: str) -> FileKind.ValueType:
    return KINDS.get(name, FileKind.FILE_KIND_OTHER)
