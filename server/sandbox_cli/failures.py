"""What can go wrong for a user of the CLI: what happened, and what to do next."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import click


class Failure(Exception):
    """A command failed: exit code 1.

    `code` is the engine's name of the error, empty where the engine was not reached.
    """

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message)
        self.message, self.hint, self.code = message, hint, code

    def render(self) -> str:
        """The failure for people, a line each for what happened and what to do."""
        first = f"error: {self.message}" + (f" [{self.code}]" if self.code else "")
        return first + (f"\nhint: {self.hint}" if self.hint else "")


class Interrupted(Exception):
    """A signal asked this process to stop."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def usage(message: str) -> click.UsageError:
    """A wrong command line: exit code 2, with the command's usage."""
    return click.UsageError(message, click.get_current_context(silent=True))


START_HINT = "start the daemon as root with `sandbox-engined --config FILE`"


def unreachable(path: str, option: str, error: OSError | None = None) -> Failure:
    """The daemon's socket `path`, chosen by `option`, did not answer: say why and what to do."""
    elsewhere = f", or name its socket with {option}"
    try:
        is_socket = stat.S_ISSOCK(Path(path).stat().st_mode)
    except FileNotFoundError:
        return Failure(
            f"the daemon is not running: there is no socket {path}", hint=START_HINT + elsewhere
        )
    except PermissionError:
        return _denied(path)
    if not is_socket:
        return Failure(f"{path} is not a socket", hint=f"name the daemon's socket with {option}")
    if not os.access(path, os.W_OK):
        return _denied(path)
    reason = f": {error.strerror or error}" if error else ""
    return Failure(
        f"the daemon does not answer on {path}{reason}",
        hint=f"it may have stopped; {START_HINT}{elsewhere}",
    )


def _denied(path: str) -> Failure:
    return Failure(
        f"you may not use the socket {path}",
        hint="run this as root, or as a member of the group that owns the socket",
    )
