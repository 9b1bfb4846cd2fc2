"""Runs the programs that builds are made of.

A program is given its own process group, is told to end if this process dies, and is
killed when its caller is cancelled: nothing it starts outlives the build.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

KEPT_LINES = 20
NOT_FOUND = 127
"""What setpriv ends with when there is no such program."""
NO_SPACE = os.strerror(errno.ENOSPC)


class CommandFailed(Exception):
    """A program could not start or ended with a failure; the message ends with its last words."""

    def __init__(
        self, program: str, problem: str, output: str = "", *, did_not_start: bool = False
    ) -> None:
        super().__init__(f"{program} {problem}{': ' + output if output else ''}")
        self.program, self.output = program, output
        self.did_not_start = did_not_start

    @property
    def no_space(self) -> bool:
        """The program complained of a full disk."""
        return NO_SPACE in self.output


async def run(
    argv: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    script: str = "",
    on_line: Callable[[str], None] | None = None,
) -> str:
    """Run a program and return its standard output.  Raises `CommandFailed`.

    `env` adds to this process's own (proxies must reach apt).  `script` is its standard
    input.  `on_line` is given each line of its standard error, the last of which are in
    the message of a failure.
    """
    words = [str(word) for word in argv]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out:
        given.write(script.encode())
        given.seek(0)
        try:
            process = await asyncio.create_subprocess_exec(
                "setpriv", "--pdeathsig", "TERM", *words,
                cwd=cwd, env=os.environ | {"LC_ALL": "C"} | (env or {}),
                stdin=given, stdout=out, stderr=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            problem = f"did not start ({error})"
            raise CommandFailed(words[0], problem, did_not_start=True) from error
        try:
            assert process.stderr is not None
            last_words = await _read_lines(process.stderr, on_line)
            await process.wait()
        except BaseException:
            await _end(process)
            raise
        if process.returncode == NOT_FOUND:
            raise CommandFailed(words[0], "is not installed", did_not_start=True)
        if process.returncode:
            raise CommandFailed(words[0], f"ended with {process.returncode}", last_words)
        out.seek(0)
        return out.read().decode(errors="replace")


async def _read_lines(stream: asyncio.StreamReader, on_line: Callable[[str], None] | None) -> str:
    kept: deque[str] = deque(maxlen=KEPT_LINES)
    pending = b""
    # Not `readline`: it fails on a line longer than the reader's buffer.
    while data := await stream.read(1 << 16):
        *lines, pending = (pending + data).split(b"\n")
        pending = pending[-4096:]
        for line in filter(None, (raw.decode(errors="replace").strip() for raw in lines)):
            kept.append(line)
            if on_line is not None:
                on_line(line)
    kept.append(pending.decode(errors="replace").strip())
    return "\n".join(kept).strip()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Ask the whole group to end, so that it cleans up; then make it."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), 5)
