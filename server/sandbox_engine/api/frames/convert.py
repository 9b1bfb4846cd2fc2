"""Legacy messages to the model, and back."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.v1 import legacy_pb2 as pb
from sandbox.v1.file_kind_pb2 import FileKind

from sandbox_engine.api.errors import TABLE, wire_text
from sandbox_engine.errors import EngineError, InvalidArgument
from sandbox_engine.model.exec import ExecResult, ExecSpec
from sandbox_engine.model.sandbox import Created, SandboxSpec, SandboxStatus
from sandbox_engine.services.files import FileEntry, FileRead, FileStat, WriteOptions

MAX_MESSAGE = 4096
LISTING_BYTES = 60 << 10
"""What a listing may fill of the 64 KiB of a reply."""
MAX_ENTRIES = LISTING_BYTES // 33
"""No frame holds more, so no more are asked of the guest."""
_ENTRY_OVERHEAD = 32
_UINT32 = (1 << 32) - 1
_KINDS = {
    "file": FileKind.FILE_KIND_FILE,
    "dir": FileKind.FILE_KIND_DIRECTORY,
    "symlink": FileKind.FILE_KIND_SYMLINK,
}


def sandbox_spec(request: pb.CreateRequest) -> SandboxSpec:
    """What to create.  Raises `InvalidArgument`."""
    return SandboxSpec(
        template=request.template_name,
        memory_mib=request.memory_mib,
        vcpus=request.vcpu_count,
        env=variables(request.env_vars, "env_vars") if request.env_vars else {},
        pool_wait_ms=request.pool_wait_ms,
        session_key=request.session_key or None,
        workspace_ttl_s=request.ttl_seconds,
        egress_allow=tuple(request.egress_allow),
        egress_deny_all=request.egress_deny_all,
    )


def variables(entries: Iterable[str], field: str) -> dict[str, str]:
    """`KEY=VALUE` entries; of two with one name the later holds."""
    found = {}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if not equals:
            raise InvalidArgument(field, f"{entry!r} is not KEY=VALUE")
        found[name] = value
    return found


def exec_spec(request: pb.GuestExecRequest) -> ExecSpec:
    """What to run."""
    return ExecSpec(
        argv=list(request.argv),
        shell=request.shell,
        cwd=request.cwd,
        env=variables(request.env, "env"),
        timeout_ms=request.timeout_ms,
        max_output=request.max_output,
        stdin=bool(request.input),
    )


def write_options(request: pb.GuestWriteFileRequest) -> WriteOptions:
    """How to write."""
    return WriteOptions(
        mode=request.mode or None,
        append=request.append,
        exclusive=request.exclusive,
        parents=request.parents,
    )


def created(result: Created) -> pb.ServerMessage:
    """A new sandbox."""
    reply = pb.ServerMessage()
    reply.create.sandbox_id = result.sandbox.number
    reply.create.session_token = result.session_token
    return reply


def status(result: SandboxStatus) -> pb.ServerMessage:
    """What `inspect` found; resident memory is rounded up to MiB."""
    reply = pb.ServerMessage()
    counts = reply.inspect
    counts.sandbox_id = result.sandbox.number
    counts.is_running = result.is_running
    counts.uptime_ms = result.uptime_ms
    counts.memory_rss_mib = (result.memory_rss_bytes + (1 << 20) - 1) >> 20
    counts.page_faults = min(result.page_faults, _UINT32)
    return reply


def exec_result(result: ExecResult) -> pb.GuestResponse:
    """How a command ended."""
    end = result.exit
    answer = pb.GuestExecResponse(
        exit_code=end.code,
        term_signal=end.signal,
        timed_out=end.timed_out,
        output_truncated=end.truncated,
        duration_ms=end.duration_ms,
        out=result.out,
        err=result.err,
        out_total=end.out_total,
        err_total=end.err_total,
    )
    return pb.GuestResponse(exec=answer)


def chunk(data: bytes, end: FileRead) -> pb.GuestResponse:
    """A piece of a file."""
    answer = pb.GuestReadFileResponse(data=data, file_size=end.size, truncated=end.truncated)
    return pb.GuestResponse(read_file=answer)


def listing(entries: list[FileEntry], truncated: bool) -> pb.GuestResponse:
    """As many entries as one frame holds."""
    answer = pb.GuestListDirResponse(truncated=truncated)
    room = LISTING_BYTES
    for entry in entries:
        name = wire_text(entry.name)
        room -= len(name.encode()) + _ENTRY_OVERHEAD
        if room < 0:
            answer.truncated = True
            break
        answer.entries.add(
            name=name, kind=_kind(entry.kind), size=entry.size, mtime=int(entry.mtime)
        )
    return pb.GuestResponse(list_dir=answer)


def stat(found: FileStat) -> pb.GuestResponse:
    """What a path is."""
    answer = pb.GuestStatResponse(
        kind=_kind(found.kind), size=found.size, mode=found.mode, mtime=int(found.mtime)
    )
    return pb.GuestResponse(stat=answer)


def _kind(name: str) -> FileKind.ValueType:
    return _KINDS.get(name, FileKind.FILE_KIND_OTHER)


def failure(error: EngineError) -> pb.ServerMessage:
    """An error, by the table."""
    message = wire_text(str(error)).encode()[:MAX_MESSAGE].decode(errors="ignore")
    answer = pb.ErrorResponse(error_code=TABLE[error.code].legacy, message=message)
    return pb.ServerMessage(error=answer)
