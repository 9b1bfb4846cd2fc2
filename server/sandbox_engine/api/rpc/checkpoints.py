"""`sandbox.v1.CheckpointService`."""

from __future__ import annotations

from sandbox.v1 import checkpoints_pb2 as pb
from sandbox.v1 import sandboxes_pb2

from sandbox_engine.api.rpc.paging import page
from sandbox_engine.api.rpc.promoted import promoted_to_pb
from sandbox_engine.api.rpc.sandboxes import credentials, on_expire, sandbox_to_pb
from sandbox_engine.api.rpc.times import seconds, timestamp
from sandbox_engine.api.rpc.unserved import served
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.sandbox import DESTROY
from sandbox_engine.model.snapshot import Record
from sandbox_engine.services.checkpoints import Branch, Checkpoints
from sandbox_engine.services.promotions import Promotions


class CheckpointServicer:
    """Message in, one service call, message out."""

    def __init__(self, checkpoints: Checkpoints, promotions: Promotions) -> None:
        self._checkpoints, self._promotions = checkpoints, promotions

    async def create_checkpoint(
        self, request: pb.CreateCheckpointRequest, caller: Caller
    ) -> pb.CreateCheckpointResponse:
        """A moment, kept."""
        record = await self._checkpoints.create(
            caller, request.sandbox_id, request.name, request_id=request.request_id
        )
        return pb.CreateCheckpointResponse(checkpoint=self._to_pb(record))

    async def get_checkpoint(
        self, request: pb.GetCheckpointRequest, _: Caller
    ) -> pb.GetCheckpointResponse:
        """One."""
        record = self._checkpoints.get(request.checkpoint_id)
        return pb.GetCheckpointResponse(checkpoint=self._to_pb(record))

    async def list_checkpoints(
        self, request: pb.ListCheckpointsRequest, _: Caller
    ) -> pb.ListCheckpointsResponse:
        """A page of them, newest first."""
        found = [
            one
            for one in self._checkpoints.all()
            if not request.sandbox_id or one.sandbox_id == request.sandbox_id
        ]
        chosen, more = page(found, _place, request)
        return pb.ListCheckpointsResponse(
            checkpoints=[self._to_pb(one) for one in chosen], next_page_token=more
        )

    async def delete_checkpoint(
        self, request: pb.DeleteCheckpointRequest, _: Caller
    ) -> pb.DeleteCheckpointResponse:
        """Gone."""
        self._checkpoints.delete(request.checkpoint_id)
        return pb.DeleteCheckpointResponse()

    async def branch_checkpoint(
        self, request: pb.BranchCheckpointRequest, caller: Caller
    ) -> pb.BranchCheckpointResponse:
        """A sandbox that goes on from one."""
        served(request)
        for variable in request.env.values():
            served(variable)
        branch = Branch(
            ttl_s=seconds(request.ttl),
            env={name: variable.value for name, variable in request.env.items()},
            metadata=dict(request.metadata),
            claim_ref=request.claim_ref,
            on_expire=on_expire(request.on_expire) or DESTROY,
        )
        created = await self._checkpoints.branch(
            caller, request.checkpoint_id, branch, request_id=request.request_id
        )
        return pb.BranchCheckpointResponse(
            sandbox=sandbox_to_pb(created.sandbox), credentials=credentials(created)
        )

    async def promote_sandbox(
        self, request: pb.PromoteSandboxRequest, caller: Caller
    ) -> pb.PromoteSandboxResponse:
        """The state of a sandbox, published as a template."""
        record = await self._promotions.promote(
            caller, request.sandbox_id, request.template, request_id=request.request_id
        )
        return pb.PromoteSandboxResponse(template=promoted_to_pb(record))

    def _to_pb(self, record: Record) -> pb.Checkpoint:
        expires = self._checkpoints.expires_at(record)
        return pb.Checkpoint(
            id=record.id,
            name=record.name,
            sandbox_id=record.sandbox_id,
            parent_id=record.parent,
            template=record.origin.template,
            net=sandboxes_pb2.NET_LANE_NONE,
            memory_mib=record.origin.memory_mib,
            vcpu_count=record.origin.vcpus,
            tenant=record.tenant or "",
            create_time=timestamp(record.created_at),
            size_bytes=record.memory_bytes,
            expire_time=None if expires is None else timestamp(expires),
        )


def _place(record: Record) -> str:
    """Sorts newest first, as the list is."""
    return f"{2**63 - int(record.created_at * 1e6):019d} {record.id}"
