"""Fields of the API that this build does not serve yet.

What a caller asks for is done or refused, never ignored.  A later part that serves a
field removes its row.
"""

from __future__ import annotations

from google.protobuf.message import Message
from sandbox.v1 import checkpoints_pb2, guest_pb2, node_pb2, sandboxes_pb2, templates_pb2

from sandbox_engine.errors import Unimplemented

FIELDS: dict[type[Message], dict[str, set[object]]] = {
    sandboxes_pb2.CreateSandboxRequest: {
        "size": set(),
        "volumes": set(),
        "volumes_attach_only": set(),
    },
    sandboxes_pb2.EgressPolicy: {"required": set()},
    sandboxes_pb2.EnvVar: {"host_only": set(), "injection": set()},
    sandboxes_pb2.ForkSandboxRequest: {"attach_session": set()},
    checkpoints_pb2.BranchCheckpointRequest: {"attach_session": set()},
    sandboxes_pb2.ListSandboxesRequest: {"tenant": set()},
    guest_pb2.ExecStart: {"request_id": set()},
    templates_pb2.TemplateSource: {"oci_image": set()},
    templates_pb2.BuildTemplateRequest: {"labels": set(), "detach": set(), "request_id": set()},
    templates_pb2.ListTemplatesRequest: {"labels": set()},
    node_pb2.PoolConfig: {
        "net": {sandboxes_pb2.NET_LANE_NONE},
        "size": set(),
        "warm_max": set(),
    },
}
"""Message to field to the values that are served all the same."""


def served(message: Message) -> None:
    """Raise `Unimplemented` where a field is set to what is not served."""
    table = FIELDS[type(message)]
    for field, value in message.ListFields():
        if field.name in table and not _allowed(value, table[field.name]):
            raise Unimplemented(f"{field.name} is not served by this engine yet")


def _allowed(value: object, allowed: set[object]) -> bool:
    return bool(allowed) and value in allowed
