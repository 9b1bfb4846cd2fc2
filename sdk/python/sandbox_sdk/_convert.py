"""Between the wire's messages and `models`."""

from __future__ import annotations

import enum
import math
from datetime import UTC, datetime
from typing import TypeVar

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from sandbox.v1 import checkpoints_pb2, guest_pb2, sandboxes_pb2, templates_pb2

from sandbox_sdk import models

_E = TypeVar("_E", bound=enum.Enum)


def known(kind: type[_E], number: int) -> _E:
    """The value of an open enumeration; one that a newer engine added is `UNSPECIFIED`."""
    try:
        return kind(number)
    except ValueError:
        return kind(0)


def duration(seconds: float | None) -> Duration | None:
    """A length of time, absent where none is given.  Raises `ValueError` for what is none."""
    if seconds is None:
        return None
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"not a length of time: {seconds} s")
    nanos = round(seconds * 1e9)
    return Duration(seconds=nanos // 1_000_000_000, nanos=nanos % 1_000_000_000)


def seconds(length: Duration) -> float:
    """A length of time in seconds."""
    return float(length.seconds + length.nanos / 1e9)


def moment(stamp: Timestamp) -> datetime:
    """A point in time, in UTC."""
    return datetime.fromtimestamp(stamp.seconds, UTC).replace(microsecond=stamp.nanos // 1000)


def sandbox(message: sandboxes_pb2.Sandbox) -> models.SandboxInfo:
    """What a sandbox is."""
    return models.SandboxInfo(
        id=message.id,
        state=known(models.SandboxState, message.state),
        template=message.template,
        template_digest=message.template_digest,
        memory_mib=message.memory_mib,
        vcpus=message.vcpu_count,
        created_at=moment(message.create_time),
        expires_at=moment(message.expire_time) if message.HasField("expire_time") else None,
        metadata=dict(message.metadata),
        claim_ref=message.claim_ref,
        parent_id=message.parent_id,
        from_checkpoint=message.from_checkpoint,
        failure=message.failure,
    )


def credentials(message: sandboxes_pb2.SandboxCredentials) -> models.Credentials:
    """What proves who holds a sandbox."""
    return models.Credentials(token=message.token, session_token=message.session_token)


def inspection(message: sandboxes_pb2.InspectSandboxResponse) -> models.Inspection:
    """What the kernel counts."""
    return models.Inspection(
        info=sandbox(message.sandbox),
        is_running=message.running,
        uptime_s=seconds(message.uptime),
        memory_rss_bytes=message.memory_rss_bytes,
        page_faults=message.page_faults,
    )


def exited(message: guest_pb2.ExecExit) -> models.Exited:
    """How a command ended."""
    return models.Exited(
        exit_code=message.code,
        signal=message.signal,
        timed_out=message.timed_out,
        truncated=message.truncated,
        stdout_total=message.out_total,
        stderr_total=message.err_total,
        duration_s=seconds(message.duration),
    )


def file_info(message: guest_pb2.StatResponse) -> models.FileInfo:
    """What a path is."""
    return models.FileInfo(
        kind=known(models.FileKind, message.kind),
        size=message.size,
        mode=message.mode,
        modified_at=moment(message.modify_time),
    )


def entry(message: guest_pb2.DirectoryEntry) -> models.DirectoryEntry:
    """One entry of a directory."""
    return models.DirectoryEntry(
        name=message.name,
        kind=known(models.FileKind, message.kind),
        size=message.size,
        modified_at=moment(message.modify_time),
    )


def template(message: templates_pb2.Template) -> models.TemplateInfo:
    """What a template is."""
    return models.TemplateInfo(
        name=message.name,
        state=known(models.TemplateState, message.state),
        problems=tuple(message.problems),
        digest=message.digest,
        memory_mib=message.memory_mib,
        vcpus=message.vcpu_count,
        disk_mib=message.disk_mib,
        source=message.source,
        created_at=moment(message.create_time),
        size_bytes=message.size_bytes,
    )


def checkpoint(message: checkpoints_pb2.Checkpoint) -> models.CheckpointInfo:
    """What a checkpoint is."""
    return models.CheckpointInfo(
        id=message.id,
        name=message.name,
        sandbox_id=message.sandbox_id,
        parent_id=message.parent_id,
        template=message.template,
        memory_mib=message.memory_mib,
        vcpus=message.vcpu_count,
        created_at=moment(message.create_time),
        size_bytes=message.size_bytes,
    )


def process(message: guest_pb2.Process) -> models.ProcessInfo:
    """A command of a sandbox."""
    return models.ProcessInfo(
        pid=message.pid,
        argv=tuple(message.argv),
        exec_id=message.exec_id,
        running=message.running,
        exit_code=message.exit_code if message.HasField("exit_code") else None,
        started_at=moment(message.start_time),
    )


def change(message: guest_pb2.WatchChange) -> models.Change:
    """What happened to a path."""
    return models.Change(kind=known(models.ChangeKind, message.kind), path=message.path)
