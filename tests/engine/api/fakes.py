"""The services behind the doors, in memory: same signatures, scripted behaviour."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterable
from datetime import UTC, datetime

from sandbox_engine.errors import (
    EngineError,
    PathNotFound,
    PermissionDenied,
    ProcessNotFound,
    SandboxNotFound,
    TemplateNotFound,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.exec import (
    AttachSpec,
    ExecEvent,
    ExecResult,
    ExecSpec,
    Exit,
    ProcessInfo,
    TerminalSize,
)
from sandbox_engine.model.idle_rule import NO_RULE, IdleRule
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import DESTROY, Created, Sandbox, SandboxSpec, SandboxStatus
from sandbox_engine.model.snapshot import Record
from sandbox_engine.model.template import BuildRequest, FileDigest, Manifest, Platform
from sandbox_engine.ports.builder import BuildProgress
from sandbox_engine.services.checkpoints import Checkpoints
from sandbox_engine.services.execs import Execs, LiveExec
from sandbox_engine.services.files import (
    FileChange,
    FileEntry,
    FileRead,
    Files,
    FileStat,
    WriteOptions,
)
from sandbox_engine.services.node import Node, NodeInfo, PoolInfo
from sandbox_engine.services.promotions import Promotions
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.states import States
from sandbox_engine.services.templates import Templates

PLATFORM = Platform(vmm="qemu 7.2", machine="microvm-1", cpu="max")
TOKEN = "ab" * 32


class FakeSandboxes(Sandboxes):
    """Sandboxes that are records only."""

    def __init__(self) -> None:
        self.boxes: dict[str, Sandbox] = {}
        self.calls: list[tuple[str, str]] = []
        self.creates: list[tuple[SandboxSpec, int, str]] = []
        self.callers: list[Caller] = []
        self.gate: asyncio.Event | None = None
        """Where set, a create waits for it."""
        self.creating = 0
        self.cancelled = 0
        self.failure: Exception | None = None
        self._numbers = itertools.count(1)

    async def create(
        self,
        caller: Caller,
        spec: SandboxSpec,
        *,
        ttl_s: int = 0,
        request_id: str = "",
        claim: Claim | None = None,
        on_expire: str = "",
    ) -> Created:
        self.calls.append(("create", spec.template))
        self.creates.append((spec, ttl_s, request_id))
        self.callers.append(caller)
        if self.failure is not None:
            raise self.failure
        if self.gate is not None:
            self.creating += 1
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            finally:
                self.creating -= 1
        number = next(self._numbers)
        deadline = None if caller.session else 1_790_000_000.25 + ttl_s
        sandbox = Sandbox(
            id=f"sb_{number}",
            number=number,
            spec=spec,
            state=State.RUNNING,
            owner=caller.name,
            uid=caller.uid,
            session=caller.session,
            deadline=deadline,
            on_expire=on_expire or DESTROY,
            memory_mib=spec.memory_mib or 512,
            vcpus=spec.vcpus or 1,
            created_at=1_790_000_000.25,
            resumed_at=1_790_000_000.25,
            vm=f"vm-{number}",
        )
        self.boxes[sandbox.id] = sandbox
        return Created(sandbox=sandbox, token=TOKEN, session_token=TOKEN)

    def get(self, caller: Caller, sandbox_id: str) -> Sandbox:
        if sandbox_id not in self.boxes:
            raise SandboxNotFound(sandbox_id)
        return self.boxes[sandbox_id]

    def by_number(self, caller: Caller, number: int) -> Sandbox:
        for sandbox in self.boxes.values():
            if sandbox.number == number:
                if caller.confined and sandbox.session != caller.session:
                    raise PermissionDenied(f"sandbox {number} belongs to another session")
                return sandbox
        raise SandboxNotFound(number)

    def visible(self, caller: Caller) -> list[Sandbox]:
        return list(self.boxes.values())

    async def pause(self, caller: Caller, sandbox_id: str) -> Sandbox:
        return await self._to(State.PAUSED, caller, sandbox_id)

    async def resume(self, caller: Caller, sandbox_id: str) -> Sandbox:
        return await self._to(State.RUNNING, caller, sandbox_id)

    async def _to(self, state: State, caller: Caller, sandbox_id: str) -> Sandbox:
        self.calls.append((state.value, sandbox_id))
        sandbox = self.get(caller, sandbox_id)
        await asyncio.sleep(0)
        sandbox.state = state
        return sandbox

    def inspect(self, caller: Caller, sandbox_id: str) -> SandboxStatus:
        sandbox = self.get(caller, sandbox_id)
        return SandboxStatus(
            sandbox=sandbox,
            is_running=sandbox.state is State.RUNNING,
            uptime_ms=1500,
            memory_rss_bytes=(1 << 20) + 1,
            page_faults=2**40,
        )

    def renew(self, caller: Caller, sandbox_id: str, ttl_s: int, *, on_expire: str = "") -> Sandbox:
        sandbox = self.get(caller, sandbox_id)
        sandbox.deadline = 1_790_000_000.0 + ttl_s
        return sandbox

    async def destroy(self, caller: Caller, sandbox_id: str) -> None:
        self.calls.append(("destroy", sandbox_id))
        self.get(caller, sandbox_id)
        await asyncio.sleep(0)
        self.boxes.pop(sandbox_id, None)

    async def end_session(self, session: str) -> None:
        self.calls.append(("end_session", session))
        for sandbox in list(self.boxes.values()):
            if sandbox.session == session:
                del self.boxes[sandbox.id]


class FakeCommand(LiveExec):
    """A command whose events a test hands in, and which keeps what it was told."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[ExecEvent | Exception | None] = asyncio.Queue()
        self.told: list[object] = []
        self.heard = asyncio.Event()
        self.killed = asyncio.Event()
        self.taken = 0

    async def next(self) -> ExecEvent | None:
        event = await self.events.get()
        self.taken += 1
        if isinstance(event, Exception):
            raise event
        return event

    def _tell(self, what: object) -> None:
        self.told.append(what)
        self.heard.set()

    async def write(self, data: bytes) -> None:
        self._tell(data)

    async def close_input(self) -> None:
        self._tell("close")

    async def signal(self, number: int) -> None:
        self._tell(("signal", number))

    async def resize(self, size: TerminalSize) -> None:
        self._tell(size)

    def kill(self) -> None:
        self.killed.set()


class NoPromotions(Promotions):
    """There is none."""

    def all(self) -> list[Record]:
        return []


class FakeStates(States):
    """No calls: these are tested on the real services, in `tests/snapshots`."""

    def __init__(self) -> None:
        self.checkpoints = Checkpoints.__new__(Checkpoints)
        self.promotions = NoPromotions.__new__(NoPromotions)


class FakeExecs(Execs):
    """Commands under a test's hands."""

    def __init__(self) -> None:
        self.specs: list[ExecSpec] = []
        self.attached: list[AttachSpec] = []
        self.known: list[ProcessInfo] = []
        self.signals: list[tuple[int, int]] = []
        self.inputs: list[bytes] = []
        self.commands: asyncio.Queue[FakeCommand] = asyncio.Queue()
        self.gate: asyncio.Event | None = None
        self.running = 0
        self.cancelled = 0
        self.failure: EngineError | None = None

    async def awake(self, caller: Caller, sandbox_id: str) -> None:
        await asyncio.sleep(0)

    def start(self, caller: Caller, sandbox_id: str, spec: ExecSpec) -> FakeCommand:
        if self.failure is not None:
            raise self.failure
        self.specs.append(spec)
        command = FakeCommand()
        self.commands.put_nowait(command)
        return command

    def attach(self, caller: Caller, sandbox_id: str, spec: AttachSpec) -> FakeCommand:
        self.attached.append(spec)
        command = FakeCommand()
        self.commands.put_nowait(command)
        return command

    async def processes(self, caller: Caller, sandbox_id: str) -> list[ProcessInfo]:
        return self.known

    async def signal(self, caller: Caller, sandbox_id: str, pid: int, number: int) -> None:
        if pid not in {one.pid for one in self.known}:
            raise ProcessNotFound(f"no command with the pid {pid}")
        self.signals.append((pid, number))

    async def run(
        self, caller: Caller, sandbox_id: str, spec: ExecSpec, stdin: bytes = b""
    ) -> ExecResult:
        self.specs.append(spec)
        self.inputs.append(stdin)
        self.running += 1
        try:
            if self.gate is not None:
                await self.gate.wait()
            async with asyncio.timeout(60):  # the real one has a deadline of its own too
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return ExecResult(exit=ended(3), out=b"out", err=b"err")


def ended(code: int = 0) -> Exit:
    return Exit(
        code=code,
        signal=0,
        timed_out=False,
        truncated=False,
        out_total=100_000,
        err_total=3,
        duration_ms=1234,
    )


class FakeFiles(Files):
    """Files in a dictionary."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.options: list[WriteOptions] = []
        self.removed: list[tuple[str, bool]] = []
        self.made: list[tuple[str, int, bool]] = []
        self.entries: list[FileEntry] = []
        self.closed_reads = 0
        self.changes: asyncio.Queue[FileChange] = asyncio.Queue()
        self.closed_watches = asyncio.Event()

    def _content(self, path: str) -> bytes:
        if path not in self.files:
            raise PathNotFound(path)
        return self.files[path]

    async def read(
        self, caller: Caller, sandbox_id: str, path: str, *, offset: int = 0, max_bytes: int = 0
    ) -> AsyncGenerator[bytes | FileRead, None]:
        content = self._content(path)
        end = min(offset + max_bytes, len(content)) if max_bytes else len(content)
        try:
            for start in range(offset, end, 1000):
                yield content[start : min(start + 1000, end)]
            yield FileRead(size=len(content), truncated=end < len(content))
        finally:
            self.closed_reads += 1

    async def write(
        self,
        caller: Caller,
        sandbox_id: str,
        path: str,
        pieces: AsyncIterable[bytes],
        options: WriteOptions,
    ) -> int:
        self.options.append(options)
        content = b"".join([piece async for piece in pieces])
        self.files[path] = content
        return len(content)

    async def list_directory(
        self, caller: Caller, sandbox_id: str, path: str, *, max_entries: int = 65536
    ) -> tuple[list[FileEntry], bool]:
        return self.entries[:max_entries], len(self.entries) > max_entries

    async def stat(self, caller: Caller, sandbox_id: str, path: str) -> FileStat:
        size = len(self._content(path))
        return FileStat(kind="file", size=size, mode=0o640, mtime=1_790_000_000.5)

    async def mkdir(
        self, caller: Caller, sandbox_id: str, path: str, *, mode: int = 0o755, parents: bool
    ) -> None:
        self.made.append((path, mode, parents))

    async def remove(self, caller: Caller, sandbox_id: str, path: str, *, recursive: bool) -> None:
        self.removed.append((path, recursive))

    async def rename(self, caller: Caller, sandbox_id: str, path: str, new_path: str) -> None:
        self.files[new_path] = self.files.pop(path)

    async def watch(
        self, caller: Caller, sandbox_id: str, path: str, *, recursive: bool
    ) -> AsyncGenerator[FileChange | None, None]:
        try:
            yield None
            while True:
                yield await self.changes.get()
        finally:
            self.closed_watches.set()


def manifest(name: str) -> Manifest:
    file = FileDigest(sha256="00" * 32, size=1000)
    return Manifest(
        name=name,
        memory=file,
        vmstate=file,
        rootfs=file,
        overlay=file,
        kernel=file,
        initramfs=file,
        agent_disk=file,
        platform=PLATFORM,
        kernel_release="6.1",
        kernel_package="6.1-1",
        agent_protocol=1,
        agent_version="0.1.0",
        memory_mib=512,
        vcpus=1,
        disk_mib=1024,
        source="debian:bookworm",
        include=(),
        warmup=(),
        inputs="sha256:00",
        created_at=datetime(2026, 9, 1, tzinfo=UTC),
    )


class FakeTemplates(Templates):
    """Templates that are manifests only."""

    def __init__(self) -> None:
        self.shelf: dict[str, Manifest] = {}
        self.builds: list[BuildRequest] = []
        self.gate: asyncio.Event | None = None
        self.building = asyncio.Event()
        self.stopped = asyncio.Event()
        self.differences: list[str] = []

    async def build(self, request: BuildRequest) -> AsyncGenerator[BuildProgress, None]:
        self.builds.append(request)
        try:
            yield BuildProgress(step="kernel", state="cached")
            yield BuildProgress(step="rootfs", state="running", detail="unpack", fraction=0.5)
            self.building.set()
            if self.gate is not None:
                await self.gate.wait()
            self.shelf[request.name] = manifest(request.name)
        finally:
            self.stopped.set()

    def all(self) -> list[Manifest]:
        return list(self.shelf.values())

    def get(self, name: str) -> Manifest:
        if name not in self.shelf:
            raise TemplateNotFound(name)
        return self.shelf[name]

    async def verify(self, name: str) -> list[str]:
        self.get(name)
        return self.differences

    async def remove(self, name: str, *, digest: str = "") -> None:
        assert not digest
        self.get(name)
        del self.shelf[name]


class FakeNode(Node):
    """A node that is numbers only."""

    def __init__(self) -> None:
        self.targets: dict[str, tuple[int, int]] = {"old": (2, 1)}
        self.rules: dict[str, IdleRule] = {}
        self.draining = False

    def info(self) -> NodeInfo:
        return NodeInfo(
            version="1.2.3",
            platform=PLATFORM,
            accel="tcg",
            accel_reason="/dev/kvm is missing",
            cgroups="none",
            started_at=1_700_000_000.0,
            max_sandboxes=64,
            sandboxes=3,
            draining=self.draining,
            pools=self.pools(),
        )

    def pools(self) -> list[PoolInfo]:
        return [
            PoolInfo(
                template=template,
                target=warm,
                warm=1,
                creating=1,
                waiting=waiting,
                hits=5,
                misses=6,
                failures=0,
                idle=self.rules.get(template, NO_RULE),
            )
            for template, (warm, waiting) in sorted(self.targets.items())
        ]

    async def set_pool(
        self, template: str, *, warm: int, waiting: int = 1, idle: IdleRule = NO_RULE
    ) -> None:
        self.targets[template] = warm, waiting
        self.rules[template] = idle

    def drain(self, *, draining: bool) -> None:
        self.draining = draining


class World:
    """Every service a door asks."""

    def __init__(self) -> None:
        self.sandboxes = FakeSandboxes()
        self.execs = FakeExecs()
        self.files = FakeFiles()
        self.templates = FakeTemplates()
        self.node = FakeNode()
