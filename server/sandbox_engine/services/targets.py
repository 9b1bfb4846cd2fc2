"""Which pools there should be: the file's, until an operator says so by the API.

The first `PUT /v1/pools` writes the applied set beside the journal; from then on it wins
over the configuration file, at later starts too.  Deleting it returns to the file.  A
pool's warm-up belongs to the file in either case.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from sandbox_engine.config import PoolConfig
from sandbox_engine.errors import EngineError, InvalidArgument, TemplateNotFound
from sandbox_engine.model.idle_rule import IdleRule
from sandbox_engine.model.pool_wish import PoolTarget, PoolWish, check_wishes
from sandbox_engine.model.size import Key, Size, Sizes
from sandbox_engine.ports.ledger import Document
from sandbox_engine.services.pool import Pool
from sandbox_engine.services.pools import Pools

_log = structlog.get_logger(__name__)


class _Saved(Struct):
    pools: list[PoolWish]


class PoolTargets:
    """Applies targets to `Pools`."""

    def __init__(
        self,
        *,
        pools: Pools,
        sizes: Sizes,
        document: Document,
        config: Sequence[PoolConfig],
        links_offered: bool = False,
    ) -> None:
        """`links_offered` tells whether pools of the egress lane can be."""
        self._links_offered = links_offered
        self._pools, self._sizes, self._document = pools, sizes, document
        self._config = tuple(config)
        self._rules: dict[Key, IdleRule] = {}
        """Of every configured pool."""
        self.owned_by_api = False
        """Whether a set put by the API is in force."""

    async def start(self) -> None:
        """Make the pools.  Raises `InvalidArgument` for a saved set that cannot be read."""
        saved = self._document.load()
        self.owned_by_api = saved is not None
        if saved is None:
            targets = [pool.target() for pool in self._config]
        else:
            _log.info("the pools put by the API win over the configuration file")
            targets = [self._with_warmup(wish.target()) for wish in _read(saved)]
        self._rules = {target.key: target.idle for target in targets}
        for target in targets:
            await self._apply_if_possible(target)

    async def replace(self, wishes: list[PoolWish]) -> None:
        """Exactly these pools, durably; the others' idle VMs are destroyed.

        Raises `InvalidArgument`, also for a template that is not there, `NotOffered`, and
        what verification says; nothing is changed then.
        """
        check_wishes(wishes, links_offered=self._links_offered)
        targets = [self._with_warmup(wish.target()) for wish in wishes]
        for target in targets:
            try:
                await self._pools.normal(target.key.template, self._size(target.key))
            except TemplateNotFound as error:
                raise InvalidArgument("pools", f"bad key {target.key}: {error}") from error
        self._document.save(msgspec.json.encode({"pools": wishes}))
        self.owned_by_api = True
        self._rules = {target.key: target.idle for target in targets}
        await self._retire_but([await self._apply(target) for target in targets])

    async def reload(self, config: Sequence[PoolConfig]) -> tuple[list[str], list[str]]:
        """Follow a changed file: the settings (changed, ignored because the API owns them)."""
        before = {pool.target().key: pool.target() for pool in self._config}
        after = {pool.target().key: pool.target() for pool in config}
        self._config = tuple(config)
        changed: list[str] = []
        ignored: list[str] = []
        for key in sorted(before.keys() | after.keys(), key=str):
            old, new = before.get(key), after.get(key)
            if (old.warmup if old else ()) != (new.warmup if new else ()):
                changed.append(f"pools[{key}].warmup")
            if _numbers(old) != _numbers(new):
                words = f"pools[{key}] targets"
                if self.owned_by_api:
                    ignored.append(f"{words} (PUT /v1/pools owns them)")
                else:
                    changed.append(words)
        if self.owned_by_api:
            self._refresh_warmups()
        elif changed:
            self._rules = {key: target.idle for key, target in after.items()}
            await self._retire_but([await self._apply_if_possible(new) for new in after.values()])
        return changed, ignored

    def key(self, pool: Pool) -> Key:
        """What a pool is called by: its size's name where it has one."""
        size = pool.size or pool.baked
        label = pool.label or ("" if size is None else self._sizes.name_of(size))
        return Key(pool.template, pool.net, label)

    def idle_rule(self, key: Key, default: IdleRule) -> IdleRule:
        """What becomes of claims of a key: its pool's rule, or where that says nothing another."""
        for one in (key, Key(key.template, key.net, "")):
            if rule := self._rules.get(one):
                return rule
        return default

    def holds(self, key: Key) -> bool:
        """Whether a configured pool, or one that keeps VMs warm, has this key.

        A pool configured without a size has every key of its template.
        """
        if self.configured(key):
            return True
        return any(pool.target and self.key(pool) == key for pool in self._pools.all())

    def configured(self, key: Key) -> bool:
        """Whether a pool that somebody asked for has this key."""
        return not self._rules.keys().isdisjoint({key, Key(key.template, key.net, "")})

    async def _retire_but(self, kept: Sequence[Pool]) -> None:
        for pool in self._pools.all():
            if pool not in kept:
                await self._pools.retire(pool)

    async def _apply_if_possible(self, target: PoolTarget) -> Pool:
        """Of a file: a template that is not there, or not sound, may be built later."""
        try:
            return await self._apply(target)
        except EngineError as error:
            if not isinstance(error, TemplateNotFound):
                _log.error("a pool cannot be filled", pool=str(target.key), error=str(error))
            return self._configure(target, self._size(target.key))

    async def _apply(self, target: PoolTarget) -> Pool:
        size = self._size(target.key)
        if size is not None:
            size = await self._pools.normal(target.key.template, size)
        return self._configure(target, size)

    def _configure(self, target: PoolTarget, size: Size | None) -> Pool:
        pool = self._pools.configure(
            target.key.template,
            warm=target.warm,
            waiting=target.waiting,
            size=size,
            warm_max=target.warm_max,
            warmup=target.warmup,
            net=target.key.net,
        )
        pool.label = target.key.size
        return pool

    def _size(self, key: Key) -> Size | None:
        return self._sizes.get(key.size) if key.size else None

    def _with_warmup(self, target: PoolTarget) -> PoolTarget:
        for pool in self._config:
            if pool.target().key == target.key:
                return replace(target, warmup=tuple(pool.warmup), waiting=pool.waiting)
        return target

    def _refresh_warmups(self) -> None:
        for pool in self._pools.all():
            for entry in self._config:
                if entry.target().key == self.key(pool):
                    pool.warmup = tuple(entry.warmup)


def _numbers(target: PoolTarget | None) -> tuple[int, int, int, IdleRule] | None:
    return None if target is None else (target.warm, target.warm_max, target.waiting, target.idle)


def _read(saved: bytes) -> list[PoolWish]:
    try:
        return msgspec.json.decode(saved, type=_Saved).pools
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InvalidArgument("pools.json", f"cannot be read: {error}; delete it") from error
