"""The engine's configuration: one file, validated whole, read once.

TOML or JSON by its suffix.  An unknown key, a wrong type and a value that could never
work are refused with their path in the file.  A part of the engine is given its own
values, never this whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.egress_rules import Policy
from sandbox_engine.model.idle_rule import IdleRule
from sandbox_engine.model.pool_wish import PoolTarget, bounds, check_lane
from sandbox_engine.model.size import EGRESS_NET, Key, Size, Sizes
from sandbox_engine.model.volume import Entry
from sandbox_engine.model.workspace import MAX_TTL_S

WORKSPACE_MAX_TTL = "SANDBOX_WORKSPACE_MAX_TTL"
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]*):\d{1,5}\Z")
_ORIGIN = re.compile(r"https?://[^/?#@\s]+/?\Z")


class PoolConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `pools`: how many VMs of a template wait, already running."""

    template: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,62}$")]
    net: Literal["none", "egress"] = "none"
    size: str = ""
    """A name of the size table; empty takes the template as it was baked."""
    warm: Annotated[int, Meta(ge=0, le=256)] | None = None
    """VMs running, with their identity confirmed, ready to be handed out.  Absent is 4, or 0
    where `warm_max` is set."""
    warm_max: Annotated[int, Meta(ge=0, le=256)] | None = None
    """Up to this many while claims come faster than VMs are made; absent is `warm`."""
    warmup: list[str] = []
    """A command run in each VM before it joins; a VM in which it fails does not."""
    egress: Policy | None = None
    """What its claims may reach, narrowed by their tenant's class; absent is nothing."""
    waiting: Annotated[int, Meta(ge=0, le=64)] = 1
    """VMM processes started ahead, with nothing loaded, for the next clones."""

    idle_hibernate_seconds: Annotated[float, Meta(ge=0)] = 0
    archive_after_seconds: Annotated[float, Meta(ge=0)] = 0
    archive_delete_after_seconds: Annotated[float, Meta(ge=0)] = 0
    """As of the node; where all three are 0 the node's hold."""

    def __post_init__(self) -> None:
        _check_idle(_idle_rule(self))
        _check_lane(self.net, _idle_rule(self))
        if self.warm is not None and self.warm_max is not None and self.warm_max < self.warm:
            raise ValueError("warm_max must not be below warm")

    def target(self) -> PoolTarget:
        """What the pool is to keep."""
        warm, warm_max = bounds(self.warm, self.warm_max)
        return PoolTarget(
            key=Key(self.template, self.net, self.size),
            warm=warm,
            warm_max=warm_max,
            waiting=self.waiting,
            warmup=tuple(self.warmup),
            idle=_idle_rule(self),
        )


class VolumeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `volumes`: a filesystem image that claims may ask for by name."""

    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]{0,19}$")]
    """Also the disk's serial number in the guest, of which there are 20 bytes."""
    path: Annotated[str, Meta(pattern=r"^/")]
    """A raw ext4 image."""
    writable: bool = False
    tenants: list[str] | None = None
    """Tenants that may use it; absent is all of them."""

    def entry(self) -> Entry:
        """As the rules know it."""
        return Entry(
            name=self.name,
            path=self.path,
            writable=self.writable,
            tenants=None if self.tenants is None else tuple(self.tenants),
        )


class SizeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of `sizes`."""

    cpus: Annotated[int, Meta(ge=1, le=32)]
    memory_mib: Annotated[int, Meta(ge=64, le=65536)]

    def size(self) -> Size:
        """As the rules know it."""
        return Size(cpus=self.cpus, memory_mib=self.memory_mib)


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file.  Every field has a default; an empty file is a working node."""

    data_dir: str = "/var/lib/sandbox-engine"
    """Templates, kernels, disks and the journal."""
    engine_socket: str = "/var/run/sandbox-engine/engine.sock"
    """The legacy frames (seed "Wire protocol")."""
    grpc_socket: str = "/var/run/sandbox-engine/grpc.sock"
    grpc_listen: str = ""
    """`host:port` for gRPC over TCP; needs `grpc_tokens`."""
    grpc_tokens: dict[str, str] = {}
    """Caller name to the SHA-256 (hex) of its bearer token, for TCP callers."""
    connect_listen: str = ""
    """`host:port` of the same services over HTTP/1.1, for curl and browsers; needs
    `grpc_tokens`.
    """
    connect_origins: list[str] = []
    """Origins of the web pages that may call there; `*` is every page."""
    allowed_uids: list[int] | None = None
    """Peer uids that may use the frame socket; absent allows whoever can open it."""
    pools: list[PoolConfig] = []
    default_warm: Annotated[int, Meta(ge=0, le=256)] = 1
    """Target of a template without an entry in `pools`, from its first create on."""
    refill_concurrency: Annotated[int, Meta(ge=0, le=256)] = 0
    """VMs created at once over all pools; 0 is 2/3 of the CPUs, at least 2."""
    max_sandboxes: Annotated[int, Meta(ge=1)] = 1024
    max_sandboxes_per_session: Annotated[int, Meta(ge=1)] = 128
    max_sandboxes_per_uid: Annotated[int, Meta(ge=1)] = 512
    default_lease_seconds: Annotated[int, Meta(ge=1, le=86400)] = 300
    allowed_services: list[str] = []
    """Daemon-wide egress ceiling (seed "Egress policy")."""
    broker_socket: str = ""
    """Where `sandbox-broker` asks who a guest is; empty serves no egress at all."""
    broker_doors: str = "/run/sandbox-broker/doors.sock"
    """Where the broker takes the connections of guests."""
    broker_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Where the broker listens for guests with a network interface; 0 gives no guest one."""
    broker_uid: Annotated[int, Meta(ge=0, le=4_294_967_294)] = 0
    """The broker's user, who alone (and root) may open `broker_socket`."""
    egress_usage_bytes: bool = False
    """The usage journal gets the bytes of every request and tunnel, too."""
    egress_ca: str = ""
    """Certificates (PEM) of the roots that sign for destinations the broker looks into: guests
    that have any trust them."""
    egress_classes: dict[str, Policy] = {}
    """Policies that tenants name by `egress_class`."""
    workspace_mib: Annotated[int, Meta(ge=16, le=1 << 20)] = 2048
    """Most that a session's workspace can hold; it takes only what is written to it."""
    vmm_uid_base: Annotated[int, Meta(ge=1000, le=4_000_000_000)] = 700_000
    """Each VMM runs as its own unprivileged uid, counted up from here."""
    vmm_uid_count: Annotated[int, Meta(ge=16, le=65536)] = 4096
    log_level: str = "info"
    listen: str = ""
    """`host:port` of the node API; empty serves none."""
    api_token: str = ""
    """The node API's root token; with none, calls about the node are open."""
    advertise_addr: str = ""
    """`host:port` under which other nodes and clients reach this one."""
    client_advertise: str = ""
    """An `http(s)://` origin that clients are handed instead of `advertise_addr`."""
    preview_listen: str = ""
    """`host:port` where browsers reach guests' ports; empty serves no previews."""
    preview_secret: str = ""
    """What previews' addresses are signed with; empty takes a key of this node's own."""
    preview_advertise: str = ""
    """`host:port` in previews' addresses; empty is where the listener listens."""
    max_fork_count: Annotated[int, Meta(ge=1, le=256)] = 16
    """Children one fork may make."""
    restart_budget: Annotated[int, Meta(ge=0, le=1000)] = 3
    """Boots of a failed sandbox that nobody asked for, until somebody wakes it; 0 is none."""
    checkpoint_ttl_hours: Annotated[float, Meta(ge=0)] = 0
    """How long a checkpoint is kept; 0 is for ever."""
    idle_hibernate_seconds: Annotated[float, Meta(ge=0)] = 0
    """A claim that nobody used for so long is hibernated; 0 is never."""
    archive_after_seconds: Annotated[float, Meta(ge=0)] = 0
    """One that nobody used for so long is archived, and so is one whose lease ends; 0 is never."""
    archive_delete_after_seconds: Annotated[float, Meta(ge=0)] = 0
    """How long the archive keeps one; 0 is for ever."""
    max_claims: Annotated[int, Meta(ge=0)] = 0
    """Claims the node API lets live at once; 0 leaves it to `max_sandboxes`."""
    claim_wait_seconds: Annotated[float, Meta(ge=0, le=600)] = 60
    """How long a claim waits for a VM when none is warm, before it is told to try again."""
    release_delay_seconds: Annotated[float, Meta(ge=0, le=3600)] = 0
    """How long a released VM stands still before it is taken apart."""
    volumes: list[VolumeConfig] = []
    """The catalog of volumes."""
    sizes: dict[str, SizeConfig] = {}
    """Added to, or instead of, the standard sizes small to 2xlarge."""
    audit_log: bool | str = False
    """A file that gets a line for every guest call relayed; true is `audit.jsonl` in `data_dir`."""

    def __post_init__(self) -> None:
        _check_once(
            "pools", [(pool.template, pool.net, pool.size) for pool in self.pools], "template "
        )
        _check_once("volumes", [volume.name for volume in self.volumes])
        _check_idle(self.idle_rule())
        for pool in self.pools:
            if pool.size:
                _check_size(self.size_table(), pool.size)
        for name in ("listen", "preview_listen", "preview_advertise", "connect_listen"):
            address = getattr(self, name)
            if address and not _ADDRESS.match(address):
                raise ValueError(f"{name} must be host:port")
        if self.client_advertise and not _ORIGIN.match(self.client_advertise):
            raise ValueError("client_advertise must be an http:// or https:// origin")
        if self.connect_listen and not self.grpc_tokens:
            raise ValueError("connect_listen needs grpc_tokens: its callers are known by token")
        if self.grpc_listen and not self.grpc_tokens:
            raise ValueError("grpc_listen needs grpc_tokens: TCP callers are known by token")
        if self.log_level not in ("debug", "info", "warning", "error"):
            raise ValueError("log_level must be debug, info, warning or error")
        self._check_egress()

    def _check_egress(self) -> None:
        if self.broker_port and not self.broker_socket:
            raise ValueError("broker_port needs broker_socket: a broker must know whose guests ask")
        for pool in self.pools:
            if pool.net == EGRESS_NET and not self.broker_port:
                raise ValueError(f"pools[{pool.template}].net: egress needs broker_port")
        for name, policy in self.egress_classes.items():
            _check_policy(policy, f"egress_classes.{name}")
        for pool in self.pools:
            _check_policy(pool.egress, f"pools[{pool.template}].egress")
        for entry in self.allowed_services:
            if entry != "*":
                _check_service(entry)

    def idle_rule(self) -> IdleRule:
        """What becomes of claims that are left alone, unless their pool says otherwise."""
        return _idle_rule(self)

    def size_table(self) -> Sizes:
        """The sizes claims and pools may name."""
        return Sizes({name: size.size() for name, size in self.sizes.items()})


def _idle_rule(given: PoolConfig | Config) -> IdleRule:
    return IdleRule(
        hibernate_s=given.idle_hibernate_seconds,
        archive_s=given.archive_after_seconds,
        delete_s=given.archive_delete_after_seconds,
    )


def _check_idle(rule: IdleRule) -> None:
    try:
        rule.check()
    except InvalidArgument as error:
        raise ValueError(f"{error.field} {error.problem}") from error


def _check_lane(net: str, rule: IdleRule) -> None:
    try:
        check_lane(net, rule)
    except InvalidArgument as error:
        raise ValueError(f"{error.field} {error.problem}") from error


def _check_once(field: str, names: Sequence[Any], what: str = "") -> None:
    for name in names:
        if names.count(name) > 1:
            shown = name if isinstance(name, str) else name[0]
            raise ValueError(f"{field} names {what}{shown!r} twice")


def _check_policy(policy: Policy | None, field: str) -> None:
    try:
        if policy is not None:
            policy.check(field)
    except InvalidArgument as error:
        raise ValueError(f"{field}: {error.problem}") from error


def _check_size(table: Sizes, name: str) -> None:
    try:
        table.get(name)
    except InvalidArgument as error:
        raise ValueError(f"pools: {error.problem}") from error


def _check_service(entry: str) -> None:
    from sandbox_engine.model.egress import split_entry

    try:
        split_entry(entry)
    except InvalidArgument as error:
        raise ValueError(f"allowed_services: {error.problem}") from error


def workspace_max_ttl_s() -> int:
    """The platform's longest lifetime of a workspace, from the environment (seed "Error codes").

    Raises `InvalidArgument`.
    """
    value = os.environ.get(WORKSPACE_MAX_TTL, "")
    if value and not (value.isascii() and value.isdigit() and int(value)):
        raise InvalidArgument(WORKSPACE_MAX_TTL, f"must be whole seconds, at least 1, not {value}")
    return int(value) if value else MAX_TTL_S


def load(path: Path | None) -> Config:
    """Read and validate.  Raises `InvalidArgument` with the path of what is wrong."""
    if path is None:
        return Config()
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidArgument("config", f"cannot read {path}: {error.strerror}") from error
    decode = msgspec.json.decode if path.suffix == ".json" else msgspec.toml.decode
    try:
        return decode(data, type=Config)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidArgument("config", f"{path}: {error}") from error
