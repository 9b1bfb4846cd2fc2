"""What is sent and answered, as types: requests are validated by them, OpenAPI is made of them."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from sandbox_api.errors import ApiError

MAX_JSON = 1 << 20
MAX_FILE = 4 << 20
MAX_OUTPUT = 4 << 20
MAX_TIMEOUT_MS = 3_600_000
MAX_HOSTS = 16
MAX_TTL_S = (1 << 32) - 1
_T = TypeVar("_T")

Kind: TypeAlias = Literal["file", "directory", "symlink", "other"]
Count = Annotated[int, Meta(ge=0, le=(1 << 32) - 1)]


class CreateSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Create a session, or attach to it where it is there."""

    key: Annotated[str, Meta(min_length=1, max_length=127)] | None = None
    """The caller's name for it; without one the session gets a random one."""
    template: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    memory_mib: Count = 0
    vcpus: Count = 0
    ttl_seconds: Annotated[int, Meta(ge=0, le=MAX_TTL_S)] = 0
    """Lifetime of the workspace; 0 is 7 days."""
    env: dict[str, str] | None = None
    egress_allow: Annotated[list[str], Meta(max_length=MAX_HOSTS)] | None = None
    egress_deny_all: bool | None = None

    def check(self) -> None:
        """Raise 400 for what contradicts itself."""
        if self.egress_deny_all and self.egress_allow:
            raise ApiError.invalid("egress_deny_all: contradicts a non-empty egress_allow")


class Renew(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """More time for a workspace."""

    ttl_seconds: Annotated[int, Meta(ge=1, le=MAX_TTL_S)]


class Mkdir(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Make a directory."""

    path: str
    parents: bool = False


class Exec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Run a command: exactly one of `command` and `argv`."""

    command: Annotated[str, Meta(min_length=1)] | None = None
    """A script for `/bin/sh -c`."""
    argv: Annotated[list[str], Meta(min_length=1)] | None = None
    cwd: str = ""
    env: dict[str, str] | None = None
    timeout_ms: Annotated[int, Meta(ge=0, le=MAX_TIMEOUT_MS)] = 0
    """Killed after this; 0 is 1 h."""
    max_output: Annotated[int, Meta(ge=0, le=MAX_OUTPUT)] = 0
    """Killed when a stream crosses this many bytes; 0 is 4 MiB."""
    stdin: str | None = None
    stdin_base64: str | None = None
    output_encoding: Literal["utf-8", "base64"] = "utf-8"
    stream: bool = False

    def check(self) -> None:
        """Raise 400 for what contradicts itself."""
        if (self.command is None) == (self.argv is None):
            raise ApiError.invalid("command, argv: give exactly one of them")
        if self.stdin is not None and self.stdin_base64 is not None:
            raise ApiError.invalid("stdin, stdin_base64: give at most one of them")

    def input(self) -> bytes:
        """What the command reads.  Raises 400."""
        if self.stdin_base64 is None:
            return (self.stdin or "").encode()
        try:
            return base64.b64decode(self.stdin_base64, validate=True)
        except (binascii.Error, ValueError) as error:
            raise ApiError.invalid("stdin_base64: not base64") from error


class Session(Struct, frozen=True, kw_only=True):
    """A session."""

    id: str
    key: str
    state: Literal["ready", "idle", "closing"]
    template: str
    memory_mib: int
    vcpus: int
    created_at: int
    """Seconds since 1970, of this session and not of its workspace."""
    expires_at: int
    """When the workspace ends, in seconds since 1970."""


class SessionList(Struct, frozen=True, kw_only=True):
    """The caller's sessions."""

    sessions: list[Session]


class Renewed(Struct, frozen=True, kw_only=True):
    """What was granted."""

    expires_at: int


class ExecResult(Struct, frozen=True, kw_only=True):
    """How a command ended, and what it printed."""

    exit_code: int
    term_signal: int
    timed_out: bool
    output_truncated: bool
    duration_ms: int
    stdout: str
    stderr: str


class Written(Struct, frozen=True, kw_only=True):
    """A file or directory is there."""

    path: str
    size: int = 0


class Stat(Struct, frozen=True, kw_only=True):
    """What a path is; a final symbolic link is not followed."""

    path: str
    type: Kind
    size: int
    mode: int
    mtime: float


class Entry(Struct, frozen=True, kw_only=True):
    """One entry of a directory."""

    name: str
    type: Kind
    size: int
    mtime: float


class Listing(Struct, frozen=True, kw_only=True):
    """A directory's entries, in no order."""

    path: str
    entries: list[Entry]
    truncated: bool


class Health(Struct, frozen=True, kw_only=True):
    """The process lives."""

    status: Literal["ok"] = "ok"


class ErrorFacts(Struct, frozen=True, kw_only=True):
    """What went wrong."""

    code: str
    message: str


class ErrorBody(Struct, frozen=True, kw_only=True):
    """Every answer that is no success."""

    error: ErrorFacts


def decode(kind: type[_T], body: bytes) -> _T:
    """A request body.  Raises 400 that names the field."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApiError.invalid(f"the body: {error}") from error


def encode(body: Any) -> bytes:
    """An answer's body."""
    return msgspec.json.encode(body)


def error_body(error: ApiError) -> bytes:
    """Its body."""
    return encode(ErrorBody(error=ErrorFacts(code=error.code, message=error.message)))
