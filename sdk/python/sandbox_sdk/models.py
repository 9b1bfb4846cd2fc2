"""What the engine tells, as plain frozen values: no message of the wire is handed out."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from sandbox_sdk.errors import CommandFailed


class SandboxState(enum.Enum):
    """Where a sandbox stands in its life."""

    UNSPECIFIED = 0
    """Not known to this client."""
    CREATING = 1
    RUNNING = 2
    PAUSED = 3
    HIBERNATING = 4
    HIBERNATED = 5
    WAKING = 6
    ARCHIVED = 7
    FAILED = 8
    DESTROYING = 9
    DESTROYED = 10
    PAUSING = 11
    RESUMING = 12


class TemplateState(enum.Enum):
    """Whether a template can be cloned."""

    UNSPECIFIED = 0
    """Not known to this client."""
    READY = 1
    BUILDING = 2
    CORRUPT = 3
    INCOMPATIBLE = 4


class FileKind(enum.Enum):
    """What a path is."""

    UNSPECIFIED = 0
    """Not known to this client."""
    FILE = 1
    DIRECTORY = 2
    SYMLINK = 3
    OTHER = 4
    """A device, socket or FIFO."""


@dataclass(frozen=True, kw_only=True)
class SandboxInfo:
    """A sandbox as the engine last described it."""

    id: str
    state: SandboxState
    template: str
    template_digest: str
    memory_mib: int
    vcpus: int
    created_at: datetime
    expires_at: datetime | None
    """None for one that lives as long as its session."""
    metadata: Mapping[str, str]
    claim_ref: str
    parent_id: str
    """The sandbox it was forked from; empty otherwise."""
    from_checkpoint: str
    """The checkpoint it was branched from; empty otherwise."""
    failure: str
    """Why it is failed; empty otherwise."""


@dataclass(frozen=True, kw_only=True)
class Credentials:
    """What the holder of a sandbox may show to prove it; told once, by the create."""

    token: str = field(repr=False)
    session_token: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What the host's kernel counts of a sandbox."""

    info: SandboxInfo
    is_running: bool
    uptime_s: float
    memory_rss_bytes: int
    page_faults: int


@dataclass(frozen=True)
class TerminalSize:
    """Size of a terminal in characters."""

    columns: int = 80
    rows: int = 24


@dataclass(frozen=True)
class Started:
    """The command runs."""

    pid: int
    """In the guest."""
    exec_id: str = ""
    """Name of a detached command."""


@dataclass(frozen=True)
class Stdout:
    """Standard output, or of a terminal both outputs."""

    data: bytes
    text: str
    """`data` decoded, with what an earlier piece left unfinished; see `exec`."""
    offset: int
    """Place of `data` in its stream."""


@dataclass(frozen=True)
class Stderr:
    """Standard error."""

    data: bytes
    text: str
    """`data` decoded, with what an earlier piece left unfinished; see `exec`."""
    offset: int
    """Place of `data` in its stream."""


class ChangeKind(enum.Enum):
    """What was done to a path."""

    UNSPECIFIED = 0
    CREATED = 1
    MODIFIED = 2
    DELETED = 3
    RENAMED = 4


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that happened below a watched path."""

    kind: ChangeKind
    path: str


@dataclass(frozen=True, kw_only=True)
class ProcessInfo:
    """A command that was started in a sandbox."""

    pid: int
    argv: tuple[str, ...]
    exec_id: str
    """For `attach`; empty where it is not detached."""
    running: bool
    exit_code: int | None
    """Once it ended."""
    started_at: datetime
    """By the guest's clock."""


@dataclass(frozen=True, kw_only=True)
class Exited:
    """The command and both its streams ended."""

    exit_code: int
    """128 and the signal's number where a signal ended it."""
    signal: int = 0
    """The signal that ended it; 0 for none."""
    timed_out: bool = False
    truncated: bool = False
    """The limit on its output ended it."""
    stdout_total: int = 0
    """Bytes it wrote."""
    stderr_total: int = 0
    """Bytes it wrote."""
    duration_s: float = 0.0


ExecEvent: TypeAlias = Started | Stdout | Stderr | Exited


@dataclass(frozen=True, kw_only=True)
class ExecResult:
    """A command that ended, with all it wrote."""

    exit_code: int
    signal: int = 0
    timed_out: bool = False
    truncated: bool = False
    """The limit on its output ended it: there would have been more."""
    duration_s: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""

    @property
    def ok(self) -> bool:
        """It ended by itself with exit code 0."""
        return not (self.exit_code or self.timed_out or self.truncated)

    @property
    def stdout_text(self) -> str:
        """Standard output, decoded; what is not UTF-8 is U+FFFD."""
        return self.stdout.decode(errors="replace")

    @property
    def stderr_text(self) -> str:
        """Standard error, decoded; what is not UTF-8 is U+FFFD."""
        return self.stderr.decode(errors="replace")

    def check(self) -> ExecResult:
        """Itself.  Raises `CommandFailed` where it is not `ok`."""
        if not self.ok:
            raise CommandFailed(self)
        return self


@dataclass(frozen=True, kw_only=True)
class FileInfo:
    """What a path is."""

    kind: FileKind
    size: int
    mode: int
    """Permission bits."""
    modified_at: datetime


@dataclass(frozen=True, kw_only=True)
class DirectoryEntry:
    """One entry of a directory."""

    name: str
    kind: FileKind
    size: int
    modified_at: datetime


@dataclass(frozen=True, kw_only=True)
class TemplateInfo:
    """A snapshot template."""

    name: str
    state: TemplateState
    problems: tuple[str, ...]
    digest: str
    memory_mib: int
    vcpus: int
    disk_mib: int
    source: str
    created_at: datetime
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class CheckpointInfo:
    """A saved state of a sandbox; knowing its id is the right to branch it."""

    id: str
    name: str
    sandbox_id: str
    parent_id: str
    template: str
    memory_mib: int
    vcpus: int
    created_at: datetime
    size_bytes: int
