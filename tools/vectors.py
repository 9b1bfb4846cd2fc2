"""`python -m tools.vectors [--check]`: the frames that every client library is tested with.

`tests/vectors/legacy_frames.json` pairs frames with their meaning, so that a codec in
another language can be held against this one without running it.  Messages are in
protobuf's JSON mapping with the names of the `.proto` (64-bit numbers are strings, bytes
are base64); `frame` is hexadecimal, length prefix included.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from sandbox.v1 import legacy_pb2 as pb
from sandbox.v1.file_kind_pb2 import FileKind

PATH = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "legacy_frames.json"
TOKEN = "0123456789abcdef" * 4
MOST = 2**64 - 1


def frame(body: bytes) -> bytes:
    """A body behind its length."""
    return struct.pack(">I", len(body)) + body


def requests() -> Iterator[tuple[str, pb.ClientMessage]]:
    """What a client may say, each with what makes it worth a row."""
    yield "create, every field", pb.ClientMessage(create=full_create(), request_id=7)
    yield "create, no request id", pb.ClientMessage(create=full_create())
    yield "create, all defaults", pb.ClientMessage(create=pb.CreateRequest(), request_id=1)
    yield "destroy", pb.ClientMessage(destroy=pb.DestroyRequest(sandbox_id=3), request_id=2)
    yield "destroy, no request id", pb.ClientMessage(destroy=pb.DestroyRequest(sandbox_id=3))
    yield "pause", pb.ClientMessage(pause=pb.PauseRequest(sandbox_id=2**32 - 1), request_id=MOST)
    yield "resume", pb.ClientMessage(resume=pb.ResumeRequest(sandbox_id=128), request_id=128)
    yield "inspect", pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=1), request_id=300)
    renew = pb.SessionRenewRequest(session_key="alice/project", extra_seconds=86400)
    yield "session renew", pb.ClientMessage(session_renew=renew, request_id=9)
    for name, guest in guest_requests():
        yield name, pb.ClientMessage(guest=guest, request_id=10)
    yield "no request, with an id", pb.ClientMessage(request_id=5)


def full_create() -> pb.CreateRequest:
    """A create that sets every field."""
    return pb.CreateRequest(
        memory_mib=512,
        vcpu_count=2,
        template_name="python-agent",
        env_vars=["GREETING=hello", "EMPTY=", "TEXT=grüße=1"],
        pool_wait_ms=500,
        session_key="alice/project",
        ttl_seconds=3600,
        egress_allow=["index.example", "*.packages.example:443"],
    )


def guest_requests() -> Iterator[tuple[str, pb.GuestRequest]]:
    """The seven operations inside a sandbox."""
    shell = pb.GuestExecRequest(argv=["echo hello; exit 3"], shell=True)
    yield "exec, shell", pb.GuestRequest(sandbox_id=1, exec=shell)
    command = pb.GuestExecRequest(
        cwd="/workspace/src",
        argv=["cat", "", "-"],
        env=["LANG=C"],
        timeout_ms=1500,
        max_output=4 << 20,
        input=b"\x00line\n\xff",
    )
    yield "exec, argv with input", pb.GuestRequest(sandbox_id=1, exec=command)
    read = pb.GuestReadFileRequest(path="/workspace/a", offset=2**40, max_bytes=49152)
    yield "read file", pb.GuestRequest(sandbox_id=1, read_file=read)
    write = pb.GuestWriteFileRequest(path="/workspace/a", mode=0o600, data=b"\x00\x01\x02")
    yield "write file", pb.GuestRequest(sandbox_id=1, write_file=write)
    flags = pb.GuestWriteFileRequest(
        path="/workspace/d/a", append=True, exclusive=True, parents=True
    )
    yield "write file, every flag", pb.GuestRequest(sandbox_id=1, write_file=flags)
    ls = pb.GuestListDirRequest(path="/workspace")
    yield "list directory", pb.GuestRequest(sandbox_id=1, list_dir=ls)
    stat = pb.GuestStatRequest(path="/workspace/grüße")
    yield "stat", pb.GuestRequest(sandbox_id=1, stat=stat)
    mkdir = pb.GuestMkdirRequest(path="/workspace/d/e", mode=0o700, parents=True)
    yield "make directory", pb.GuestRequest(sandbox_id=1, mkdir=mkdir)
    remove = pb.GuestRemoveRequest(path="/workspace/d", recursive=True)
    yield "remove", pb.GuestRequest(sandbox_id=1, remove=remove)
    yield "no operation", pb.GuestRequest(sandbox_id=1)


def replies() -> Iterator[tuple[str, pb.ServerMessage]]:
    """What the engine may answer."""
    created = pb.CreateResponse(sandbox_id=3, session_token=TOKEN)
    yield "created", pb.ServerMessage(create=created, request_id=7)
    yield "created, no request id", pb.ServerMessage(create=created)
    yield "destroyed", pb.ServerMessage(destroy=pb.DestroyResponse(), request_id=2)
    yield "destroyed, no request id", pb.ServerMessage(destroy=pb.DestroyResponse())
    yield "paused", pb.ServerMessage(pause=pb.PauseResponse(), request_id=MOST)
    yield "resumed", pb.ServerMessage(resume=pb.ResumeResponse(), request_id=128)
    counts = pb.InspectResponse(
        sandbox_id=1,
        is_running=True,
        uptime_ms=2**33,
        memory_rss_mib=270,
        page_faults=2**32 - 1,
    )
    yield "inspected", pb.ServerMessage(inspect=counts, request_id=300)
    paused = pb.InspectResponse(sandbox_id=1)
    yield "inspected, paused", pb.ServerMessage(inspect=paused, request_id=301)
    renewed = pb.SessionRenewResponse(expires_at=1_790_000_000)
    yield "session renewed", pb.ServerMessage(session_renew=renewed, request_id=9)
    for name, guest in guest_replies():
        yield name, pb.ServerMessage(guest=guest, request_id=10)
    for code in range(-1, -16, -1):
        error = pb.ErrorResponse(error_code=code, message=f"what went wrong, {code}")
        yield f"error {code}", pb.ServerMessage(error=error, request_id=11)
    unread = pb.ErrorResponse(error_code=-2, message="a frame that is no message")
    yield "error without a request", pb.ServerMessage(error=unread)


def guest_replies() -> Iterator[tuple[str, pb.GuestResponse]]:
    """The answers of the seven operations."""
    ended = pb.GuestExecResponse(
        exit_code=3, duration_ms=12, out=b"hello\n", err=b"\xff", out_total=6, err_total=1
    )
    yield "exec ended", pb.GuestResponse(exec=ended)
    killed = pb.GuestExecResponse(
        exit_code=137, term_signal=9, timed_out=True, output_truncated=True, out_total=2**40
    )
    yield "exec killed", pb.GuestResponse(exec=killed)
    heads = pb.GuestExecResponse(
        out=b"o" * 32768, err=b"e" * 16384, out_total=4 << 20, err_total=4 << 20
    )
    yield "exec, both heads full", pb.GuestResponse(exec=heads)
    piece = pb.GuestReadFileResponse(data=bytes(range(256)), file_size=2**40, truncated=True)
    yield "file read", pb.GuestResponse(read_file=piece)
    yield "empty file read", pb.GuestResponse(read_file=pb.GuestReadFileResponse())
    yield "file written", pb.GuestResponse(write_file=pb.GuestWriteFileResponse())
    entries = [
        pb.GuestDirEntry(name="a", kind=FileKind.FILE_KIND_FILE, size=5, mtime=1_790_000_000),
        pb.GuestDirEntry(name="grüße", kind=FileKind.FILE_KIND_DIRECTORY, size=4096),
        pb.GuestDirEntry(name="link", kind=FileKind.FILE_KIND_SYMLINK, size=1, mtime=-1),
        pb.GuestDirEntry(name="fifo", kind=FileKind.FILE_KIND_OTHER),
    ]
    listed = pb.GuestListDirResponse(entries=entries, truncated=True)
    yield "directory listed", pb.GuestResponse(list_dir=listed)
    yield "empty directory listed", pb.GuestResponse(list_dir=pb.GuestListDirResponse())
    stat = pb.GuestStatResponse(
        kind=FileKind.FILE_KIND_FILE, size=2**40, mode=0o644, mtime=1_790_000_000
    )
    yield "stat answered", pb.GuestResponse(stat=stat)
    yield "directory made", pb.GuestResponse(mkdir=pb.GuestMkdirResponse())
    yield "removed", pb.GuestResponse(remove=pb.GuestRemoveResponse())


def malformed() -> Iterator[dict[str, Any]]:
    """Frames the engine answers with an error that has no request id."""
    too_long = struct.pack(">I", (256 << 10) + 1)
    yield {"name": "longer than 256 KiB", "frame": too_long.hex(), "then": "closes"}
    yield {"name": "no message", "frame": frame(b"\xff" * 5).hex(), "then": "stays"}
    cut = pb.ClientMessage(inspect=pb.InspectRequest(sandbox_id=1)).SerializeToString()[:-1]
    yield {"name": "a message cut short", "frame": frame(cut).hex(), "then": "stays"}
    yield {"name": "empty", "frame": frame(b"").hex(), "then": "stays"}


def rows(messages: Iterator[tuple[str, Any]]) -> list[dict[str, Any]]:
    """Messages with their frames."""
    return [{"name": name, "frame": encoded(it), "message": meaning(it)} for name, it in messages]


def encoded(message: Message) -> str:
    """A message's frame in hexadecimal."""
    return frame(message.SerializeToString(deterministic=True)).hex()


def meaning(message: Message) -> dict[str, Any]:
    """A message in protobuf's JSON mapping."""
    return MessageToDict(message, preserving_proto_field_name=True)


def render() -> str:
    """The file's text."""
    document = {
        "about": "Written by `python -m tools.vectors`; see there for the format.",
        "client": rows(requests()),
        "server": rows(replies()),
        "malformed_client": list(malformed()),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file, or with `--check` say whether it is current."""
    if "--check" not in sys.argv[1:]:
        PATH.write_text(render())
        return 0
    if PATH.is_file() and PATH.read_text() == render():
        return 0
    print(f"not current: {PATH.name} (run `python -m tools.vectors`)", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
