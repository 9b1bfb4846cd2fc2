"""The pools an operator asks for by `PUT /v1/pools`, and what they may say.  Pure."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from sandbox_engine.errors import InvalidArgument, NotOffered
from sandbox_engine.model.claim_request import check_net
from sandbox_engine.model.idle_rule import IdleRule
from sandbox_engine.model.size import DEFAULT_NET, DEFAULT_SIZE, EGRESS_NET, Key
from sandbox_engine.model.template import check_name

DEFAULT_WARM = 4
MAX_WARM = 256
MAX_POOLS = 256
_CONFIG_OWNED = ("egress", "warmup", "capture_trim", "storage", "egress_upstream_env")


class PoolWish(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One entry of the request; the fields the configuration owns are known to be refused."""

    template: str
    net: str = ""
    size: str = ""
    warm: int | None = None
    warm_max: int | None = None
    idle_hibernate_seconds: int = 0
    archive_after_seconds: int = 0
    archive_delete_after_seconds: int = 0
    egress: Raw | UnsetType = UNSET
    warmup: Raw | UnsetType = UNSET
    capture_trim: Raw | UnsetType = UNSET
    storage: Raw | UnsetType = UNSET
    egress_upstream_env: Raw | UnsetType = UNSET

    @property
    def key(self) -> Key:
        """Defaults filled in as for a claim."""
        return Key(self.template, self.net or DEFAULT_NET, self.size or DEFAULT_SIZE)

    def target(self) -> PoolTarget:
        """Defaults filled in: 4 warm only where neither bound is given."""
        warm, warm_max = bounds(self.warm, self.warm_max)
        return PoolTarget(key=self.key, warm=warm, warm_max=warm_max, idle=self.idle)

    def check(self, *, links_offered: bool = False) -> None:
        """Raise `InvalidArgument`, naming the field; `NotOffered` for a lane the node has not."""
        check_name(self.template)
        check_net(self.key.net)
        for name in _CONFIG_OWNED:
            if getattr(self, name) is not UNSET:
                raise InvalidArgument(name, "belongs to the configuration file")
        self._check_bounds()
        self.idle.check()
        check_lane(self.key.net, self.idle)
        if self.key.net == EGRESS_NET and not links_offered:
            raise NotOffered("egress pool on a node without an egress attachment")

    def _check_bounds(self) -> None:
        for name, value in (("warm", self.warm), ("warm_max", self.warm_max)):
            if value is not None and not 0 <= value <= MAX_WARM:
                raise InvalidArgument(name, f"must be 0 to {MAX_WARM}")
        if self.warm_max is not None and self.warm_max < (self.warm or 0):
            raise InvalidArgument("warm_max", "must not be below warm")

    @property
    def idle(self) -> IdleRule:
        """What becomes of its claims that are left alone."""
        return IdleRule(
            hibernate_s=self.idle_hibernate_seconds,
            archive_s=self.archive_after_seconds,
            delete_s=self.archive_delete_after_seconds,
        )


class PoolTarget(Struct, frozen=True, kw_only=True):
    """What a pool is to keep.  A size of "" is the one the template was baked with."""

    key: Key
    warm: int
    warm_max: int
    waiting: int = 1
    warmup: tuple[str, ...] = ()
    idle: IdleRule = IdleRule()


def bounds(warm: int | None, warm_max: int | None) -> tuple[int, int]:
    """How many VMs wait at least and at most, where one or both were left out."""
    if warm is None:
        warm = DEFAULT_WARM if warm_max is None else 0
    return warm, warm if warm_max is None else warm_max


def check_lane(net: str, idle: IdleRule) -> None:
    """A sandbox of the egress lane does not hibernate (seed "PUT /v1/pools").

    Raises `InvalidArgument`.
    """
    if net == EGRESS_NET and (idle.hibernate_s or idle.archive_s):
        raise InvalidArgument("idle_hibernate_seconds", "a pool of the egress lane has none")


def check_wishes(wishes: list[PoolWish], *, links_offered: bool = False) -> None:
    """Each entry, and that none is named twice.  Raises `InvalidArgument`, `NotOffered`."""
    if len(wishes) > MAX_POOLS:
        raise InvalidArgument("pools", f"{len(wishes)} entries; the limit is {MAX_POOLS}")
    seen: set[Key] = set()
    for wish in wishes:
        wish.check(links_offered=links_offered)
        if wish.key in seen:
            raise InvalidArgument("pools", f"{wish.key} is named twice")
        seen.add(wish.key)
