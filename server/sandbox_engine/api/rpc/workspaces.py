"""`sandbox.v1.WorkspaceService`."""

from __future__ import annotations

from sandbox.v1 import workspaces_pb2 as pb

from sandbox_engine.api.rpc.paging import page
from sandbox_engine.api.rpc.times import seconds, timestamp
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.workspace import Workspace
from sandbox_engine.services.workspaces import Workspaces


class WorkspaceServicer:
    """Message in, one service call, message out."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    async def renew_workspace(
        self, request: pb.RenewWorkspaceRequest, caller: Caller
    ) -> pb.RenewWorkspaceResponse:
        """More time."""
        found = self._workspaces.renew(caller, request.session_key, seconds(request.extra))
        return pb.RenewWorkspaceResponse(workspace=self._to_pb(found))

    async def get_workspace(
        self, request: pb.GetWorkspaceRequest, caller: Caller
    ) -> pb.GetWorkspaceResponse:
        """One of them."""
        found = self._workspaces.get(caller, request.session_key)
        return pb.GetWorkspaceResponse(workspace=self._to_pb(found))

    async def list_workspaces(
        self, request: pb.ListWorkspacesRequest, caller: Caller
    ) -> pb.ListWorkspacesResponse:
        """A page of the caller's."""
        chosen, more = page(self._workspaces.all(caller), lambda each: each.key, request)
        return pb.ListWorkspacesResponse(
            workspaces=[self._to_pb(each) for each in chosen], next_page_token=more
        )

    async def delete_workspace(
        self, request: pb.DeleteWorkspaceRequest, caller: Caller
    ) -> pb.DeleteWorkspaceResponse:
        """Gone, with its files."""
        self._workspaces.delete(caller, request.session_key)
        return pb.DeleteWorkspaceResponse()

    def _to_pb(self, found: Workspace) -> pb.Workspace:
        return pb.Workspace(
            session_key=found.key,
            size_bytes=found.size_bytes,
            used_bytes=self._workspaces.used_bytes(found),
            create_time=timestamp(found.created_at),
            expire_time=timestamp(found.expires_at),
            sandbox_id=found.sandbox,
        )
