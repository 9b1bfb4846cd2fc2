"""A claim's environment while it lives: shown, replaced, merged.

It is kept with the claim.  What only the host may know takes effect with the proxy's
next request, whatever state the guest is in; what the guest is given needs one that
runs, and is written to it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import structlog
from msgspec.structs import replace

from sandbox_engine.errors import EngineError, GuestUnavailable, StateConflict
from sandbox_engine.model.environment import (
    Env,
    EnvEntry,
    check_environment,
    guest_part,
    host_part,
    merged,
    shown,
    whole,
)
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.claims import NODE
from sandbox_engine.services.sandboxes import Sandboxes

_log = structlog.get_logger(__name__)


class Environments:
    """Reads and changes environments of live claims."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        audit: Audit,
        intercepted: Callable[[Sandbox], Collection[str]],
        changed: Callable[[Sandbox], None] = lambda _: None,
    ) -> None:
        """`intercepted` tells the hosts into whose requests a claim's proxy can put values;
        `changed` is called once other values count.
        """
        self._changed = changed
        self._sandboxes, self._audit, self._intercepted = sandboxes, audit, intercepted

    def shown(self, sandbox: Sandbox) -> dict[str, Any]:
        """It, with every value blank that the guest has not."""
        return shown(current(sandbox))

    async def put(self, sandbox: Sandbox, env: Env) -> None:
        """Exactly this.

        Raises `InvalidArgument`; `StateConflict` where the guest's part changes and the
        guest does not run; nothing is changed then.  Raises `EngineError` where it is
        stored and the guest was not reached: then put it again.
        """
        check_environment(env, self._intercepted(sandbox))
        before = current(sandbox)
        guest = guest_part(env)
        guest_changes = guest != guest_part(before)
        runs = sandbox.state in (State.RUNNING, State.SAVING)
        if guest_changes and sandbox.state is not State.RUNNING:
            raise StateConflict(have=sandbox.state.value, given="change the guest's env of")
        same = dict(env) == before
        if not same:
            self._store(sandbox, guest, host_part(env))
        if guest_changes or (same and runs):
            await self._write(sandbox, guest)

    async def patch(self, sandbox: Sandbox, patch: dict[str, EnvEntry | None]) -> None:
        """Set some entries, remove some, keep the rest.  Raises as `put()`."""
        await self.put(sandbox, merged(current(sandbox), patch))

    def _store(self, sandbox: Sandbox, guest: dict[str, str], host: dict[str, EnvEntry]) -> None:
        assert sandbox.claim is not None  # the door finds claims only
        before = sandbox.spec, sandbox.claim
        sandbox.spec = replace(sandbox.spec, env=guest)
        sandbox.claim = replace(sandbox.claim, host_env=host)
        try:
            self._sandboxes.keep(sandbox)
        except EngineError:
            sandbox.spec, sandbox.claim = before
            raise
        self._changed(sandbox)
        self._audit.call(sandbox.id, {"op": "env"})

    async def _write(self, sandbox: Sandbox, guest: dict[str, str]) -> None:
        try:
            channel = self._sandboxes.channel(NODE, sandbox.id, passive=True)
            env = self._sandboxes.network.given(sandbox) | guest
            await channel.call({"op": "configure", "env": env})
        except GuestUnavailable as error:
            _log.warning("an env was not written", sandbox=sandbox.id, error=str(error))
            raise EngineError(
                f"the env is stored, but the guest was not reached: {error}; send it again"
            ) from error


def current(sandbox: Sandbox) -> dict[str, EnvEntry]:
    """A claim's environment, host-only values included: for rules and the proxy, for no door."""
    host = {} if sandbox.claim is None else sandbox.claim.host_env
    return whole(sandbox.spec.env, host)
