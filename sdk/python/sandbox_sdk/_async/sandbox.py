"""One sandbox, as its holder uses it."""

from __future__ import annotations

import signal as signals
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from sandbox.v1 import checkpoints_pb2, guest_pb2, sandboxes_pb2

from sandbox_sdk import _convert, _methods
from sandbox_sdk._async.calls import AsyncCalls
from sandbox_sdk._async.command import AsyncCommand
from sandbox_sdk._async.connection import AsyncConnection
from sandbox_sdk._async.detached import AsyncDetached
from sandbox_sdk._async.files import AsyncFiles
from sandbox_sdk.models import (
    CheckpointInfo,
    Credentials,
    ExecResult,
    Inspection,
    ProcessInfo,
    SandboxInfo,
    TemplateInfo,
    TerminalSize,
)

LONG_S = 600.0
"""Time for calls that save or restore memory."""


class AsyncSandbox:
    """A sandbox.  As a context manager it is destroyed at the end."""

    def __init__(
        self, calls: AsyncCalls, info: SandboxInfo, credentials: Credentials | None = None
    ) -> None:
        self._calls = calls
        self.info = info
        """As the engine last described it."""
        self.credentials = credentials
        """Only where this client made it."""
        self.files = AsyncFiles(calls, self)
        """What is below /workspace."""

    @property
    def id(self) -> str:
        """Its unguessable name."""
        return self.info.id

    async def exec(
        self,
        command: str | Sequence[str],
        *,
        input: bool = False,  # noqa: A002 - the word of the API
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
        timeout_s: float | None = None,
        deadline_s: float | None = None,
        max_output: int = 0,
        terminal: TerminalSize | None = None,
    ) -> AsyncCommand:
        """Start a command: a text for `/bin/sh -c`, or a program and its arguments.

        `timeout_s` is the command's, and ends it with an exit that says so; `deadline_s` is
        the call's, and raises `Timeout`.  `max_output` is in bytes, 0 for no limit.  With a
        `terminal` both outputs are one, and input is taken.
        """
        size = None
        if terminal is not None:
            size = guest_pb2.TerminalSize(columns=terminal.columns, rows=terminal.rows)
        start = guest_pb2.ExecStart(
            sandbox_id=self.id,
            argv=[command] if isinstance(command, str) else command,
            shell=isinstance(command, str),
            cwd=cwd,
            env=env,
            user=user,
            timeout=_convert.duration(timeout_s),
            max_output=max_output,
            input=input or terminal is not None,
            terminal=size,
        )
        started = AsyncCommand(self._calls.open(_methods.EXEC, deadline_s), start)
        await started.begin()
        return started

    async def start(
        self,
        command: str | Sequence[str],
        *,
        input: bool = False,  # noqa: A002 - the word of the API
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
        timeout_s: float | None = None,
        max_output: int = 0,
    ) -> AsyncDetached:
        """Start a command that outlives this call and its connection; see `exec`."""
        start = guest_pb2.ExecStart(
            sandbox_id=self.id,
            argv=[command] if isinstance(command, str) else command,
            shell=isinstance(command, str),
            cwd=cwd,
            env=env,
            user=user,
            timeout=_convert.duration(timeout_s),
            max_output=max_output,
            input=input,
            detach=True,
        )
        answer = await self._calls.ask(_methods.EXEC, guest_pb2.ExecRequest(start=start))
        return self.attach(answer.started.exec_id)

    def attach(
        self, exec_id: str, *, stdout_offset: int = 0, stderr_offset: int = 0
    ) -> AsyncDetached:
        """Go on with a command that `start` made, from a byte of each output.

        It costs no call; reading raises `ProcessNotFound` or `OutputLost`.
        """
        return AsyncDetached(self._calls, self.id, exec_id, out=stdout_offset, err=stderr_offset)

    async def processes(self) -> list[ProcessInfo]:
        """The commands that were started and are still known, oldest first."""
        request = guest_pb2.ListProcessesRequest(sandbox_id=self.id)
        answer = await self._calls.ask(_methods.PROCESSES, request)
        return [_convert.process(each) for each in answer.processes]

    async def signal(self, pid: int, number: int = signals.SIGTERM) -> None:
        """Send a signal to a command and all it started; one that has ended is left alone.

        Raises `ProcessNotFound`.
        """
        request = guest_pb2.SignalProcessRequest(sandbox_id=self.id, pid=pid, signal=number)
        await self._calls.ask(_methods.SIGNAL, request)

    async def run(
        self,
        command: str | Sequence[str],
        *,
        input: bytes | str | None = None,  # noqa: A002 - the word of the API
        cwd: str = "",
        env: Mapping[str, str] | None = None,
        user: str = "",
        timeout_s: float | None = None,
        deadline_s: float | None = None,
        max_output: int = 0,
    ) -> ExecResult:
        """Run a command to its end, with all of `input`; see `exec`.

        How it ended is in the result; `run(...)` and then `.check()` raises `CommandFailed`.
        """
        started = await self.exec(
            command,
            input=input is not None,
            cwd=cwd,
            env=env,
            user=user,
            timeout_s=timeout_s,
            deadline_s=deadline_s,
            max_output=max_output,
        )
        async with started:
            if input is not None:
                started.feed(input.encode() if isinstance(input, str) else input)
            return await started.wait()

    async def connect(self, port: int) -> AsyncConnection:
        """A connection to a TCP port on the guest's loopback.

        Raises `GuestUnavailable` where nothing listens there.
        """
        made = AsyncConnection(self._calls.open(_methods.FORWARD))
        await made.begin(self.id, port)
        return made

    async def refresh(self) -> SandboxInfo:
        """Ask the engine anew; also in `info`."""
        request = sandboxes_pb2.GetSandboxRequest(sandbox_id=self.id)
        return self._now((await self._calls.ask(_methods.GET, request)).sandbox)

    async def inspect(self) -> Inspection:
        """What the host's kernel counts of it."""
        request = sandboxes_pb2.InspectSandboxRequest(sandbox_id=self.id)
        return _convert.inspection(await self._calls.ask(_methods.INSPECT, request))

    async def pause(self) -> SandboxInfo:
        """Stop its virtual CPUs; memory stays."""
        request = sandboxes_pb2.PauseSandboxRequest(sandbox_id=self.id)
        return self._now((await self._calls.ask(_methods.PAUSE, request)).sandbox)

    async def resume(self) -> SandboxInfo:
        """Continue after `pause`."""
        request = sandboxes_pb2.ResumeSandboxRequest(sandbox_id=self.id)
        return self._now((await self._calls.ask(_methods.RESUME, request)).sandbox)

    async def hibernate(self) -> SandboxInfo:
        """Save memory and disk, then end the virtual machine; the next use wakes it."""
        request = sandboxes_pb2.HibernateSandboxRequest(sandbox_id=self.id)
        answer = await self._calls.ask(_methods.HIBERNATE, request, timeout_s=LONG_S)
        return self._now(answer.sandbox)

    async def wake(self) -> SandboxInfo:
        """Bring it back after `hibernate`."""
        request = sandboxes_pb2.WakeSandboxRequest(sandbox_id=self.id)
        answer = await self._calls.ask(_methods.WAKE, request, timeout_s=LONG_S)
        return self._now(answer.sandbox)

    async def renew(self, ttl_s: float | None = None) -> SandboxInfo:
        """Let its lease end `ttl_s` from now; None is the node's default."""
        request = sandboxes_pb2.RenewSandboxRequest(
            sandbox_id=self.id, ttl=_convert.duration(ttl_s)
        )
        return self._now((await self._calls.ask(_methods.RENEW, request)).sandbox)

    async def fork(
        self, count: int = 1, *, ttl_s: float | None = None, claim_ref_prefix: str = ""
    ) -> list[AsyncSandbox]:
        """Clones of it, memory included: all `count` of them or none."""
        request = sandboxes_pb2.ForkSandboxRequest(
            sandbox_id=self.id,
            count=count,
            ttl=_convert.duration(ttl_s),
            claim_ref_prefix=claim_ref_prefix,
        )
        answer = await self._calls.ask(_methods.FORK, request, timeout_s=LONG_S)
        return [
            AsyncSandbox(
                self._calls, _convert.sandbox(one.sandbox), _convert.credentials(one.credentials)
            )
            for one in answer.children
        ]

    async def checkpoint(self, name: str = "") -> CheckpointInfo:
        """Save it without stopping it; `branch` of the client continues from there."""
        request = checkpoints_pb2.CreateCheckpointRequest(sandbox_id=self.id, name=name)
        answer = await self._calls.ask(_methods.CREATE_CHECKPOINT, request, timeout_s=LONG_S)
        return _convert.checkpoint(answer.checkpoint)

    async def promote(self, template: str) -> TemplateInfo:
        """Publish its present state as a template."""
        request = checkpoints_pb2.PromoteSandboxRequest(sandbox_id=self.id, template=template)
        answer = await self._calls.ask(_methods.PROMOTE, request, timeout_s=LONG_S)
        return _convert.template(answer.template)

    async def destroy(self) -> None:
        """End it and everything it held.  Idempotent."""
        request = sandboxes_pb2.DestroySandboxRequest(sandbox_id=self.id, allow_missing=True)
        await self._calls.ask(_methods.DESTROY, request)

    def _now(self, message: sandboxes_pb2.Sandbox) -> SandboxInfo:
        self.info = _convert.sandbox(message)
        return self.info

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Destroy it."""
        await self.destroy()
