"""`sandbox.v1.SandboxService`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from sandbox.v1 import sandboxes_pb2 as pb

from sandbox_engine.api.errors import wire_text
from sandbox_engine.api.rpc.paging import page
from sandbox_engine.api.rpc.times import duration, milliseconds, seconds, timestamp
from sandbox_engine.api.rpc.unserved import served
from sandbox_engine.errors import InvalidArgument, SandboxNotFound
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import ARCHIVE, DESTROY, Created, Sandbox, SandboxSpec
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.services.states import States

STATES = {
    State.RUNNING: pb.SANDBOX_STATE_RUNNING,
    State.PAUSING: pb.SANDBOX_STATE_PAUSING,
    State.PAUSED: pb.SANDBOX_STATE_PAUSED,
    State.RESUMING: pb.SANDBOX_STATE_RESUMING,
    State.SAVING: pb.SANDBOX_STATE_RUNNING,
    State.HIBERNATING: pb.SANDBOX_STATE_HIBERNATING,
    State.HIBERNATED: pb.SANDBOX_STATE_HIBERNATED,
    State.WAKING: pb.SANDBOX_STATE_WAKING,
    State.ARCHIVED: pb.SANDBOX_STATE_ARCHIVED,
    State.UNARCHIVING: pb.SANDBOX_STATE_WAKING,
    State.BOOTING: pb.SANDBOX_STATE_WAKING,
    State.FAILED: pb.SANDBOX_STATE_FAILED,
    State.DESTROYING: pb.SANDBOX_STATE_DESTROYING,
    State.DESTROYED: pb.SANDBOX_STATE_DESTROYED,
}


class SandboxServicer:
    """Message in, one service call, message out."""

    def __init__(self, sandboxes: Sandboxes, sessions: Sessions, states: States) -> None:
        self._sandboxes, self._sessions, self._states = sandboxes, sessions, states
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """End every session's stream, which takes the session's sandboxes with it."""
        self._stopping.set()

    async def create_sandbox(
        self, request: pb.CreateSandboxRequest, caller: Caller
    ) -> pb.CreateSandboxResponse:
        """A clone of a template."""
        spec = spec_from_pb(request)
        if request.attach_session:
            self._sessions.check(request.attach_session)
            caller = Caller(name=caller.name, uid=caller.uid, session=request.attach_session)
        created = await self._sandboxes.create(
            caller,
            spec,
            ttl_s=seconds(request.ttl),
            request_id=request.request_id,
            on_expire=on_expire(request.on_expire),
        )
        if request.attach_session:
            await self._still_open(caller, created)
        return pb.CreateSandboxResponse(
            sandbox=sandbox_to_pb(created.sandbox), credentials=credentials(created)
        )

    async def _still_open(self, caller: Caller, created: Created) -> None:
        """A session that ended during the create did not take this sandbox with it."""
        try:
            self._sessions.check(caller.session or "")
        except InvalidArgument:
            await self._sandboxes.destroy(caller, created.sandbox.id)
            raise

    async def get_sandbox(
        self, request: pb.GetSandboxRequest, caller: Caller
    ) -> pb.GetSandboxResponse:
        """One sandbox."""
        sandbox = self._sandboxes.get(caller, request.sandbox_id)
        return pb.GetSandboxResponse(sandbox=sandbox_to_pb(sandbox))

    async def list_sandboxes(
        self, request: pb.ListSandboxesRequest, caller: Caller
    ) -> pb.ListSandboxesResponse:
        """A page of those that pass every filter."""
        served(request)
        found = [each for each in self._sandboxes.visible(caller) if _passes(each, request)]
        found.sort(key=lambda each: each.number)
        chosen, more = page(found, lambda each: f"{each.number:010d}", request)
        return pb.ListSandboxesResponse(
            sandboxes=[sandbox_to_pb(each) for each in chosen], next_page_token=more
        )

    async def destroy_sandbox(
        self, request: pb.DestroySandboxRequest, caller: Caller
    ) -> pb.DestroySandboxResponse:
        """Gone when this answers."""
        try:
            await self._sandboxes.destroy(caller, request.sandbox_id)
        except SandboxNotFound:
            if not request.allow_missing:
                raise
        return pb.DestroySandboxResponse()

    async def pause_sandbox(
        self, request: pb.PauseSandboxRequest, caller: Caller
    ) -> pb.PauseSandboxResponse:
        """Its virtual CPUs stand still when this answers."""
        sandbox = await self._sandboxes.pause(caller, request.sandbox_id)
        return pb.PauseSandboxResponse(sandbox=sandbox_to_pb(sandbox))

    async def resume_sandbox(
        self, request: pb.ResumeSandboxRequest, caller: Caller
    ) -> pb.ResumeSandboxResponse:
        """They run again."""
        sandbox = await self._sandboxes.resume(caller, request.sandbox_id)
        return pb.ResumeSandboxResponse(sandbox=sandbox_to_pb(sandbox))

    async def hibernate_sandbox(
        self, request: pb.HibernateSandboxRequest, caller: Caller
    ) -> pb.HibernateSandboxResponse:
        """It is saved durably and has no process when this answers."""
        sandbox = await self._states.hibernation.hibernate(caller, request.sandbox_id)
        return pb.HibernateSandboxResponse(sandbox=sandbox_to_pb(sandbox))

    async def wake_sandbox(
        self, request: pb.WakeSandboxRequest, caller: Caller
    ) -> pb.WakeSandboxResponse:
        """It runs when this answers."""
        sandbox = await self._states.hibernation.wake(caller, request.sandbox_id)
        return pb.WakeSandboxResponse(sandbox=sandbox_to_pb(sandbox))

    async def fork_sandbox(
        self, request: pb.ForkSandboxRequest, caller: Caller
    ) -> pb.ForkSandboxResponse:
        """Children that share its past."""
        served(request)
        children = await self._states.forks.fork(
            caller,
            request.sandbox_id,
            request.count,
            ttl_s=seconds(request.ttl),
            ref_prefix=request.claim_ref_prefix,
            on_expire=on_expire(request.on_expire),
            request_id=request.request_id,
        )
        return pb.ForkSandboxResponse(
            children=[
                pb.ForkedSandbox(
                    sandbox=sandbox_to_pb(child.sandbox), credentials=credentials(child)
                )
                for child in children
            ]
        )

    async def inspect_sandbox(
        self, request: pb.InspectSandboxRequest, caller: Caller
    ) -> pb.InspectSandboxResponse:
        """What the kernel counts."""
        status = self._sandboxes.inspect(caller, request.sandbox_id)
        return pb.InspectSandboxResponse(
            sandbox=sandbox_to_pb(status.sandbox),
            running=status.is_running,
            uptime=duration(status.uptime_ms),
            memory_rss_bytes=status.memory_rss_bytes,
            page_faults=status.page_faults,
        )

    async def renew_sandbox(
        self, request: pb.RenewSandboxRequest, caller: Caller
    ) -> pb.RenewSandboxResponse:
        """A lease from now."""
        sandbox = self._sandboxes.renew(
            caller,
            request.sandbox_id,
            seconds(request.ttl),
            on_expire=on_expire(request.on_expire),
        )
        return pb.RenewSandboxResponse(sandbox=sandbox_to_pb(sandbox))

    async def attach(self, _: pb.AttachRequest, __: Caller) -> AsyncIterator[pb.AttachResponse]:
        """A session for as long as this stream is open."""
        session = self._sessions.open()
        try:
            yield pb.AttachResponse(ready=pb.AttachReady(attach_session=session))
            await self._stopping.wait()
        finally:
            # Not awaited here: the call is being cancelled, and destroying takes its time.
            spawn(self._sessions.close(session), name=f"end {session}")


def credentials(created: Created) -> pb.SandboxCredentials:
    """What its holder may show."""
    return pb.SandboxCredentials(token=created.token, session_token=created.session_token)


def spec_from_pb(request: pb.CreateSandboxRequest) -> SandboxSpec:
    """What to create.  Raises `Unimplemented`."""
    served(request)
    served(request.egress)
    for variable in request.env.values():
        served(variable)
    return SandboxSpec(
        template=request.template,
        memory_mib=request.memory_mib,
        vcpus=request.vcpu_count,
        env={name: variable.value for name, variable in request.env.items()},
        pool_wait_ms=milliseconds(request.pool_wait),
        session_key=request.session_key or None,
        workspace_ttl_s=seconds(request.workspace_ttl),
        egress_allow=tuple(request.egress.allow),
        egress_deny_all=request.egress.deny_all,
        net=lane_from_pb(request.net),
        claim_ref=request.claim_ref,
        metadata=dict(request.metadata),
    )


_LANES = {"none": pb.NET_LANE_NONE, "egress": pb.NET_LANE_EGRESS}


def lane_from_pb(lane: pb.NetLane.ValueType) -> str:
    """Its name; nothing where none is said.  Raises `InvalidArgument`."""
    if lane == pb.NET_LANE_UNSPECIFIED:
        return ""
    for name, number in _LANES.items():
        if number == lane:
            return name
    raise InvalidArgument("net", f"{lane} is no network lane")


_ROUTES = {"none": pb.NET_ROUTE_NONE, "relay": pb.NET_ROUTE_RELAY, "direct": pb.NET_ROUTE_DIRECT}


def sandbox_to_pb(sandbox: Sandbox) -> pb.Sandbox:
    """What it is."""
    return pb.Sandbox(
        id=sandbox.id,
        number=sandbox.number,
        state=STATES[sandbox.state],
        template=sandbox.spec.template,
        template_digest=sandbox.template_digest,
        memory_mib=sandbox.memory_mib,
        vcpu_count=sandbox.vcpus,
        create_time=timestamp(sandbox.created_at),
        expire_time=None if sandbox.deadline is None else timestamp(sandbox.deadline),
        on_expire=_EXPIRE[sandbox.on_expire],
        metadata=sandbox.spec.metadata,
        claim_ref=sandbox.spec.claim_ref,
        session_key=sandbox.spec.session_key or "",
        attach_session=sandbox.session or "",
        net=_LANES[sandbox.net],
        net_route=_ROUTES[sandbox.net_route],
        tenant=(sandbox.claim.tenant or "") if sandbox.claim is not None else "",
        parent_id=sandbox.parent,
        from_checkpoint=sandbox.from_checkpoint,
        restarts=sandbox.restarts,
        restart_time=None if sandbox.restarted_at is None else timestamp(sandbox.restarted_at),
        failure=wire_text(sandbox.failure),
    )


_EXPIRE = {DESTROY: pb.EXPIRE_ACTION_DESTROY, ARCHIVE: pb.EXPIRE_ACTION_ARCHIVE}


def on_expire(action: pb.ExpireAction.ValueType) -> str:
    """What is asked for; empty where nothing is.  Raises `InvalidArgument`."""
    if action == pb.EXPIRE_ACTION_UNSPECIFIED:
        return ""
    for name, known in _EXPIRE.items():
        if action == known:
            return name
    raise InvalidArgument("on_expire", f"{action} is no action that this engine knows")


def _passes(sandbox: Sandbox, request: pb.ListSandboxesRequest) -> bool:
    labels = sandbox.spec.metadata
    return (
        (not request.states or STATES[sandbox.state] in request.states)
        and (not request.claim_ref or sandbox.spec.claim_ref == request.claim_ref)
        and all(labels.get(name) == value for name, value in request.metadata.items())
    )
