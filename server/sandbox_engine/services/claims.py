"""Claims: sandboxes with a lease, as the node API hands them out.

Everything a claim is, it is as a sandbox of `services/sandboxes.py`; here are the rules
that only claims have: sizes by name, what happens at the deadline, who sees what.
"""

from __future__ import annotations

from collections.abc import Iterator

from sandbox_engine.errors import (
    GuestUnavailable,
    InvalidArgument,
    NoSpace,
    ProvisioningFailed,
    SandboxNotFound,
    SnapshotCorrupt,
    StateConflict,
    TemplateCorrupt,
    TemplateIncompatible,
    TemplateNotFound,
    VmmError,
    WarmupFailed,
)
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.claim_request import ClaimRequest, RenewRequest, check_on_expire
from sandbox_engine.model.egress_rules import intercepted
from sandbox_engine.model.environment import guest_part, host_part
from sandbox_engine.model.machine import ENDED, State
from sandbox_engine.model.sandbox import (
    Created,
    Sandbox,
    SandboxSpec,
    SandboxStatus,
)
from sandbox_engine.model.size import Key, Size, Sizes
from sandbox_engine.services.access import Party
from sandbox_engine.services.egress import Egress
from sandbox_engine.services.live import Live
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.tenants import Tenants

NODE = Caller(name="node")
_MAKING = (
    GuestUnavailable, NoSpace, SnapshotCorrupt, TemplateCorrupt, TemplateIncompatible,
    VmmError, WarmupFailed,
)  # fmt: skip
"""How making a VM can end."""


def check_kept(on_expire: str) -> None:
    """A claim with volumes cannot be saved, and so not archived.  Raises `InvalidArgument`."""
    if on_expire == "archive":
        raise InvalidArgument("on_expire", "a claim with volumes cannot be archived")


class Claims:
    """The claims of the node."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        sizes: Sizes,
        tenants: Tenants,
        default_lease_s: int,
        wait_s: float,
        egress: Egress,
    ) -> None:
        self._sandboxes, self.sizes, self._tenants = sandboxes, sizes, tenants
        self._default_lease_s, self._egress = default_lease_s, egress
        self.wait_s = wait_s
        """How long a claim waits for a VM where none is warm."""

    async def claim(self, party: Party, request: ClaimRequest) -> Created:
        """A fresh sandbox under a lease.  Does not wait at all when a warm VM is there.

        Raises `InvalidArgument`, `NotOffered`, `LimitReached`, `Draining`, `PoolExhausted`,
        `ProvisioningFailed`.  Cancelling leaves nothing behind.
        """
        egress_class = self._tenants.egress_class(party.tenant)
        rules = self._egress.claim_rules(request.key, party.tenant, egress_class)
        request.check(
            () if request.egress is False else intercepted(rules),
            egress_offered=self._egress.offered,
            links_offered=self._egress.links_offered,
        )
        if request.volumes:
            check_kept(request.on_expire)
        key, size = request.key, self.sizes.get(request.key.size)
        if request.require_promoted and not self._sandboxes.promoted.has(key):
            raise InvalidArgument("template", f"no promoted template {key.template!r}")
        claim = Claim(
            net=key.net,
            size=key.size,
            tenant=party.tenant,
            volumes=self._sandboxes.volumes.grants(
                request.volumes,
                tenant=party.tenant,
                mounted=not request.volumes_attach_only,
            ),
            host_env=host_part(request.env),
            egress=request.egress is not False,
            egress_class=egress_class,
        )
        spec = SandboxSpec(
            template=key.template,
            memory_mib=size.memory_mib,
            vcpus=size.cpus,
            env=guest_part(request.env),
            pool_wait_ms=int(self.wait_s * 1000),
            claim_ref=request.claim_ref,
            metadata=request.metadata,
        )
        try:
            return await self._sandboxes.create(
                party.caller,
                spec,
                ttl_s=request.ttl_seconds,
                claim=claim,
                on_expire=request.on_expire,
            )
        except TemplateNotFound as error:
            raise InvalidArgument("template", str(error)) from error
        except _MAKING as error:
            raise ProvisioningFailed(f"provisioning failed: {error}") from error

    async def release(self, party: Party, sandbox_id: str) -> None:
        """End it.  Raises `SandboxNotFound`, also for one that is ending already."""
        await self._sandboxes.destroy(party.caller, self.get(sandbox_id).id)

    def renew(self, party: Party, sandbox_id: str, request: RenewRequest) -> Sandbox:
        """A new lease from now on.

        Raises `SandboxNotFound`, `InvalidArgument`, and `PermissionDenied` for the own
        token of a claim whose tenant was removed.
        """
        check_on_expire(request.on_expire)
        claim = self.get(sandbox_id).claim
        if claim is not None and claim.held_volumes:
            check_kept(request.on_expire)
        if not party.root:
            self._tenants.check_extends(claim)
        return self._sandboxes.renew(
            party.caller, sandbox_id, request.ttl_seconds, on_expire=request.on_expire
        )

    def get(self, sandbox_id: str) -> Sandbox:
        """One live claim.  Raises `SandboxNotFound`."""
        sandbox = self._sandboxes.get(NODE, sandbox_id)
        if sandbox.deadline is None or sandbox.state in ENDED:
            raise SandboxNotFound(sandbox_id)
        return sandbox

    def live(self, sandbox: Sandbox) -> Live:
        """A claim with its VM.  Raises `SandboxNotFound`."""
        return self._sandboxes.find(NODE, sandbox.id)

    def usable(self, sandbox_id: str) -> Sandbox:
        """One live claim whose guest can be used.  Raises `StateConflict` for a failed one."""
        sandbox = self.get(sandbox_id)
        if sandbox.state is State.FAILED:
            raise StateConflict(have=f"failed ({sandbox.failure})", given="use")
        return sandbox

    def all(self) -> Iterator[Sandbox]:
        """Every live claim, oldest first."""
        for sandbox in self._sandboxes.visible(NODE):
            if sandbox.deadline is not None and sandbox.state not in ENDED:
                yield sandbox

    def matching(self, *, claim_ref: str, metadata: dict[str, str]) -> Iterator[Sandbox]:
        """Live claims under this reference (empty: any) that hold every pair."""
        for sandbox in self.all():
            spec = sandbox.spec
            if claim_ref and spec.claim_ref != claim_ref:
                continue
            if metadata.items() <= spec.metadata.items():
                yield sandbox

    def inspect(self, sandbox_id: str) -> SandboxStatus:
        """What the kernel counts of one live claim."""
        return self._sandboxes.inspect(NODE, self.get(sandbox_id).id)

    def key(self, sandbox: Sandbox) -> Key:
        """What it was claimed as; where another door created it, its size by the table."""
        if sandbox.claim is not None:
            return sandbox.claim.key(sandbox.spec.template)
        size = Size(cpus=sandbox.vcpus, memory_mib=sandbox.memory_mib)
        return Key(sandbox.spec.template, size=self.sizes.name_of(size))
