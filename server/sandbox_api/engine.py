"""The engine as this API sees it: one gRPC channel, one session, and calls inside it.

`run()` keeps an attach stream open.  Every VM belongs to that stream, so whatever ends this
process ends them too, in order.  An engine that stays away is counted by `Strikes`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import grpc
import grpc.aio
import structlog
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import error_details_pb2, status_pb2
from msgspec import Struct
from sandbox.v1 import guest_pb2 as guest
from sandbox.v1 import sandboxes_pb2 as pb
from sandbox.v1 import workspaces_pb2 as workspaces
from sandbox.v1.file_kind_pb2 import FileKind
from sandbox.v1.guest_pb2_grpc import GuestServiceStub
from sandbox.v1.sandboxes_pb2_grpc import SandboxServiceStub
from sandbox.v1.workspaces_pb2_grpc import WorkspaceServiceStub

from sandbox_api.bodies import MAX_FILE, MAX_OUTPUT, Entry, Exec, Kind, Listing, Stat
from sandbox_api.errors import ApiError, of_engine

STRIKES, STRIKES_WITHIN_S = 3, 10.0
ATTEMPT_S = 4.0
"""From one attempt to reach the engine to the next, so that a third failure is within 10 s."""
ATTACHED_WITHIN_S = 2.0
"""How long a call waits for an engine that comes back."""
BUSY_S, BUSY_STEP_S = 15.0, 0.1
"""How long a workspace may still be with a VM that is being taken apart."""
CREATE_S, CALL_S = 180.0, 120.0
PIECE = 256 << 10
MAX_ENTRIES = 4096
OPTIONS = (
    ("grpc.max_receive_message_length", 16 << 20),
    ("grpc.default_authority", "localhost"),  # the default would be the escaped path
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)
KINDS: dict[FileKind.ValueType, Kind] = {
    FileKind.FILE_KIND_FILE: "file",
    FileKind.FILE_KIND_DIRECTORY: "directory",
    FileKind.FILE_KIND_SYMLINK: "symlink",
}
_log = structlog.get_logger(__name__)


class Wish(Struct, frozen=True, kw_only=True):
    """What a session's VM is to be."""

    template: str
    memory_mib: int
    vcpus: int
    env: dict[str, str]
    egress_allow: tuple[str, ...]
    egress_deny_all: bool


class Machine(Struct, frozen=True, kw_only=True):
    """A VM of this API."""

    id: str
    memory_mib: int
    vcpus: int


class Started(Struct, frozen=True):
    """The command runs."""

    pid: int


class Output(Struct, frozen=True):
    """A piece of its output."""

    error: bool
    data: bytes


class Ended(Struct, frozen=True, kw_only=True):
    """It ended, and so did both its streams."""

    exit_code: int
    term_signal: int
    timed_out: bool
    output_truncated: bool
    duration_ms: int


class Strikes:
    """Failures to reach the engine: three within ten seconds are the end."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=STRIKES)
        self.out = asyncio.Event()
        """Set once the engine counts as gone."""

    def strike(self, now: float) -> None:
        """One more."""
        self._times.append(now)
        if len(self._times) == STRIKES and now - self._times[0] <= STRIKES_WITHIN_S:
            self.out.set()

    def clear(self) -> None:
        """It was reached."""
        self._times.clear()


class Engine:
    """The daemon behind its gRPC socket.  Every call raises `ApiError`."""

    def __init__(self, socket: str, *, pool_wait_s: float) -> None:
        self._channel = grpc.aio.insecure_channel(f"unix:{socket}", options=OPTIONS)
        self._sandboxes = SandboxServiceStub(self._channel)
        self._guest = GuestServiceStub(self._channel)
        self._workspaces = WorkspaceServiceStub(self._channel)
        self._pool_wait_s = pool_wait_s
        self._session = ""
        self._attached = asyncio.Event()
        self.strikes = Strikes()
        self.on_lost: Callable[[], None] = lambda: None
        """Called when the session ended, and every VM with it."""

    async def close(self) -> None:
        """End the channel, which ends every VM."""
        await self._channel.close()

    # -- the session -------------------------------------------------------------

    async def run(self) -> None:
        """Keep a session, until cancelled."""
        while True:
            began = time.monotonic()
            attached = await self._keep_session()
            if attached:
                _log.warning("the engine's session ended: every VM is gone")
                self.on_lost()
                continue
            self.strikes.strike(time.monotonic())
            _log.warning("the engine cannot be reached")
            await asyncio.sleep(max(0.0, began + ATTEMPT_S - time.monotonic()))

    async def _keep_session(self) -> bool:
        """One session from its begin to its end; whether it began."""
        call = self._sandboxes.Attach(pb.AttachRequest(), wait_for_ready=True)
        try:
            async with asyncio.timeout(ATTEMPT_S - 0.5):
                first = await call.read()
            if not isinstance(first, pb.AttachResponse):
                return False
            self._session = first.ready.attach_session
            self.strikes.clear()
            self._attached.set()
            while isinstance(await call.read(), pb.AttachResponse):
                pass
        except (grpc.aio.AioRpcError, TimeoutError):
            pass
        finally:
            call.cancel()
            attached = self._attached.is_set()
            self._attached.clear()
        return attached

    async def wait_attached(self) -> None:
        """Return once there is a session."""
        await self._attached.wait()

    async def attached(self) -> str:
        """The session's name.  Raises 503."""
        if not self._attached.is_set():
            try:
                async with asyncio.timeout(ATTACHED_WITHIN_S):
                    await self._attached.wait()
            except TimeoutError:
                raise ApiError.unreachable() from None
        return self._session

    # -- VMs ---------------------------------------------------------------------

    async def create(self, wish: Wish, workspace_key: str, ttl_s: int) -> Machine:
        """A VM with this workspace; one that is still being let go is waited for."""
        deadline = time.monotonic() + BUSY_S
        while True:
            try:
                return await self._create(wish, workspace_key, ttl_s)
            except ApiError as error:
                if error.reason != "SESSION_BUSY" or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(BUSY_STEP_S)

    async def _create(self, wish: Wish, workspace_key: str, ttl_s: int) -> Machine:
        request = pb.CreateSandboxRequest(
            template=wish.template,
            memory_mib=wish.memory_mib,
            vcpu_count=wish.vcpus,
            env={name: pb.EnvVar(value=value) for name, value in wish.env.items()},
            egress=pb.EgressPolicy(allow=wish.egress_allow, deny_all=wish.egress_deny_all),
            session_key=workspace_key,
            attach_session=await self.attached(),
            pool_wait=_duration(self._pool_wait_s),
        )
        if ttl_s:
            request.workspace_ttl.CopyFrom(_duration(ttl_s))
        with _translated():
            answer = await self._sandboxes.CreateSandbox(request, timeout=CREATE_S)
        made = answer.sandbox
        return Machine(id=made.id, memory_mib=made.memory_mib, vcpus=made.vcpu_count)

    async def destroy(self, machine: Machine) -> None:
        """Gone when this returns."""
        request = pb.DestroySandboxRequest(sandbox_id=machine.id, allow_missing=True)
        with _translated():
            await self._sandboxes.DestroySandbox(request, timeout=CALL_S)

    async def lives(self, machine: Machine) -> bool:
        """Whether it still runs."""
        try:
            with _translated():
                request = pb.GetSandboxRequest(sandbox_id=machine.id)
                found = await self._sandboxes.GetSandbox(request, timeout=CALL_S)
        except ApiError as error:
            if error.reason == "SANDBOX_NOT_FOUND":
                return False
            raise
        return found.sandbox.state == pb.SANDBOX_STATE_RUNNING

    # -- workspaces --------------------------------------------------------------

    async def expires_at(self, workspace_key: str) -> int:
        """When a workspace ends."""
        request = workspaces.GetWorkspaceRequest(session_key=workspace_key)
        with _translated():
            found = await self._workspaces.GetWorkspace(request, timeout=CALL_S)
        return found.workspace.expire_time.seconds

    async def renew(self, workspace_key: str, extra_s: int) -> int:
        """When it ends now."""
        request = workspaces.RenewWorkspaceRequest(
            session_key=workspace_key, extra=_duration(extra_s)
        )
        with _translated():
            found = await self._workspaces.RenewWorkspace(request, timeout=CALL_S)
        return found.workspace.expire_time.seconds

    async def delete_workspace(self, workspace_key: str) -> None:
        """Gone, with its files; one that is not there is gone."""
        request = workspaces.DeleteWorkspaceRequest(session_key=workspace_key)
        try:
            with _translated():
                await self._workspaces.DeleteWorkspace(request, timeout=CALL_S)
        except ApiError as error:
            if error.reason != "SESSION_UNKNOWN":
                raise

    # -- commands ----------------------------------------------------------------

    async def exec(
        self, machine: Machine, asked: Exec
    ) -> AsyncGenerator[Started | Output | Ended, None]:
        """Run a command live; it is killed when this is closed before its end."""
        start = guest.ExecStart(
            sandbox_id=machine.id,
            argv=[asked.command or ""] if asked.argv is None else asked.argv,
            shell=asked.argv is None,
            cwd=asked.cwd,
            env=asked.env or {},
            max_output=asked.max_output or MAX_OUTPUT,
        )
        if asked.timeout_ms:
            start.timeout.CopyFrom(_duration(asked.timeout_ms / 1000))
        stdin = asked.input()
        start.input = bool(stdin)
        call = self._guest.Exec(_exec_requests(start, stdin))
        try:
            with _translated():
                async for response in call:
                    yield _event(response)
        finally:
            call.cancel()

    # -- files -------------------------------------------------------------------

    async def read_file(self, machine: Machine, path: str) -> bytes:
        """A whole file of at most 4 MiB."""
        request = guest.ReadFileRequest(sandbox_id=machine.id, path=path, max_bytes=MAX_FILE + 1)
        with _translated():
            answers = self._guest.ReadFile(request, timeout=CALL_S)
            pieces = [answer.data async for answer in answers]
        content = b"".join(pieces)
        if len(content) > MAX_FILE:
            raise ApiError(413, "too_large", f"{path}: more than {MAX_FILE} bytes")
        return content

    async def write_file(
        self, machine: Machine, path: str, content: bytes, *, append: bool, exclusive: bool
    ) -> None:
        """Replace, append to or make a file."""
        start = guest.WriteFileStart(
            sandbox_id=machine.id, path=path, append=append, exclusive=exclusive
        )
        with _translated():
            await self._guest.WriteFile(_write_requests(start, content), timeout=CALL_S)

    async def remove(self, machine: Machine, path: str, *, recursive: bool) -> None:
        """Gone when this returns."""
        request = guest.RemoveRequest(sandbox_id=machine.id, path=path, recursive=recursive)
        with _translated():
            await self._guest.Remove(request, timeout=CALL_S)

    async def mkdir(self, machine: Machine, path: str, *, parents: bool) -> None:
        """There when this returns."""
        request = guest.MakeDirectoryRequest(sandbox_id=machine.id, path=path, parents=parents)
        with _translated():
            await self._guest.MakeDirectory(request, timeout=CALL_S)

    async def stat(self, machine: Machine, path: str) -> Stat:
        """What a path is."""
        request = guest.StatRequest(sandbox_id=machine.id, path=path)
        with _translated():
            found = await self._guest.Stat(request, timeout=CALL_S)
        return Stat(
            path=path,
            type=_kind(found.kind),
            size=found.size,
            mode=found.mode,
            mtime=_seconds(found.modify_time),
        )

    async def list(self, machine: Machine, path: str) -> Listing:
        """What is in a directory."""
        request = guest.ListDirectoryRequest(
            sandbox_id=machine.id, path=path, max_entries=MAX_ENTRIES
        )
        with _translated():
            found = await self._guest.ListDirectory(request, timeout=CALL_S)
        entries = [
            Entry(
                name=each.name,
                type=_kind(each.kind),
                size=each.size,
                mtime=_seconds(each.modify_time),
            )
            for each in found.entries
        ]
        return Listing(path=path, entries=entries, truncated=found.truncated)


async def _exec_requests(start: guest.ExecStart, stdin: bytes) -> AsyncIterator[guest.ExecRequest]:
    yield guest.ExecRequest(start=start)
    for at in range(0, len(stdin), PIECE):
        yield guest.ExecRequest(input=guest.ExecInput(data=stdin[at : at + PIECE]))
    if stdin:
        yield guest.ExecRequest(close_input=guest.ExecCloseInput())


async def _write_requests(
    start: guest.WriteFileStart, content: bytes
) -> AsyncIterator[guest.WriteFileRequest]:
    yield guest.WriteFileRequest(start=start)
    for at in range(0, len(content), PIECE):
        yield guest.WriteFileRequest(data=content[at : at + PIECE])
    yield guest.WriteFileRequest(done=guest.WriteFileDone())


def _event(response: guest.ExecResponse) -> Started | Output | Ended:
    match response.WhichOneof("message"):
        case "started":
            return Started(response.started.pid)
        case "out":
            return Output(error=False, data=response.out.data)
        case "err":
            return Output(error=True, data=response.err.data)
    end = response.exit
    return Ended(
        exit_code=end.code,
        term_signal=end.signal,
        timed_out=end.timed_out,
        output_truncated=end.truncated,
        duration_ms=end.duration.ToMilliseconds(),
    )


@contextmanager
def _translated() -> Iterator[None]:
    """A gRPC error as an `ApiError`."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise translate(error) from error


def translate(error: grpc.aio.AioRpcError) -> ApiError:
    """What the engine said; 503 where it said nothing."""
    reason, retry_s, field = "", None, ""
    for key, value in error.trailing_metadata() or ():
        if key != "grpc-status-details-bin" or not isinstance(value, bytes):
            continue
        for detail in status_pb2.Status.FromString(value).details:
            info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
            if detail.Unpack(info):
                reason, field = info.reason, info.metadata.get("field", "")
            elif detail.Unpack(retry):
                retry_s = retry.retry_delay.ToMilliseconds() / 1000
    if field == "attach_session":  # an engine that started meanwhile knows no such session
        return ApiError.unreachable()
    message = error.details() or ""
    if reason:
        return of_engine(reason, message, retry_s)
    match error.code():
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.CANCELLED:
            return ApiError.unreachable()
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return of_engine("TIMEOUT", "the engine did not answer in time", None)
    _log.error("the engine failed without a reason", code=error.code().name, message=message)
    return of_engine("INTERNAL", "internal error", None)


def _duration(seconds: float) -> Duration:
    found = Duration()
    found.FromMilliseconds(round(seconds * 1000))
    return found


def _seconds(when: Timestamp) -> float:
    return float(when.seconds) + float(when.nanos) / 1e9


def _kind(kind: FileKind.ValueType) -> Kind:
    return KINDS.get(kind, "other")
