"""What a sandbox is asked to be (`SandboxSpec`) and what it is (`Sandbox`)."""

from __future__ import annotations

import enum
import re

from msgspec import Struct, field

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.egress import check_entries
from sandbox_engine.model.environment import ENV_NAME
from sandbox_engine.model.machine import State
from sandbox_engine.model.size import NETS

MAX_ENV = 256
MAX_ENV_BYTES = 64 << 10
MAX_POOL_WAIT_MS = 600_000
MAX_LEASE_S = 24 * 3600
DEFAULT_LEASE_S = 300
FOREVER = 253_402_300_799.0
"""The deadline of what is kept without an end: the last second of the year 9999."""
DESTROY, ARCHIVE = "destroy", "archive"
"""What the end of a lease may be."""
_SESSION_KEY = re.compile(r"[\x20-\x7e]{1,127}\Z")


class Tier(enum.Enum):
    """Where a sandbox's machine came from."""

    WARM = "warm"
    """It ran already."""
    CLONE = "clone"
    """It was restored from the template's snapshot for this call."""
    COLD = "cold"
    """It was booted for this call: the template has no snapshot of this size."""


class SandboxSpec(Struct, frozen=True, kw_only=True):
    """A request, not a description of what you get (seed "Types")."""

    template: str
    memory_mib: int = 0
    """Must be the template's; 0 takes it as it is."""
    vcpus: int = 0
    """Must be the template's; 0 takes it as it is."""
    env: dict[str, str] = {}
    pool_wait_ms: int = 0
    """How long to wait for a VM when none is warm; 0 fails fast."""
    session_key: str | None = None
    workspace_ttl_s: int = 0
    egress_allow: tuple[str, ...] = ()
    egress_deny_all: bool = False
    net: str = ""
    """The network lane, `none` or `egress`; empty is what the node has to give."""
    claim_ref: str = ""
    metadata: dict[str, str] = {}

    def check(self) -> None:
        """Raise `InvalidArgument`, naming the field, for a value that can never be served."""
        check_env(self.env)
        if not 0 <= self.pool_wait_ms <= MAX_POOL_WAIT_MS:
            raise InvalidArgument("pool_wait_ms", f"must be 0 to {MAX_POOL_WAIT_MS}")
        if self.session_key is not None:
            check_session_key(self.session_key)
        check_entries(self.egress_allow, deny_all=self.egress_deny_all)
        if self.net not in ("", *NETS):
            raise InvalidArgument("net", f"unknown net {self.net!r}: one of {', '.join(NETS)}")


class Sandbox(Struct, kw_only=True):
    """One sandbox.  Mutated only by `services/sandboxes.py`, in the loop's thread."""

    id: str
    """`sb_` and 20 hex digits."""
    number: int
    """The frames' uint32 id."""
    spec: SandboxSpec
    state: State
    owner: str
    """The caller's name."""
    uid: int | None
    session: str | None
    """Dies with this connection or attach stream; None where a lease decides."""
    deadline: float | None
    """Unix seconds at which the lease ends; None while a session holds it."""
    lease_s: int = 0
    """The length of the lease last granted: a wake from the archive grants it again."""
    on_expire: str = DESTROY
    """What the end of its lease is."""
    memory_mib: int
    vcpus: int
    created_at: float
    resumed_at: float
    """Unix seconds of the last (re)start of its virtual CPUs."""
    vm: str
    """Name of the machine it runs in."""
    template_digest: str = ""
    """What the template's manifest hashed to when it was cloned: `sha256:` and 64 hex digits."""
    layers: tuple[str, ...] = ()
    """Frozen disks that its own stands on, the lowest first."""
    disk: str = "disk.qcow2"
    """Name of its own, in its VM's directory; empty once a dead VM's became a layer."""
    booted: bool = False
    """Its memory did not begin as its template's."""
    parent: str = ""
    """The sandbox it was forked from."""
    from_checkpoint: str = ""
    """The checkpoint it was branched from."""
    restarts: int = 0
    """Boots that replaced a VM that died."""
    restarts_spent: int = 0
    """Those of them that nobody asked for, tries included, since somebody last did."""
    restarted_at: float | None = None
    failure: str = ""
    egress: tuple[str, ...] = ()
    """Its policy as it was settled when it was made; a claim's is its pool's and tenant's."""
    net_route: str = "none"
    """How its guest reaches the network (seed `net_route`), settled with that."""
    net: str = "none"
    """Its network lane, settled with that."""
    address: str = ""
    """Of its guest's network interface; empty where that has none."""
    volume_disks: bool = False
    """Whether disks wait in its machine for catalog volumes."""
    claim: Claim | None = None
    """What the node API knows of it; None where another door created it."""


class SandboxStatus(Struct, frozen=True, kw_only=True):
    """What `inspect` answers (seed `sandbox_status_t`)."""

    sandbox: Sandbox
    is_running: bool
    uptime_ms: int
    """Since the last resume; 0 while not running."""
    memory_rss_bytes: int
    page_faults: int
    """Minor and major faults of the VMM process, as the kernel counts them."""


class Created(Struct, kw_only=True):
    """A new sandbox, and its token."""

    sandbox: Sandbox
    token: str = field(default="")
    """Of the HTTP doors."""
    session_token: str = field(default="")
    """Of its guest, at the broker."""
    tier: Tier = Tier.WARM


def check_env(env: dict[str, str]) -> None:
    """Names by POSIX, no NUL anywhere, at most `MAX_ENV` entries and `MAX_ENV_BYTES`."""
    if len(env) > MAX_ENV:
        raise InvalidArgument("env_vars", f"{len(env)} entries; the limit is {MAX_ENV}")
    total = 0
    for name, value in env.items():
        if not ENV_NAME.match(name):
            raise InvalidArgument("env_vars", f"{name!r} is not a name of letters, digits and `_`")
        if "\0" in value:
            raise InvalidArgument("env_vars", f"the value of {name} holds a NUL byte")
        total += len(name) + len(value.encode(errors="surrogateescape")) + 2
    if total > MAX_ENV_BYTES:
        raise InvalidArgument("env_vars", f"{total} bytes; the limit is {MAX_ENV_BYTES}")


def check_session_key(key: str) -> None:
    """1-127 printable bytes without a quote or a backslash (seed "Types")."""
    if not _SESSION_KEY.match(key) or '"' in key or "\\" in key:
        raise InvalidArgument("session_key", 'must be 1-127 printable bytes without `"` or `\\`')


def lease_length(asked_s: int, default_s: int = DEFAULT_LEASE_S) -> int:
    """The lease granted for what was asked: 0 is the default, above the cap is clamped."""
    if asked_s < 0:
        raise InvalidArgument("ttl_seconds", "must not be negative")
    return min(asked_s or default_s, MAX_LEASE_S)
