"""Reads the configuration file again and applies what can change while the node runs.

All of it or nothing: a file that cannot be read, or one that changes what only a restart
can change, leaves everything as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import structlog
from msgspec import Struct

from sandbox_engine.config import Config, load
from sandbox_engine.errors import EngineError, InvalidArgument, NeedsRestart
from sandbox_engine.services.egress import Egress, policies_of
from sandbox_engine.services.targets import PoolTargets

Prepare = Callable[[Config], Callable[[], None]]
"""Makes ready what a new value needs, and may fail; what it returns puts it into force."""
_POLICIES = ("allowed_services", "egress_classes")
_log = structlog.get_logger(__name__)


class Reloaded(Struct, frozen=True):
    """What a reload did."""

    changed: list[str]
    ignored: list[str]


class Reload:
    """One at a time; the caller is the API or SIGHUP."""

    def __init__(
        self,
        path: Path | None,
        current: Config,
        targets: PoolTargets,
        egress: Egress,
        live: Mapping[str, Prepare],
    ) -> None:
        """`live` has the fields that can change, beside `pools` and the policies of egress."""
        self._path, self._current, self._targets = path, current, targets
        self._egress = egress
        self._live = live
        self._turn = asyncio.Lock()

    async def run(self) -> Reloaded:
        """Reload.  Raises `InvalidArgument` (the file is bad) or `NeedsRestart`."""
        async with self._turn:
            if self._path is None:
                raise InvalidArgument("config", "the node runs without a configuration file")
            fresh = load(self._path)
            fields = [
                name
                for name in Config.__struct_fields__
                if getattr(fresh, name) != getattr(self._current, name)
            ]
            known = {"pools", *_POLICIES, *self._live}
            fixed = [name for name in fields if name not in known]
            if fixed:
                raise NeedsRestart(fixed)
            return await self._apply(fresh, fields)

    async def _apply(self, fresh: Config, fields: list[str]) -> Reloaded:
        simple = [name for name in fields if name != "pools"]
        for put_into_force in [self._live[name](fresh) for name in simple if name in self._live]:
            put_into_force()
        changed = simple
        ignored: list[str] = []
        if "pools" in fields:
            more, ignored = await self._targets.reload(fresh.pools)
            changed = sorted(simple + more)
        if not {"pools", *_POLICIES}.isdisjoint(fields):
            changed = sorted(changed + self._egress.reload(policies_of(fresh)))
        self._current = fresh
        _log.info("configuration reloaded", changed=changed, ignored=ignored)
        return Reloaded(changed, ignored)

    async def run_by_signal(self) -> None:
        """Reload and log how that went."""
        try:
            await self.run()
        except EngineError as error:
            _log.error("the configuration was not reloaded", error=str(error))
