"""Guest operations on a folder of this host, with the codes of the frame protocol."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.v1 import file_kind_pb2 as kinds
from sandbox.v1 import legacy_pb2 as pb

INVALID_SPEC, GUEST_UNAVAILABLE, PATH_DENIED, NOT_FOUND = -2, -9, -10, -11
EXISTS, TOO_LARGE, GUEST_IO = -12, -13, -14

CHUNK = 48 << 10
MAX_INPUT = 64 << 10
OUT_HEAD, ERR_HEAD = 32 << 10, 16 << 10
MAX_OUTPUT = 4 << 20


class Refusal(Exception):
    """A request that is answered with an error code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


@contextmanager
def os_errors() -> Iterator[None]:
    """What the filesystem said, as the protocol says it."""
    try:
        yield
    except FileNotFoundError as error:
        raise Refusal(NOT_FOUND, str(error)) from error
    except FileExistsError as error:
        raise Refusal(EXISTS, str(error)) from error
    except OSError as error:
        raise Refusal(GUEST_IO, str(error)) from error


class FakeGuest:
    """One sandbox: a folder that is its /workspace, and commands of this host."""

    def __init__(self, root: Path, env: list[str]) -> None:
        self._root, self._env = root, dict(entry.split("=", 1) for entry in env)
        self._is_running = True
        self._resumed = time.monotonic()

    def pause(self) -> None:
        self._is_running = False

    def resume(self) -> None:
        if not self._is_running:
            self._is_running, self._resumed = True, time.monotonic()

    def inspect(self, sandbox_id: int) -> pb.InspectResponse:
        return pb.InspectResponse(
            sandbox_id=sandbox_id,
            is_running=self._is_running,
            uptime_ms=int(1000 * (time.monotonic() - self._resumed)),
            memory_rss_mib=123,
            page_faults=(1 << 32) - 1,
        )

    async def operate(self, request: pb.GuestRequest) -> pb.GuestResponse:
        if not self._is_running:
            raise Refusal(GUEST_UNAVAILABLE, "paused")
        with os_errors():
            match request.WhichOneof("operation"):
                case "exec":
                    return pb.GuestResponse(exec=await self._exec(request.exec))
                case "read_file":
                    return pb.GuestResponse(read_file=self._read(request.read_file))
                case "write_file":
                    self._write(request.write_file)
                    return pb.GuestResponse(write_file=pb.GuestWriteFileResponse())
                case "list_dir":
                    return pb.GuestResponse(list_dir=self._list(request.list_dir))
                case "stat":
                    return pb.GuestResponse(stat=self._stat(request.stat))
                case "mkdir":
                    self._mkdir(request.mkdir)
                    return pb.GuestResponse(mkdir=pb.GuestMkdirResponse())
                case "remove":
                    self._remove(request.remove)
                    return pb.GuestResponse(remove=pb.GuestRemoveResponse())
        raise Refusal(INVALID_SPEC, "a guest request without an operation")

    # --- commands ------------------------------------------------------------------------

    async def _exec(self, request: pb.GuestExecRequest) -> pb.GuestExecResponse:
        argv = ["/bin/sh", "-c", request.argv[0]] if request.shell else list(request.argv)
        if len(request.input) > MAX_INPUT:
            raise Refusal(TOO_LARGE, "input")
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._real(request.cwd or "/workspace"),
            env={"PATH": os.environ["PATH"], **self._env, **environment(request)},
            start_new_session=True,
        )
        out, err, timed_out = b"", b"", False
        try:
            async with asyncio.timeout(request.timeout_ms / 1000 or None):
                out, err = await process.communicate(request.input)
        except TimeoutError:
            timed_out = True
        finally:
            if process.returncode is None:  # timed out, or its client is gone
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return finished(request, process.returncode or 0, out, err, began, timed_out)

    # --- files ---------------------------------------------------------------------------

    def _real(self, path: str, *, follow: bool = True) -> Path:
        parts = path.split("/")
        if parts[:2] != ["", "workspace"] or "." in parts or ".." in parts:
            raise Refusal(PATH_DENIED, path)
        real = self._root.joinpath(*parts[2:])
        target = real.resolve() if follow else real.parent.resolve() / real.name
        if target != self._root and self._root not in target.parents:
            raise Refusal(PATH_DENIED, path)
        return real

    def _read(self, request: pb.GuestReadFileRequest) -> pb.GuestReadFileResponse:
        content = self._real(request.path).read_bytes()
        end = request.offset + min(request.max_bytes or CHUNK, CHUNK)
        return pb.GuestReadFileResponse(
            data=content[request.offset : end],
            file_size=len(content),
            truncated=end < len(content),
        )

    def _write(self, request: pb.GuestWriteFileRequest) -> None:
        real = self._real(request.path)
        if len(request.data) > CHUNK:
            raise Refusal(TOO_LARGE, "chunk")
        if request.parents:
            real.parent.mkdir(parents=True, exist_ok=True)
        how = "x" if request.exclusive else "a" if request.append else "w"
        is_new = not real.exists()
        with real.open(how + "b") as file:
            file.write(request.data)
        if is_new or request.mode:
            real.chmod(request.mode or 0o644)

    def _list(self, request: pb.GuestListDirRequest) -> pb.GuestListDirResponse:
        response = pb.GuestListDirResponse()
        size = 0
        for entry in sorted(self._real(request.path).iterdir()):
            status = entry.lstat()
            found = pb.GuestDirEntry(
                name=os.fsencode(entry.name).decode(errors="replace"),
                kind=kind_of(status.st_mode),
                size=status.st_size,
                mtime=int(status.st_mtime),
            )
            size += found.ByteSize() + 4
            if size > 60000:
                response.truncated = True
                break
            response.entries.append(found)
        return response

    def _stat(self, request: pb.GuestStatRequest) -> pb.GuestStatResponse:
        status = self._real(request.path, follow=False).lstat()
        return pb.GuestStatResponse(
            kind=kind_of(status.st_mode),
            size=status.st_size,
            mode=stat.S_IMODE(status.st_mode),
            mtime=int(status.st_mtime),
        )

    def _mkdir(self, request: pb.GuestMkdirRequest) -> None:
        real = self._real(request.path)
        real.mkdir(parents=request.parents, exist_ok=request.parents)
        real.chmod(request.mode or 0o755)

    def _remove(self, request: pb.GuestRemoveRequest) -> None:
        real = self._real(request.path, follow=False)
        if real == self._root:
            raise Refusal(PATH_DENIED, "the workspace itself")
        if not real.is_dir() or real.is_symlink():
            real.unlink()
        elif request.recursive:
            shutil.rmtree(real)
        else:
            real.rmdir()


def environment(request: pb.GuestExecRequest) -> dict[str, str]:
    """The variables of one command."""
    return dict(entry.split("=", 1) for entry in request.env)


def finished(
    request: pb.GuestExecRequest,
    returncode: int,
    out: bytes,
    err: bytes,
    began: float,
    timed_out: bool,
) -> pb.GuestExecResponse:
    """What a command came to."""
    limit = request.max_output or MAX_OUTPUT
    is_killed = timed_out or max(len(out), len(err)) > limit
    code = -signal.SIGKILL if is_killed else returncode
    return pb.GuestExecResponse(
        exit_code=128 - code if code < 0 else code,
        term_signal=max(0, -code),
        timed_out=timed_out,
        output_truncated=is_killed and not timed_out,
        duration_ms=int(1000 * (time.monotonic() - began)),
        out=out[:OUT_HEAD],
        err=err[:ERR_HEAD],
        out_total=len(out),
        err_total=len(err),
    )


def kind_of(mode: int) -> kinds.FileKind.ValueType:
    """The protocol's word for a file type."""
    if stat.S_ISREG(mode):
        return kinds.FILE_KIND_FILE
    if stat.S_ISDIR(mode):
        return kinds.FILE_KIND_DIRECTORY
    return kinds.FILE_KIND_SYMLINK if stat.S_ISLNK(mode) else kinds.FILE_KIND_OTHER
