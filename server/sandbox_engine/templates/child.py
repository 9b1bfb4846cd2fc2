"""`ports.builder.TemplateBuilder` as a child process: `python -m sandbox_engine.builder`.

A build hashes, packs and boots for a minute; in a process of its own it cannot stall the
daemon, and stopping it is one signal.  It prints one JSON object a line.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from sandbox_engine.errors import (
    EngineError,
    InvalidArgument,
    NoSpace,
    TemplateBuildFailed,
    TemplateBusy,
)
from sandbox_engine.model.template import BuildRequest
from sandbox_engine.ports.builder import BuildProgress

STOP_TIMEOUT_S = 15.0
"""A builder that was told to stop unwinds (its VM, its partial files) within this."""
_log = structlog.get_logger(__name__)


class _Failure(Struct, kw_only=True):
    code: str
    message: str
    field: str = ""
    step: str = ""


class _Line(Struct, kw_only=True):
    step: str = ""
    state: str = ""
    detail: str = ""
    fraction: float | None = None
    result: dict[str, object] | None = None
    error: _Failure | None = None


class ChildBuilder:
    """Runs one child process a build."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir

    async def build(self, request: BuildRequest) -> AsyncGenerator[BuildProgress, None]:
        """See `ports.builder.TemplateBuilder`."""
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sandbox_engine.builder",
            "--data-dir", str(self._data_dir),
            "--request", msgspec.json.encode(request).decode(),
            stdin=PIPE, stdout=PIPE, limit=1 << 20,
        )  # fmt: skip
        try:
            last = _Line()
            async for last in _lines(child):
                if last.result is None and last.error is None:
                    yield BuildProgress(
                        step=last.step, state=last.state, detail=last.detail,
                        fraction=last.fraction,
                    )  # fmt: skip
            status = await child.wait()
            if last.error is not None:
                raise _error(last.error)
            if last.result is None:
                raise TemplateBuildFailed(
                    last.step or "start", f"the builder ended with status {status}"
                )
        finally:
            await asyncio.shield(_stop(child))


async def _lines(child: Process) -> AsyncIterator[_Line]:
    assert child.stdout is not None
    async for text in child.stdout:
        try:
            yield msgspec.json.decode(text, type=_Line)
        except msgspec.MsgspecError:
            _log.warning("builder printed", line=text.decode(errors="replace").rstrip())


async def _stop(child: Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.terminate()
        try:
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()


def _error(failure: _Failure) -> EngineError:
    match failure.code:
        case "INVALID_ARGUMENT":
            return InvalidArgument(failure.field or "request", failure.message)
        case "NO_SPACE":
            return NoSpace(failure.message)
        case "TEMPLATE_BUSY":
            return TemplateBusy(failure.message)
    return TemplateBuildFailed(failure.step or "build", failure.message)
