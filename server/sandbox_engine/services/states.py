"""Everything that saves sandboxes and makes them of what was saved, put together once."""

from __future__ import annotations

from sandbox_engine.model.idle_rule import IdleRule
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.journal import Journal
from sandbox_engine.ports.snapshots import SnapshotStore
from sandbox_engine.ports.templates import TemplateVault
from sandbox_engine.ports.vmm import Platform
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.checkpoints import Checkpoints
from sandbox_engine.services.forks import Forks, Hatchery
from sandbox_engine.services.hibernation import Hibernation
from sandbox_engine.services.idling import Idling
from sandbox_engine.services.pool import CreationBudget
from sandbox_engine.services.promotions import Promotions
from sandbox_engine.services.restarts import Restarts
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.saving import Saver
from sandbox_engine.services.vms import VmFactory


class States:
    """What the doors call."""

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        factory: VmFactory,
        journal: Journal,
        store: SnapshotStore,
        vault: TemplateVault,
        platform: Platform,
        clock: Clock,
        admission: Admission,
        budget: CreationBudget,
        default_lease_s: int,
        max_fork_count: int,
        checkpoint_ttl_s: float,
        idle_rule: IdleRule,
        restart_budget: int,
    ) -> None:
        saver = Saver(
            sandboxes=sandboxes,
            factory=factory,
            journal=journal,
            store=store,
            vault=vault,
            platform=platform,
            clock=clock,
        )
        hatchery = Hatchery(
            sandboxes=sandboxes,
            saver=saver,
            factory=factory,
            admission=admission,
            budget=budget,
        )
        self.hibernation = Hibernation(
            sandboxes=sandboxes, saver=saver, store=store, factory=factory, clock=clock
        )
        self.restarts = Restarts(sandboxes, self.hibernation, budget, limit=restart_budget)
        self.idling = Idling(sandboxes, self.hibernation, idle_rule)
        self.forks = Forks(
            sandboxes=sandboxes,
            saver=saver,
            hatchery=hatchery,
            default_lease_s=default_lease_s,
            max_count=max_fork_count,
        )
        self.promotions = Promotions(
            sandboxes=sandboxes, saver=saver, hatchery=hatchery, store=store, clock=clock
        )
        sandboxes.promoted = self.promotions
        self.checkpoints = Checkpoints(
            sandboxes=sandboxes,
            saver=saver,
            hatchery=hatchery,
            store=store,
            clock=clock,
            default_lease_s=default_lease_s,
            ttl_s=checkpoint_ttl_s,
        )
