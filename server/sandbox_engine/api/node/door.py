"""The node door as one part: the services that only it has, its table, its server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox_engine.api.node.app import NodeApi
from sandbox_engine.api.node.connection import Connection
from sandbox_engine.api.node.environment import EnvironmentCalls
from sandbox_engine.api.node.metadata import MetadataCalls
from sandbox_engine.api.node.node import NodeCalls
from sandbox_engine.api.node.previews import PreviewCalls
from sandbox_engine.api.node.routes import Routes
from sandbox_engine.api.node.sandboxes import ClaimCalls
from sandbox_engine.api.node.server import NodeServer
from sandbox_engine.api.node.states import StateCalls
from sandbox_engine.api.node.templates import TemplateCalls
from sandbox_engine.api.node.tenants import TenantCalls
from sandbox_engine.api.node.unserved import unserved
from sandbox_engine.api.node.views import NodeView
from sandbox_engine.api.node.volumes import VolumeCalls
from sandbox_engine.api.preview.server import PreviewServer
from sandbox_engine.config import Config
from sandbox_engine.ids import TokenMint
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.ledger import Document, Ledger
from sandbox_engine.services.access import Access
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.audit import Audit
from sandbox_engine.services.buffered import BufferedExecs
from sandbox_engine.services.claims import Claims
from sandbox_engine.services.egress import Egress
from sandbox_engine.services.environment import Environments
from sandbox_engine.services.instance_metadata import InstanceMetadata
from sandbox_engine.services.live_volumes import LiveVolumes
from sandbox_engine.services.metrics import Metrics
from sandbox_engine.services.node import Node
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.previews import Previews, PreviewSettings
from sandbox_engine.services.relay import Relays
from sandbox_engine.services.reload import Prepare, Reload
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.states import States
from sandbox_engine.services.targets import PoolTargets
from sandbox_engine.services.tenants import Tenants
from sandbox_engine.services.usage import Usage
from sandbox_engine.services.volumes import Volumes

OpenAudit = Callable[[bool | str], Ledger | None]
"""Opens the audit log that the setting names; none for False."""


class NodeDoor:
    """Made with the engine; `start()` once what an earlier engine left is adopted.

    Pools, usage and metrics are at work without a listener too.
    """

    def __init__(
        self,
        *,
        config: Config,
        config_path: Path | None,
        sandboxes: Sandboxes,
        pools: Pools,
        admission: Admission,
        node: Node,
        mint: TokenMint,
        clock: Clock,
        usage: Ledger,
        open_audit: OpenAudit,
        saved_pools: Document,
        saved_tenants: Document,
        states: States,
        volumes: Volumes,
        egress: Egress,
    ) -> None:
        self._sandboxes, self._admission = sandboxes, admission
        self._open_audit = open_audit
        sizes = config.size_table()
        advertise = (config.client_advertise or config.advertise_addr).rstrip("/")
        self._audit = Audit(open_audit(config.audit_log), clock)
        self.tenants = Tenants(
            document=saved_tenants,
            api_token=config.api_token,
            classes=lambda: frozenset(egress.policies.classes) if egress.offered else frozenset(),
            audit=self._audit,
        )
        admission.tenant_limit = self.tenants.max_claims
        self.claims = Claims(
            sandboxes=sandboxes,
            sizes=sizes,
            tenants=self.tenants,
            default_lease_s=config.default_lease_seconds,
            wait_s=config.claim_wait_seconds,
            egress=egress,
        )
        self.targets = PoolTargets(
            pools=pools,
            sizes=sizes,
            document=saved_pools,
            config=config.pools,
            links_offered=egress.links_offered,
        )
        egress.is_pooled = self.targets.configured
        self._usage = journal = Usage(usage, clock)
        self.reload = Reload(config_path, config, self.targets, egress, self._live_settings())
        metrics = Metrics(
            pools=pools, targets=self.targets, claims=self.claims, admission=admission
        )
        sandboxes.watchers += (journal, metrics)
        egress.records += (journal.egress, self._audit.egress)
        self._limits(config)()
        relays = Relays(sandboxes=sandboxes, claims=self.claims, audit=self._audit)
        previews = Previews(
            settings=_preview_settings(config, mint),
            claims=self.claims,
            relays=relays,
            clock=clock,
            audit=self._audit,
        )
        self._previews = PreviewServer(previews)
        sandboxes.volumes = volumes
        self.live_volumes = LiveVolumes(sandboxes=sandboxes, volumes=volumes, audit=self._audit)
        sandboxes.settle_volumes = self.live_volumes.stop
        claim_calls = ClaimCalls(
            claims=self.claims,
            execs=BufferedExecs(sandboxes=sandboxes, claims=self.claims, audit=self._audit),
            relays=relays,
            mint=mint,
            clock=clock,
            advertise=advertise,
        )
        view = NodeView(
            pools=pools,
            targets=self.targets,
            claims=self.claims,
            admission=admission,
            promotions=states.promotions,
            advertise=advertise,
        )
        node_calls = NodeCalls(
            node=node, view=view, targets=self.targets, metrics=metrics, reload=self.reload
        )
        states.promotions.is_pooled = self.targets.holds
        states.idling.runs_out = self.tenants.is_removed
        states.hibernation.check_unarchive = self.tenants.check_extends
        node_rule = config.idle_rule()
        states.idling.rule_of = lambda one: (
            node.idle_rule(one.spec.template)
            or self.targets.idle_rule(self.claims.key(one), node_rule)
        )
        environments = Environments(
            sandboxes=sandboxes,
            audit=self._audit,
            intercepted=egress.intercepted,
            changed=egress.revoke,
        )
        access = Access(config.api_token, mint, self.tenants)
        state_calls = StateCalls(
            claims=self.claims,
            states=states,
            access=access,
            tenants=self.tenants,
            advertise=advertise,
        )
        routes = Routes(
            [
                *claim_calls.routes(),
                *state_calls.routes(),
                *TemplateCalls(
                    claims=self.claims,
                    promotions=states.promotions,
                    access=access,
                    tenants=self.tenants,
                ).routes(),
                *node_calls.routes(),
                *PreviewCalls(previews=previews, access=access).routes(),
                *EnvironmentCalls(
                    environments=environments, claims=self.claims, access=access
                ).routes(),
                *MetadataCalls(InstanceMetadata(sandboxes=sandboxes, claims=self.claims)).routes(),
                *VolumeCalls(
                    volumes=volumes, changes=self.live_volumes, claims=self.claims, access=access
                ).routes(),
                *TenantCalls(tenants=self.tenants, claims=self.claims).routes(),
                *unserved(),
            ]
        )
        self._server = NodeServer(NodeApi(access, routes))

    @property
    def address(self) -> str:
        """`host:port` it listens on; empty without a listener."""
        return self._server.address

    @property
    def connections(self) -> set[Connection]:
        """Clients connected now."""
        return self._server.open

    @property
    def preview_address(self) -> str:
        """`host:port` where browsers reach previews; empty without a listener."""
        return self._previews.address

    async def start(self, listen: str = "", preview_listen: str = "") -> None:
        """Listen where addresses are given, and fill the pools.  Raises `InvalidArgument`."""
        self.live_volumes.resume(self._sandboxes.all_live())
        if preview_listen:
            await self._previews.start(preview_listen)
        if listen:
            await self._server.start(listen)
        await self.targets.start()

    async def stop(self) -> None:
        """Take no more calls, end the rest.  Idempotent."""
        await self._server.stop()
        await self._previews.stop()

    def _live_settings(self) -> dict[str, Prepare]:
        return {
            "max_claims": self._limits,
            "release_delay_seconds": self._limits,
            "claim_wait_seconds": self._limits,
            "audit_log": self._audit_log,
            "egress_usage_bytes": self._limits,
            "allowed_services": self._limits,
        }

    def _limits(self, config: Config) -> Callable[[], None]:
        def apply() -> None:
            self._admission.max_claims = config.max_claims
            self._sandboxes.release_delay_s = config.release_delay_seconds
            self.claims.wait_s = config.claim_wait_seconds
            self._usage.egress_bytes = config.egress_usage_bytes
            self._sandboxes.allowed_services = tuple(config.allowed_services)

        return apply

    def _audit_log(self, config: Config) -> Callable[[], None]:
        ledger = self._open_audit(config.audit_log)
        return lambda: self._audit.write_to(ledger)


def _preview_settings(config: Config, mint: TokenMint) -> PreviewSettings:
    secret = config.preview_secret
    return PreviewSettings(
        listen=config.preview_listen,
        secret=secret.encode() if secret else mint.key_for("preview"),
        advertise=config.preview_advertise,
        owner=config.advertise_addr,
    )
