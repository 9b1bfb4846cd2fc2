"""Who a guest is and what it may reach, as the broker is told; and what it then did.

The broker holds credentials and decides what leaves; the engine holds none and knows
whose every connection is.  What a sandbox may reach is settled when it is made: its
record has a copy of its policy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from sandbox_engine.config import Config
from sandbox_engine.errors import SandboxNotFound, Unauthenticated
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.egress import effective
from sandbox_engine.model.egress_rules import (
    Authorization,
    Named,
    Policy,
    Secret,
    claim_rules,
    intercepted,
    session_rules,
)
from sandbox_engine.model.machine import ENDED
from sandbox_engine.model.sandbox import Created, Sandbox, SandboxSpec
from sandbox_engine.model.size import DEFAULT_NET, EGRESS_NET, Key
from sandbox_engine.services.registry import Registry
from sandbox_engine.services.watching import Copy, End, Shelf

BROKER = Caller(name="broker")


class EgressEvent(Struct, frozen=True, kw_only=True):
    """One decision of the broker, with the bytes it moved."""

    sandbox_id: str
    host: str
    port: int
    decision: str
    secrets: tuple[str, ...] = ()
    """Names, never values."""
    upstream: str = ""
    sent_bytes: int = 0
    received_bytes: int = 0


class Policies(Struct, frozen=True, kw_only=True):
    """The node's layers, as its configuration has them."""

    allowed_services: tuple[str, ...] = ()
    pools: dict[Key, Policy] = {}
    classes: dict[str, Policy] = {}

    def of_pool(self, key: Key) -> Policy | None:
        """A pool's; one that is configured without a size has every size of its template."""
        return self.pools.get(key) or self.pools.get(Key(key.template, key.net, ""))

    def of_claim(
        self, key: Key, tenant: str | None, egress_class: str, *, pooled: bool
    ) -> tuple[Named, ...]:
        """A pool's rules, narrowed by the tenant's class; the operator's own have no tenant."""
        pool = self.of_pool(key)
        layer = pool if tenant is None else self.classes.get(egress_class)
        return claim_rules(pool, layer, pooled=pooled or tenant is None)


Record = Callable[[Sandbox, EgressEvent], None]
"""Writes one event into a journal.  Must not wait and must not raise."""


class Egress:
    """Answers the broker.  Also a `services.watching.Watcher`."""

    def __init__(
        self, *, policies: Policies, mint: TokenMint, offered: bool, links_offered: bool = False
    ) -> None:
        self.policies, self._mint = policies, mint
        self.offered = offered
        """Whether this node has a broker at all."""
        self.links_offered = links_offered
        """Whether it gives guests a network interface too."""
        self.is_pooled: Callable[[Key], bool] = lambda _: True
        """Whether a key is a configured pool's; the node door knows."""
        self.registry: Registry | None = None
        """Set once both exist."""
        self.records: list[Record] = []
        self._watches: set[asyncio.Queue[str]] = set()

    def addresses(self) -> frozenset[str]:
        """Of every guest that has one, asleep or not."""
        there = [] if self.registry is None else self.registry.visible(BROKER)
        return frozenset(sandbox.address for sandbox in there if sandbox.address)

    def settle(self, sandbox: Sandbox) -> None:
        """Copy the policy into the record of a sandbox that is being made."""
        if (claim := sandbox.claim) is not None:
            pooled = self.is_pooled(claim.key(sandbox.spec.template))
            sandbox.claim = replace(claim, pooled=pooled)
        sandbox.egress = self._entries(sandbox.spec)
        sandbox.net = self.lane(sandbox.spec, sandbox.claim)
        sandbox.net_route = self.route(sandbox)

    def lane(self, spec: SandboxSpec, claim: Claim | None) -> str:
        """Its network lane: what a claim's key says; of others what they ask for or there is."""
        if claim is not None:
            return claim.net
        return spec.net or (EGRESS_NET if self.links_offered else DEFAULT_NET)

    def has_link(self, spec: SandboxSpec, claim: Claim | None, before: Sandbox | None) -> bool:
        """Whether a guest gets an interface: none where its policy is empty.

        `before` is the sandbox, where it is one already.
        """
        lane = self.lane(spec, claim) if before is None else before.net
        if lane != EGRESS_NET or not self.links_offered:
            return False
        if before is not None:
            return bool(self.rules(before))
        if claim is not None:
            claim = replace(claim, pooled=self.is_pooled(claim.key(spec.template)))
        return bool(self._rules(spec, claim, self._entries(spec)))

    def _entries(self, spec: SandboxSpec) -> tuple[str, ...]:
        allowed = self.policies.allowed_services
        return effective(spec.egress_allow, allowed, deny_all=spec.egress_deny_all)

    # -- rules -------------------------------------------------------------------

    def rules(self, sandbox: Sandbox) -> tuple[Named, ...]:
        """What it may reach now: its own copy, narrowed by what the node still allows."""
        return self._rules(sandbox.spec, sandbox.claim, sandbox.egress)

    def _rules(
        self, spec: SandboxSpec, claim: Claim | None, entries: tuple[str, ...]
    ) -> tuple[Named, ...]:
        if not self.offered or spec.egress_deny_all:
            return ()
        if claim is None:
            return session_rules(entries, self.policies.allowed_services)
        if not claim.egress:
            return ()
        key = claim.key(spec.template)
        return self.policies.of_claim(key, claim.tenant, claim.egress_class, pooled=claim.pooled)

    def claim_rules(self, key: Key, tenant: str | None, egress_class: str) -> tuple[Named, ...]:
        """What a claim of `key` would get."""
        if not self.offered:
            return ()
        return self.policies.of_claim(key, tenant, egress_class, pooled=self.is_pooled(key))

    def intercepted(self, sandbox: Sandbox) -> frozenset[str]:
        """Hosts into whose requests its values can be put."""
        return intercepted(self.rules(sandbox))

    def route(self, sandbox: Sandbox) -> str:
        """How its guest reaches the network (seed `net_route`)."""
        return "relay" if self.rules(sandbox) else "none"

    def doors(self, sandbox: Sandbox) -> list[str]:
        """Which doors its guest opens."""
        if not self.rules(sandbox):
            return []
        claim = sandbox.claim
        if claim is None:
            return ["http"]
        pool = self.policies.of_pool(claim.key(sandbox.spec.template))
        return ["http", "socks"] if pool is not None and pool.socks else ["http"]

    # -- the broker asks ---------------------------------------------------------

    def by_token(self, token: str) -> Authorization:
        """Who presents this session token.  Raises `Unauthenticated`."""
        sandbox_id = self._mint.session_owner(token)
        if sandbox_id is None:
            raise Unauthenticated("the session token is not known")
        return self.by_id(sandbox_id)

    def by_id(self, sandbox_id: str) -> Authorization:
        """Whose channel the connection came by.  Raises `Unauthenticated`."""
        sandbox = self._sandbox(sandbox_id)
        if sandbox is None:
            raise Unauthenticated("the sandbox is gone")
        claim = sandbox.claim
        secrets = {} if claim is None else claim.host_env
        return Authorization(
            sandbox_id=sandbox.id,
            number=sandbox.number,
            tenant=(claim.tenant if claim is not None else None) or "",
            rules=self.rules(sandbox),
            address=sandbox.address,
            secrets=tuple(Secret(name=name, entry=entry) for name, entry in secrets.items()),
        )

    async def revocations(self) -> AsyncGenerator[list[str], None]:
        """Ids whose answers no longer hold, as it happens; the first list is empty."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._watches.add(queue)
        try:
            yield []
            while True:
                ids = [await queue.get()]
                while not queue.empty():
                    ids.append(queue.get_nowait())
                yield ids
        finally:
            self._watches.discard(queue)

    def report(self, events: Iterable[EgressEvent]) -> None:
        """What was decided and moved; an event of a sandbox that is gone is dropped."""
        for event in events:
            sandbox = self._sandbox(event.sandbox_id, ended=True)
            if sandbox is not None:
                for record in self.records:
                    record(sandbox, event)

    def reload(self, policies: Policies) -> list[str]:
        """Put other layers into force, for live sandboxes too: from their next request on.

        The pools whose layer is another one now.
        """
        before, self.policies = self.policies, policies
        keys = before.pools.keys() | policies.pools.keys()
        changed = [key for key in keys if before.pools.get(key) != policies.pools.get(key)]
        for sandbox in [] if self.registry is None else self.registry.visible(BROKER):
            self.revoke(sandbox)
        return sorted(f"pools[{key}].egress" for key in changed)

    def revoke(self, sandbox: Sandbox) -> None:
        """Whatever the broker keeps of it no longer holds."""
        for queue in self._watches:
            queue.put_nowait(sandbox.id)

    def _sandbox(self, sandbox_id: str, *, ended: bool = False) -> Sandbox | None:
        if self.registry is None:
            return None
        try:
            sandbox = self.registry.get(BROKER, sandbox_id)
        except SandboxNotFound:
            return None
        return sandbox if ended or sandbox.state not in ENDED else None

    # -- services.watching.Watcher -----------------------------------------------

    def created(self, created: Created, took_s: float) -> None:
        """Nothing is kept of it before it is asked for."""

    def ended(self, sandbox: Sandbox, end: End) -> None:  # noqa: ARG002 - of the protocol
        """Its token is nobody's from here on."""
        self.revoke(sandbox)

    def hibernated(self, sandbox: Sandbox) -> None:
        """It stays who it is; its connections end with its channel."""

    def woke(self, sandbox: Sandbox, took_s: float) -> None:  # noqa: ARG002 - of the protocol
        """As before, but for its address perhaps."""
        self.revoke(sandbox)

    def shelved(self, sandbox: Sandbox, shelf: Shelf) -> None:
        """It stays who it is."""

    def restarted(self, sandbox: Sandbox) -> None:
        """As before, but for its address perhaps."""
        self.revoke(sandbox)

    def copied(self, sandbox: Sandbox, copy: Copy, what: str, children: int = 0) -> None:
        """The children have tokens of their own."""

    def vm_exited(self, sandbox: Sandbox) -> None:
        """It may be started again, as itself."""

    def gave_up(self, sandbox: Sandbox) -> None:
        """As above."""


def policies_of(config: Config) -> Policies:
    """The layers of a configuration."""
    return Policies(
        allowed_services=tuple(config.allowed_services),
        pools={
            Key(pool.template, pool.net, pool.size): pool.egress
            for pool in config.pools
            if pool.egress is not None
        },
        classes=config.egress_classes,
    )


def egress_of(config: Config, mint: TokenMint) -> Egress:
    """The egress that a configuration asks for."""
    return Egress(
        policies=policies_of(config),
        mint=mint,
        offered=bool(config.broker_socket),
        links_offered=bool(config.broker_port),
    )
