"""What a command is asked to be and what came of it (seed "Guest RPC", exec)."""

from __future__ import annotations

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument, TooLarge
from sandbox_engine.model.sandbox import check_env

MAX_TIMEOUT_MS = 3_600_000
DEFAULT_MAX_OUTPUT = 4 << 20
MAX_ARGV_BYTES = 128 << 10
MAX_BUFFERED_INPUT = 64 << 10
HEAD_OUT, HEAD_ERR = 32 << 10, 16 << 10
"""What one reply frame carries of each stream (seed "Functions")."""


class TerminalSize(Struct, frozen=True, kw_only=True):
    """Columns and rows."""

    cols: int
    rows: int


class ExecSpec(Struct, frozen=True, kw_only=True):
    """One command."""

    argv: list[str]
    shell: bool = False
    """argv[0] is a script for `/bin/sh -c`; the rest are its `$0`, `$1`.."""
    cwd: str = ""
    """Empty is /workspace."""
    env: dict[str, str] = {}
    user: str = ""
    timeout_ms: int = 0
    """0 is the cap, one hour."""
    max_output: int = 0
    """Bytes of each stream after which the command is killed; 0 is 4 MiB."""
    stdin: bool = False
    """Input will follow; otherwise the command reads end of file at once."""
    terminal: TerminalSize | None = None
    detach: bool = False
    """Goes on when this stream ends."""

    def check(self) -> None:
        """Raise for a value no guest would take, naming the field."""
        if not self.argv or not self.argv[0]:
            raise InvalidArgument("argv", "must not be empty")
        if any("\0" in word for word in (*self.argv, self.cwd, self.user)):
            raise InvalidArgument("argv", "holds a NUL byte")
        if sum(len(word.encode(errors="surrogateescape")) for word in self.argv) > MAX_ARGV_BYTES:
            raise TooLarge(f"argv: more than {MAX_ARGV_BYTES} bytes")
        if self.cwd and not self.cwd.startswith("/"):
            raise InvalidArgument("cwd", "must be an absolute path")
        if not 0 <= self.timeout_ms <= MAX_TIMEOUT_MS:
            raise InvalidArgument("timeout_ms", f"must be 0 to {MAX_TIMEOUT_MS}")
        if self.max_output < 0:
            raise InvalidArgument("max_output", "must not be negative")
        check_env(self.env)


class Started(Struct, frozen=True):
    """The command runs."""

    pid: int
    exec_id: str = ""
    """Name of a detached command."""
    input_offset: int = 0
    """Bytes of input it was given before this stream attached to it."""
    out_offset: int = 0
    err_offset: int = 0
    """Of the first byte of each output that this stream tells."""
    takes_input: bool = False
    """Input may follow; of an attached stream."""


class AttachSpec(Struct, frozen=True, kw_only=True):
    """A detached command, and where to go on with it."""

    exec_id: str
    out_offset: int = 0
    err_offset: int = 0
    allow_gap: bool = False
    """Go on where bytes before the first kept one were asked for."""

    def check(self) -> None:
        """Raise for what no command is called."""
        if not self.exec_id or "\0" in self.exec_id:
            raise InvalidArgument("exec_id", "must be what `ExecStarted.exec_id` said")


class ProcessInfo(Struct, frozen=True, kw_only=True):
    """A command the agent started and still knows of."""

    pid: int
    argv: list[str]
    exec_id: str
    running: bool
    exit_code: int | None
    """Its exit status, or 128 + signal; None while it runs."""
    started_at: float
    """Unix seconds, by the guest's clock."""


class Output(Struct, frozen=True):
    """Bytes of one of its streams."""

    stderr: bool
    data: bytes


class Exit(Struct, frozen=True, kw_only=True):
    """The command ended, whatever ended it."""

    code: int
    """Its exit status, or 128 + signal."""
    signal: int
    timed_out: bool
    truncated: bool
    out_total: int
    err_total: int
    """Bytes it really wrote."""
    duration_ms: int


ExecEvent = Started | Output | Exit


class ExecResult(Struct, frozen=True, kw_only=True):
    """A whole command, its output cut to the heads."""

    exit: Exit
    out: bytes
    err: bytes
