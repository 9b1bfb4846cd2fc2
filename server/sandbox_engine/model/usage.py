"""The usage journal's events (seed "Usage journal"): what billing folds.  Pure."""

from __future__ import annotations

import enum
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.size import Key


class Event(enum.Enum):
    """A lifecycle transition."""

    CLAIM = "claim"
    RELEASE = "release"
    REAP = "reap"
    HIBERNATE = "hibernate"
    WAKE = "wake"
    FORK = "fork"
    CHECKPOINT = "checkpoint"
    PROMOTE = "promote"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    ARCHIVE_DELETE = "archive_delete"
    EGRESS = "egress"
    EGRESS_BYTES = "egress_bytes"
    VMM_RESTART = "vmm_restart"
    VMM_EXIT = "vmm_exit"
    VMM_FAILED = "vmm_failed"


_OPENING = (
    Event.CLAIM, Event.HIBERNATE, Event.WAKE, Event.ARCHIVE, Event.UNARCHIVE, Event.VMM_RESTART,
)  # fmt: skip
"""Events that begin an interval."""


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line."""

    t: str
    ev: Event
    id: str
    vm: str
    key: str = ""
    tenant: str = ""
    ref: str = ""
    children: int = 0
    volumes: tuple[str, ...] = ()
    volumes_rw: tuple[str, ...] = ()
    secret: str = ""
    """Names of injected values, joined by commas."""
    upstream: str = ""
    tx: int | None = None
    """Bytes of payload from the guest."""
    rx: int | None = None
    """Bytes of payload to the guest."""
    deadline: str = ""
    """When its lease ends, or what is archived is deleted, as that stood then: where an interval
    that a crash left open is to be cut off.
    """


def timestamp(at: float) -> str:
    """RFC 3339 in UTC, to the microsecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def key_of(sandbox: Sandbox) -> Key:
    """The key a sandbox was claimed by; one of another door has no size's name."""
    if sandbox.claim is None:
        return Key(sandbox.spec.template, size="")
    return sandbox.claim.key(sandbox.spec.template)


def usage_line(
    at: float, event: Event, sandbox: Sandbox, ref: str = "", children: int = 0
) -> bytes:
    """The line of one event."""
    claimed = event is Event.CLAIM
    owned = event in (Event.CLAIM, Event.ARCHIVE, Event.UNARCHIVE, Event.ARCHIVE_DELETE)
    tenant = (sandbox.claim.tenant if sandbox.claim is not None else None) or ""
    volumes = sandbox.claim.volumes if claimed and sandbox.claim is not None else ()
    entry = Entry(
        t=timestamp(at),
        ev=event,
        id=sandbox.id,
        vm=sandbox.vm,
        key=key_of(sandbox).digest() if claimed else "",
        tenant=tenant if owned else "",
        ref=ref,
        children=children,
        volumes=tuple(grant.name for grant in volumes),
        volumes_rw=tuple(grant.name for grant in volumes if grant.writable),
        deadline=timestamp(sandbox.deadline)
        if event in _OPENING and sandbox.deadline is not None
        else "",
    )
    return msgspec.json.encode(entry)


def egress_line(
    at: float,
    sandbox: Sandbox,
    *,
    host: str,
    upstream: str,
    secrets: tuple[str, ...] = (),
    moved: tuple[int, int] | None = None,
) -> bytes:
    """The line of a request that the broker let through; of the bytes it `moved`, where given."""
    tx, rx = moved or (None, None)
    tenant = (sandbox.claim.tenant if sandbox.claim is not None else None) or ""
    entry = Entry(
        t=timestamp(at),
        ev=Event.EGRESS if moved is None else Event.EGRESS_BYTES,
        id=sandbox.id,
        vm=sandbox.vm,
        tenant=tenant,
        ref=host,
        secret=",".join(secrets),
        upstream=upstream,
        tx=tx,
        rx=rx,
    )
    return msgspec.json.encode(entry)
