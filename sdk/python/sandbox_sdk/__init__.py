"""Python client of sandbox-engine.

    with Client() as client, client.create("base") as sandbox:
        print(sandbox.run("uname -a").check().stdout_text)

`AsyncClient` is the same for `asyncio`.  Errors are `sandbox_sdk.errors`.
"""

from sandbox_sdk import errors
from sandbox_sdk._async.client import AsyncClient
from sandbox_sdk._async.command import AsyncCommand
from sandbox_sdk._async.connection import AsyncConnection
from sandbox_sdk._async.detached import AsyncDetached
from sandbox_sdk._async.files import AsyncFiles
from sandbox_sdk._async.sandbox import AsyncSandbox
from sandbox_sdk._sync.client import Client
from sandbox_sdk._sync.command import Command
from sandbox_sdk._sync.connection import Connection
from sandbox_sdk._sync.detached import Detached
from sandbox_sdk._sync.files import Files
from sandbox_sdk._sync.sandbox import Sandbox
from sandbox_sdk.errors import SandboxError
from sandbox_sdk.models import (
    Change,
    ChangeKind,
    CheckpointInfo,
    Credentials,
    DirectoryEntry,
    ExecEvent,
    ExecResult,
    Exited,
    FileInfo,
    FileKind,
    Inspection,
    ProcessInfo,
    SandboxInfo,
    SandboxState,
    Started,
    Stderr,
    Stdout,
    TemplateInfo,
    TemplateState,
    TerminalSize,
)
from sandbox_sdk.retry import RetryPolicy

__all__ = [
    "AsyncClient",
    "AsyncCommand",
    "AsyncConnection",
    "AsyncDetached",
    "AsyncFiles",
    "AsyncSandbox",
    "Change",
    "ChangeKind",
    "CheckpointInfo",
    "Client",
    "Command",
    "Connection",
    "Credentials",
    "Detached",
    "DirectoryEntry",
    "ExecEvent",
    "ExecResult",
    "Exited",
    "FileInfo",
    "FileKind",
    "Files",
    "Inspection",
    "ProcessInfo",
    "RetryPolicy",
    "Sandbox",
    "SandboxError",
    "SandboxInfo",
    "SandboxState",
    "Started",
    "Stderr",
    "Stdout",
    "TemplateInfo",
    "TemplateState",
    "TerminalSize",
    "errors",
]
