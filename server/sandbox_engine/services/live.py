"""A sandbox in memory: its record, its VM, and what becomes of a VM."""

from __future__ import annotations

import asyncio
from typing import Protocol

from msgspec import Struct

from sandbox_engine.errors import GuestUnavailable, InvalidArgument, SnapshotNotFound
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.sandbox import Created, Sandbox, SandboxSpec
from sandbox_engine.model.size import Key
from sandbox_engine.model.snapshot import Record
from sandbox_engine.services.idle import IdleClock
from sandbox_engine.services.vms import Vm
from sandbox_engine.services.workspaces import Mounting


class Birth(Struct, frozen=True, kw_only=True):
    """What a VM becomes."""

    caller: Caller
    spec: SandboxSpec
    lease_s: int
    claim: Claim | None
    on_expire: str = "destroy"
    layers: tuple[str, ...] = ()
    booted: bool | None = None
    """None where the VM itself tells."""
    ref_prefix: str = ""
    """Its claim_ref is this and its id; empty leaves the spec's."""
    parent: str = ""
    from_checkpoint: str = ""


class Live:
    """A sandbox and its VM, in memory."""

    __slots__ = ("archiving", "gone", "held", "idle", "mounting", "sandbox", "work")

    def __init__(self, sandbox: Sandbox, vm: Vm | None, idle: IdleClock) -> None:
        self.sandbox, self.idle = sandbox, idle
        self.held = vm
        """Its VM; None while it is hibernated."""
        self.work: asyncio.Task[None] | None = None
        """The step that it is in, or was in last."""
        self.mounting: Mounting | None = None
        """Its workspace, where it has one."""
        self.archiving = False
        """Its lease ended, and it is on its way into the archive."""
        self.gone = asyncio.Event()
        """Set once it is destroyed and nothing of it is left."""

    @property
    def vm(self) -> Vm:
        """Its VM.  Raises `GuestUnavailable` where it has none."""
        if self.held is None:
            raise GuestUnavailable(f"sandbox {self.sandbox.id} has no VM now")
        return self.held


def check_fit(spec: SandboxSpec, memory_mib: int, vcpus: int) -> None:
    """A request may repeat the template's memory and vCPUs, not change them."""
    if spec.memory_mib not in (0, memory_mib):
        raise InvalidArgument(
            "memory_mib",
            f"template {spec.template!r} was baked with {memory_mib} MiB, not {spec.memory_mib}",
        )
    if spec.vcpus not in (0, vcpus):
        raise InvalidArgument(
            "vcpu_count",
            f"template {spec.template!r} was baked with {vcpus} vCPUs, not {spec.vcpus}",
        )


class Promoted(Protocol):
    """The promoted templates, as a create asks for them (`services/promotions.py`)."""

    def has(self, key: Key, /) -> bool:
        """Whether there is one of this key."""

    def chosen(self, birth: Birth, /) -> Record | None:
        """What a create of `birth` clones; None where its name is not a promoted one."""

    async def create(self, birth: Birth, record: Record, /) -> Created:
        """A sandbox that goes on from `record`."""


class NothingPromoted:
    """Before there is any."""

    def has(self, _: Key) -> bool:
        """See `Promoted`."""
        return False

    def chosen(self, _: Birth) -> Record | None:
        """See `Promoted`."""
        return None

    async def create(self, _: Birth, record: Record) -> Created:
        """See `Promoted`."""
        raise SnapshotNotFound(record.id)
