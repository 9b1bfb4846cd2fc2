"""The client: a connection to an engine."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Self

from sandbox.v1 import checkpoints_pb2, sandboxes_pb2, templates_pb2

from sandbox_sdk import _address, _convert, _methods
from sandbox_sdk._async.calls import AsyncCalls
from sandbox_sdk._async.sandbox import LONG_S, AsyncSandbox
from sandbox_sdk._wire_async import AsyncWire
from sandbox_sdk.models import CheckpointInfo, SandboxInfo, TemplateInfo
from sandbox_sdk.retry import RetryPolicy


class AsyncClient:
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
        self._wire = AsyncWire(_address.find(socket, address, token))
        self._calls = AsyncCalls(self._wire, retry or RetryPolicy(), timeout_s)

    async def create(
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
    ) -> AsyncSandbox:
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
        answer = await self._calls.ask(_methods.CREATE, request, timeout_s=pool_wait_s + LONG_S)
        return AsyncSandbox(
            self._calls,
            _convert.sandbox(answer.sandbox),
            _convert.credentials(answer.credentials),
        )

    async def get(self, sandbox_id: str) -> AsyncSandbox:
        """A sandbox that is there.  Raises `SandboxNotFound`."""
        request = sandboxes_pb2.GetSandboxRequest(sandbox_id=sandbox_id)
        answer = await self._calls.ask(_methods.GET, request)
        return AsyncSandbox(self._calls, _convert.sandbox(answer.sandbox))

    async def templates(self) -> list[TemplateInfo]:
        """The templates of this node."""
        answer = await self._calls.ask(
            _methods.LIST_TEMPLATES, templates_pb2.ListTemplatesRequest()
        )
        return [_convert.template(one) for one in answer.templates]

    async def list(
        self, *, metadata: Mapping[str, str] | None = None, claim_ref: str = ""
    ) -> AsyncIterator[SandboxInfo]:
        """The caller's sandboxes, oldest first; those with all of `metadata` and `claim_ref`."""
        token = ""
        while True:
            request = sandboxes_pb2.ListSandboxesRequest(
                page_token=token, metadata=metadata, claim_ref=claim_ref
            )
            answer = await self._calls.ask(_methods.LIST, request)
            for one in answer.sandboxes:
                yield _convert.sandbox(one)
            token = answer.next_page_token
            if not token:
                return

    async def branch(
        self,
        checkpoint_id: str,
        *,
        ttl_s: float | None = None,
        env: Mapping[str, str] | None = None,
        metadata: Mapping[str, str] | None = None,
        claim_ref: str = "",
    ) -> AsyncSandbox:
        """A new sandbox that continues from a checkpoint."""
        request = checkpoints_pb2.BranchCheckpointRequest(
            checkpoint_id=checkpoint_id,
            ttl=_convert.duration(ttl_s),
            env={name: sandboxes_pb2.EnvVar(value=value) for name, value in (env or {}).items()},
            metadata=metadata,
            claim_ref=claim_ref,
        )
        answer = await self._calls.ask(_methods.BRANCH, request, timeout_s=LONG_S)
        return AsyncSandbox(
            self._calls,
            _convert.sandbox(answer.sandbox),
            _convert.credentials(answer.credentials),
        )

    async def checkpoints(self, sandbox_id: str = "") -> AsyncIterator[CheckpointInfo]:
        """The caller's checkpoints, newest first; of one sandbox where it is given."""
        token = ""
        while True:
            request = checkpoints_pb2.ListCheckpointsRequest(
                page_token=token, sandbox_id=sandbox_id
            )
            answer = await self._calls.ask(_methods.LIST_CHECKPOINTS, request)
            for one in answer.checkpoints:
                yield _convert.checkpoint(one)
            token = answer.next_page_token
            if not token:
                return

    async def delete_checkpoint(self, checkpoint_id: str) -> None:
        """Remove a checkpoint; sandboxes branched from it run on."""
        request = checkpoints_pb2.DeleteCheckpointRequest(checkpoint_id=checkpoint_id)
        await self._calls.ask(_methods.DELETE_CHECKPOINT, request)

    async def close(self) -> None:
        """End the connection.  Sandboxes live on until their lease ends.  Idempotent."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()
