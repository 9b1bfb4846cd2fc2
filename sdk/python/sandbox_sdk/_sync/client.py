# Generated from `_async/client.py` by tools/codegen/blocking.py: change that one.
"""The client: a connection to an engine."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from sandbox.v1 import checkpoints_pb2, sandboxes_pb2, templates_pb2

from sandbox_sdk import _address, _convert, _methods
from sandbox_sdk._sync.calls import Calls
from sandbox_sdk._sync.sandbox import LONG_S, Sandbox
from sandbox_sdk._wire_sync import Wire
from sandbox_sdk.models import CheckpointInfo, SandboxInfo, TemplateInfo
from sandbox_sdk.retry import RetryPolicy


class Client:
    """A connection to an engine; a context manager that closes it.

    `socket` is the path of the engine's gRPC socket, by default what `SANDBOX_GRPC_SOCKET`
    says, else the usual place.  `address` is `host:port` instead, with the `token` that the
    engine asks for there; TCP is not encrypted, so it is for a trusted network.  `timeout_s`
    is for one call with all its attempts, where the call itself does not say another.
    """

    def __init__(
        self,
        socket: str | os.PathLike[str] | None = None,
        *,
        address: str | None = None,
        token: str | None = None,
        timeout_s: float = 60.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        self._wire = Wire(_address.find(socket, address, token))
        self._calls = Calls(self._wire, retry or RetryPolicy(), timeout_s)

    def create(
        self,
        template: str,
        *,
        ttl_s: float | None = None,
        pool_wait_s: float = 30.0,
        env: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        claim_ref: str = "",
        session_key: str = "",
        request_id: str | None = None,
    ) -> Sandbox:
        """A new sandbox of `template`.

        It lives for `ttl_s` (None is the node's default); where no virtual machine is warm,
        one is waited for up to `pool_wait_s`.  `session_key` names a persistent /workspace.
        The same `request_id` answers the same sandbox, so a create whose answer was lost is
        asked for again and still makes one; by default each call has an id of its own.
        """
        request = sandboxes_pb2.CreateSandboxRequest(
            request_id=request_id or uuid.uuid4().hex,
            template=template,
            ttl=_convert.duration(ttl_s),
            pool_wait=_convert.duration(pool_wait_s),
            env={name: sandboxes_pb2.EnvVar(value=value) for name, value in (env or {}).items()},
            metadata=metadata,
            claim_ref=claim_ref,
            session_key=session_key,
        )
        answer = self._calls.ask(_methods.CREATE, request, timeout_s=pool_wait_s + LONG_S)
        return Sandbox(
            self._calls,
            _convert.sandbox(answer.sandbox),
            _convert.credentials(answer.credentials),
        )

    def get(self, sandbox_id: str) -> Sandbox:
        """A sandbox that is there.  Raises `SandboxNotFound`."""
        request = sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox_id)
        answer = self._calls.ask(_methods.GET, request)
        return Sandbox(self._calls, _convert.sandbox(answer.sandbox))

    def templates(self) -> list[TemplateInfo]:
        """The templates of this node."""
        answer = self._calls.ask(_methods.LIST_TEMPLATES, templates_pb2.ListTemplatesRequest())
        return [_convert.template(one) for one in answer.templates]

    def list(
        self, *, metadata: Mapping[str, str] | None = None, claim_ref: str = ""
    ) -> Iterator[SandboxInfo]:
        """The caller's sandboxes, oldest first; those with all of `metadata` and `claim_ref`."""
        token = ""
        while True:
            request = sandboxes_pb2.ListSandboxesRequest(
                page_token=token, metadata=metadata, claim_ref=claim_ref
            )
            answer = self._calls.ask(_methods.LIST, request)
            for one in answer.sandboxes:
                yield _convert.sandbox(one)
            token = answer.next_page_token
            if not token:
                return

    def branch(
        self,
        checkpoint_id: str,
        *,
        ttl_s: float | None = None,
        env: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        claim_ref: str = "",
    ) -> Sandbox:
        """A new sandbox that continues from a checkpoint."""
        request = checkpoints_pb2.BranchCheckpointRequest(
            checkpoint_id=checkpoint_id,
            ttl=_convert.duration(ttl_s),
            env={name: sandboxes_pb2.EnvVar(value=value) for name, value in (env or {}).items()},
            metadata=metadata,
            claim_ref=claim_ref,
        )
        answer = self._calls.ask(_methods.BRANCH, request, timeout_s=LONG_S)
        return Sandbox(
            self._calls,
            _convert.sandbox(answer.sandbox),
            _convert.credentials(answer.credentials),
        )

    def checkpoints(self, sandbox_id: str = "") -> Iterator[CheckpointInfo]:
        """The caller's checkpoints, newest first; of one sandbox where it is given."""
        token = ""
        while True:
            request = checkpoints_pb2.ListCheckpointsRequest(
                page_token=token, sandbox_id=sandbox_id
            )
            answer = self._calls.ask(_methods.LIST_CHECKPOINTS, request)
            for one in answer.checkpoints:
                yield _convert.checkpoint(one)
            token = answer.next_page_token
            if not token:
                return

    def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Remove a checkpoint; sandboxes branched from it run on."""
        request = checkpoints_pb2.DeleteCheckpointRequest(checkpoint_id=checkpoint_id)
        self._calls.ask(_methods.DELETE_CHECKPOINT, request)

    def close(self) -> None:
        """End the connection.  Sandboxes live on until their lease ends.  Idempotent."""
        self._wire.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
