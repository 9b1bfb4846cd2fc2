"""The tools, and the server that offers them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import inspect
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any, TypeAlias

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from sandbox_sdk import AsyncClient, SandboxError

from sandbox_mcp.sessions import Session, Unknown

Answer: TypeAlias = dict[str, Any]
OUTPUT = 64 << 10
"""Bytes of each output in one answer; a model reads no more."""
MOST_TIMEOUT_S = 3600.0
INSTRUCTIONS = """\
Sandboxes are virtual machines of your own. `create` one, run commands with `exec`, start
long ones with `spawn` and read them with `logs`. `fork` copies a running machine, memory
included; `checkpoint` keeps a moment and `branch` continues from it. Files of the file tools
are below /workspace. Everything is destroyed when you disconnect; `promote` keeps a machine
as a template."""


def session(context: Context[Session, Any]) -> Session:
    """What the calling client holds."""
    return context.request_context.lifespan_context


def told(tool: Callable[..., Awaitable[Answer]]) -> Callable[..., Awaitable[Answer]]:
    """Errors as the client is to read them: the engine's reason, and what it says."""

    @wraps(tool)
    async def call(*args: Any, **named: Any) -> Answer:
        try:
            return await tool(*args, **named)
        except SandboxError as error:
            reason = error.reason or type(error).__name__
            raise ToolError(f"{reason}: {error.message}") from None
        except (Unknown, ValueError) as error:
            raise ToolError(f"INVALID_ARGUMENT: {error}") from None

    call.__signature__ = inspect.signature(tool, eval_str=True)  # type: ignore[attr-defined]  # it has none of its own
    return call


@told
async def create(context: Context[Session, Any], template: str = "") -> Answer:
    """Make a sandbox, from the server's usual template or the one that is named."""
    made = await session(context).create(template)
    return {"sandbox_id": made.id, "template": made.info.template}


@told
async def exec_(
    context: Context[Session, Any],
    sandbox_id: str,
    command: str,
    *,
    stdin: str = "",
    cwd: str = "",
    timeout_s: float = 60.0,
) -> Answer:
    """Run a shell command to its end; each output is cut after 64 KiB."""
    if not 0 < timeout_s <= MOST_TIMEOUT_S:
        raise ValueError(f"timeout_s: must be over 0 and at most {MOST_TIMEOUT_S:g}")
    done = (
        await session(context)
        .sandbox(sandbox_id)
        .run(command, input=stdin or None, cwd=cwd, timeout_s=timeout_s, max_output=4 << 20)
    )
    return {
        "exit_code": done.exit_code,
        "stdout": done.stdout[:OUTPUT].decode(errors="replace"),
        "stderr": done.stderr[:OUTPUT].decode(errors="replace"),
        "cut": done.truncated or max(len(done.stdout), len(done.stderr)) > OUTPUT,
        "timed_out": done.timed_out,
    }


@told
async def spawn(
    context: Context[Session, Any], sandbox_id: str, command: str, cwd: str = ""
) -> Answer:
    """Start a shell command in the background; read it with `logs`, end it with `stop`."""
    return {"process_id": await session(context).spawn(sandbox_id, command, cwd)}


@told
async def logs(context: Context[Session, Any], process_id: str, offset: int = 0) -> Answer:
    """What a spawned command wrote from byte `offset` on, both outputs as they came.

    Go on from `next_offset`. The last 256 KiB are kept; a later `begin` than `offset` says
    that bytes before it are gone.
    """
    if offset < 0:
        raise ValueError("offset: must not be negative")
    one = session(context).spawned(process_id)
    begin, data = one.tail.since(offset, OUTPUT)
    answer: Answer = {
        "output": data.decode(errors="replace"),
        "begin": begin,
        "next_offset": begin + len(data),
        "running": one.exited is None and not one.lost,
    }
    if one.exited is not None:
        answer["exit_code"] = one.exited.exit_code
    return answer | ({"lost": one.lost} if one.lost else {})


@told
async def stop(context: Context[Session, Any], process_id: str) -> Answer:
    """Kill a spawned command and all it started."""
    await session(context).stop(process_id)
    return {}


@told
async def read_file(context: Context[Session, Any], sandbox_id: str, path: str) -> Answer:
    """Read a file below /workspace, at most 64 KiB of it; what is no UTF-8 comes as base64."""
    data = await session(context).sandbox(sandbox_id).files.read(path, max_bytes=OUTPUT + 1)
    cut, data = len(data) > OUTPUT, data[:OUTPUT]
    try:
        return {"text": data.decode(), "cut": cut}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode(), "cut": cut}


@told
async def write_file(
    context: Context[Session, Any], sandbox_id: str, path: str, text: str = "", base64: str = ""
) -> Answer:
    """Write a file below /workspace, of a text or of base64; folders are made."""
    if text and base64:
        raise ValueError("base64: give a text or base64, not both")
    data = decoded(base64) if base64 else text.encode()
    return {"size": await session(context).sandbox(sandbox_id).files.write(path, data)}


def decoded(text: str) -> bytes:
    """Of base64.  Raises `ValueError`."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"base64: {error}") from None


@told
async def list_files(
    context: Context[Session, Any], sandbox_id: str, path: str = "/workspace"
) -> Answer:
    """List a directory below /workspace."""
    found = await session(context).sandbox(sandbox_id).files.list(path)
    return {
        "entries": [
            {"name": one.name, "kind": one.kind.name.lower(), "size": one.size} for one in found
        ]
    }


@told
async def fork(context: Context[Session, Any], sandbox_id: str, count: int = 1) -> Answer:
    """Copy a running sandbox, memory included, into `count` others."""
    if count < 1:
        raise ValueError("count: must be at least 1")
    children = await session(context).fork(sandbox_id, count)
    return {"sandbox_ids": [child.id for child in children]}


@told
async def checkpoint(context: Context[Session, Any], sandbox_id: str, name: str = "") -> Answer:
    """Keep a sandbox's present state; it runs on."""
    return {"checkpoint_id": await session(context).keep(sandbox_id, name)}


@told
async def branch(context: Context[Session, Any], checkpoint_id: str) -> Answer:
    """Make a sandbox that continues from a checkpoint."""
    return {"sandbox_id": (await session(context).branch(checkpoint_id)).id}


@told
async def hibernate(context: Context[Session, Any], sandbox_id: str) -> Answer:
    """Save a sandbox and free its memory; the next use wakes it."""
    info = await session(context).sandbox(sandbox_id).hibernate()
    return {"state": info.state.name.lower()}


@told
async def promote(context: Context[Session, Any], sandbox_id: str, template: str) -> Answer:
    """Publish a sandbox's state as a template, which outlives this session."""
    made = await session(context).sandbox(sandbox_id).promote(template)
    return {"template": made.name, "digest": made.digest}


@told
async def release(context: Context[Session, Any], sandbox_id: str) -> Answer:
    """Destroy a sandbox and everything in it."""
    await session(context).release(sandbox_id)
    return {}


TOOLS = {
    "create": create,
    "exec": exec_,
    "spawn": spawn,
    "logs": logs,
    "stop": stop,
    "read_file": read_file,
    "write_file": write_file,
    "list_files": list_files,
    "fork": fork,
    "checkpoint": checkpoint,
    "branch": branch,
    "hibernate": hibernate,
    "promote": promote,
    "release": release,
}


def serve(socket: str | None, *, template: str, lease_s: float) -> MCPServer[Session]:
    """A server for one client: its lifespan is the client's session."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[Session]) -> AsyncIterator[Session]:
        async with AsyncClient(socket) as client:
            held = Session(client, template=template, lease_s=lease_s)
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            if task is not None:
                loop.add_signal_handler(signal.SIGTERM, task.cancel)
            async with anyio.create_task_group() as keeping:
                keeping.start_soon(held.keep_alive, name="leases")
                try:
                    yield held
                finally:
                    loop.add_signal_handler(signal.SIGTERM, lambda: None)  # it is ending
                    await _ended(held)
                    keeping.cancel_scope.cancel()

    server = MCPServer("sandbox-mcp", instructions=INSTRUCTIONS, lifespan=lifespan)
    for name, tool in TOOLS.items():
        server.add_tool(tool, name=name)
    return server


async def _ended(held: Session) -> None:
    """Clean up even where the session ended by being cancelled."""
    with anyio.CancelScope(shield=True):
        await held.end()
