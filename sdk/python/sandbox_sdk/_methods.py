"""The calls this client makes: name, answer, and whether a call may be made twice.

A call is safe where making it again, after an answer was lost, leaves what one call would
have left: it only reads, it carries a request id, or it says what shall be and not what to
change.  Only those are ever repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message
from sandbox.v1 import checkpoints_pb2, guest_pb2, sandboxes_pb2, templates_pb2

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


@dataclass(frozen=True)
class Method(Generic[Q, A]):
    """One method of the API that takes `Q` and answers `A`."""

    path: str
    request: type[Q]
    answer: type[A]
    safe: bool = False


_SANDBOX = "/sandbox.v1.SandboxService/"
_GUEST = "/sandbox.v1.GuestService/"
_CHECKPOINT = "/sandbox.v1.CheckpointService/"
_TEMPLATE = "/sandbox.v1.TemplateService/"

CREATE = Method(
    _SANDBOX + "CreateSandbox",
    sandboxes_pb2.CreateSandboxRequest,
    sandboxes_pb2.CreateSandboxResponse,
    safe=True,  # the request id is always set
)
GET = Method(
    _SANDBOX + "GetSandbox",
    sandboxes_pb2.GetSandboxRequest,
    sandboxes_pb2.GetSandboxResponse,
    safe=True,
)
LIST = Method(
    _SANDBOX + "ListSandboxes",
    sandboxes_pb2.ListSandboxesRequest,
    sandboxes_pb2.ListSandboxesResponse,
    safe=True,
)
DESTROY = Method(
    _SANDBOX + "DestroySandbox",
    sandboxes_pb2.DestroySandboxRequest,
    sandboxes_pb2.DestroySandboxResponse,
    safe=True,  # `allow_missing` is always set
)
PAUSE = Method(
    _SANDBOX + "PauseSandbox",
    sandboxes_pb2.PauseSandboxRequest,
    sandboxes_pb2.PauseSandboxResponse,
)
RESUME = Method(
    _SANDBOX + "ResumeSandbox",
    sandboxes_pb2.ResumeSandboxRequest,
    sandboxes_pb2.ResumeSandboxResponse,
)
INSPECT = Method(
    _SANDBOX + "InspectSandbox",
    sandboxes_pb2.InspectSandboxRequest,
    sandboxes_pb2.InspectSandboxResponse,
    safe=True,
)
RENEW = Method(
    _SANDBOX + "RenewSandbox",
    sandboxes_pb2.RenewSandboxRequest,
    sandboxes_pb2.RenewSandboxResponse,
    safe=True,
)
HIBERNATE = Method(
    _SANDBOX + "HibernateSandbox",
    sandboxes_pb2.HibernateSandboxRequest,
    sandboxes_pb2.HibernateSandboxResponse,
    safe=True,
)
WAKE = Method(
    _SANDBOX + "WakeSandbox",
    sandboxes_pb2.WakeSandboxRequest,
    sandboxes_pb2.WakeSandboxResponse,
    safe=True,
)
# The engine serves no request ids for these yet, so they are made once.
FORK = Method(
    _SANDBOX + "ForkSandbox",
    sandboxes_pb2.ForkSandboxRequest,
    sandboxes_pb2.ForkSandboxResponse,
)
CREATE_CHECKPOINT = Method(
    _CHECKPOINT + "CreateCheckpoint",
    checkpoints_pb2.CreateCheckpointRequest,
    checkpoints_pb2.CreateCheckpointResponse,
)
BRANCH = Method(
    _CHECKPOINT + "BranchCheckpoint",
    checkpoints_pb2.BranchCheckpointRequest,
    checkpoints_pb2.BranchCheckpointResponse,
)
PROMOTE = Method(
    _CHECKPOINT + "PromoteSandbox",
    checkpoints_pb2.PromoteSandboxRequest,
    checkpoints_pb2.PromoteSandboxResponse,
)
LIST_CHECKPOINTS = Method(
    _CHECKPOINT + "ListCheckpoints",
    checkpoints_pb2.ListCheckpointsRequest,
    checkpoints_pb2.ListCheckpointsResponse,
    safe=True,
)
DELETE_CHECKPOINT = Method(
    _CHECKPOINT + "DeleteCheckpoint",
    checkpoints_pb2.DeleteCheckpointRequest,
    checkpoints_pb2.DeleteCheckpointResponse,
)

EXEC = Method(_GUEST + "Exec", guest_pb2.ExecRequest, guest_pb2.ExecResponse)
ATTACH = Method(_GUEST + "AttachExec", guest_pb2.AttachExecRequest, guest_pb2.AttachExecResponse)
PROCESSES = Method(
    _GUEST + "ListProcesses",
    guest_pb2.ListProcessesRequest,
    guest_pb2.ListProcessesResponse,
    safe=True,
)
SIGNAL = Method(
    _GUEST + "SignalProcess", guest_pb2.SignalProcessRequest, guest_pb2.SignalProcessResponse
)
RENAME = Method(_GUEST + "Rename", guest_pb2.RenameRequest, guest_pb2.RenameResponse)
WATCH = Method(_GUEST + "Watch", guest_pb2.WatchRequest, guest_pb2.WatchResponse)
FORWARD = Method(
    _GUEST + "ForwardPort", guest_pb2.ForwardPortRequest, guest_pb2.ForwardPortResponse
)
READ = Method(_GUEST + "ReadFile", guest_pb2.ReadFileRequest, guest_pb2.ReadFileResponse, safe=True)
WRITE = Method(_GUEST + "WriteFile", guest_pb2.WriteFileRequest, guest_pb2.WriteFileResponse)
LIST_DIRECTORY = Method(
    _GUEST + "ListDirectory",
    guest_pb2.ListDirectoryRequest,
    guest_pb2.ListDirectoryResponse,
    safe=True,
)
STAT = Method(_GUEST + "Stat", guest_pb2.StatRequest, guest_pb2.StatResponse, safe=True)
MAKE_DIRECTORY = Method(
    _GUEST + "MakeDirectory", guest_pb2.MakeDirectoryRequest, guest_pb2.MakeDirectoryResponse
)
REMOVE = Method(_GUEST + "Remove", guest_pb2.RemoveRequest, guest_pb2.RemoveResponse)

LIST_TEMPLATES = Method(
    _TEMPLATE + "ListTemplates",
    templates_pb2.ListTemplatesRequest,
    templates_pb2.ListTemplatesResponse,
    safe=True,
)
