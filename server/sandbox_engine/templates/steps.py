"""One step of a build: what it tells while it runs, and how its failures are worded."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator

from sandbox_engine.errors import (
    EngineError,
    InvalidArgument,
    NoSpace,
    TemplateBuildFailed,
    TemplateBusy,
)
from sandbox_engine.ports.builder import BuildProgress
from sandbox_engine.templates.apt import PackageMissing
from sandbox_engine.templates.bake import BakeFailed
from sandbox_engine.templates.commands import CommandFailed
from sandbox_engine.templates.rootfs import BadSource
from sandbox_engine.templates.unpack import BadTree

Report = Callable[[BuildProgress], None]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_WORDED = (EngineError, CommandFailed, PackageMissing, BadTree, BakeFailed, OSError)
"""Errors whose message is for people already."""
_ADVICE = "free some space and build again: what was finished is kept"


class Step:
    """A step while it runs."""

    def __init__(self, name: str, report: Report) -> None:
        self.name, self._report = name, report
        self.cached = False
        """Set by the body: an earlier build did it."""

    def on_line(self, detail: str) -> None:
        """Tell what it is doing."""
        words = detail.removeprefix("I: ")  # mmdebstrap marks every line
        self._report(BuildProgress(step=self.name, state="running", detail=words))


@contextlib.contextmanager
def step(name: str, report: Report) -> Iterator[Step]:
    """Report a step's beginning and end; what its body raises leaves as an `EngineError`."""
    running = Step(name, report)
    report(BuildProgress(step=name, state="started"))
    try:
        yield running
    except Exception as error:
        failure = as_engine_error(name, error)
        report(BuildProgress(step=name, state="failed", detail=str(failure)))
        raise failure from error
    except BaseException:
        report(BuildProgress(step=name, state="failed", detail="stopped"))
        raise
    report(BuildProgress(step=name, state="cached" if running.cached else "done"))


def as_engine_error(name: str, error: Exception) -> EngineError:
    """The error that a caller is given for what went wrong in step `name`."""
    failure: EngineError = TemplateBuildFailed(name, str(error))
    match error:
        case InvalidArgument() | TemplateBusy() | TemplateBuildFailed():
            failure = error
        case BadSource():
            failure = InvalidArgument(error.field, str(error))
        case NoSpace():
            failure = NoSpace(f"{name}: {error}; {_ADVICE}")
        case CommandFailed(no_space=True):
            failure = NoSpace(f"{name}: {error.program} found the disk full; {_ADVICE}")
        case OSError(errno=number) if number in _FULL:
            failure = NoSpace(f"{name}: the host's disk is full; {_ADVICE}")
        case _ if not isinstance(error, _WORDED):
            fault = f"a fault of the builder, please report it: {error!r}"
            failure = TemplateBuildFailed(name, fault)
    return failure
