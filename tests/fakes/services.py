"""The engine's services over fakes, wired as the daemon wires them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from sandbox_engine.guest.channel import Connector
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.idle_rule import NO_RULE
from sandbox_engine.model.sandbox import Sandbox, SandboxSpec
from sandbox_engine.model.workspace import MAX_TTL_S
from sandbox_engine.observe.tasks import settle
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import Files
from sandbox_engine.services.leases import Reaper
from sandbox_engine.services.pool import CreationBudget, Pool
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.recovery import Recovery
from sandbox_engine.services.requests import Requests
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.services.states import States
from sandbox_engine.services.vms import VmFactory, VmUids
from sandbox_engine.services.workspaces import Workspaces
from sandbox_engine.storage.snapshots import DirectoryStore
from sandbox_engine.templates.pins import Pins

from tests.fakes.clock import FakeClock
from tests.fakes.guest import FakeGuest
from tests.fakes.journal import FakeJournal
from tests.fakes.steps import Steps
from tests.fakes.templates import FakeVault
from tests.fakes.vmm import FakeDriver, FakeHost, FakeProcess
from tests.fakes.volumes import FakeVolumes

TEMPLATE = "base"
OPERATOR = Caller(name="operator")
UID_BASE, UID_COUNT = 720_000, 64


class Services:
    """One engine: what it is made of, and helpers to ask it."""

    def __init__(
        self,
        folder: Path,
        *,
        host: FakeHost | None = None,
        journal: FakeJournal | None = None,
        clock: FakeClock | None = None,
        volumes: FakeVolumes | None = None,
        default_warm: int = 0,
        budget: int = 2,
        node: int = 64,
        per_session: int = 64,
        per_uid: int = 64,
        allowed_services: tuple[str, ...] = (),
        restart_budget: int = 0,
    ) -> None:
        self.folder = folder
        self._restart_budget = restart_budget
        self.root = folder / "vms"
        self.root.mkdir(exist_ok=True)
        self._aside = folder / "aside"
        self._saved = folder / "snapshots"
        self._found = FakeJournal()
        self.clock = clock or FakeClock()
        self.journal = journal or FakeJournal()
        self.driver = FakeDriver(host)
        self.host = self.driver.host
        self.vault = FakeVault(folder, TEMPLATE, "other")
        self.pins = Pins(folder / "pins")
        self.store = DirectoryStore(self._saved, self.pins)
        self.uids = VmUids(UID_BASE, UID_COUNT)
        self.factory = VmFactory(
            driver=self.driver,
            connector=Connector(),
            journal=self.journal,
            root=self.root,
            uids=self.uids,
        )
        self.pools = Pools(
            vault=self.vault,
            factory=self.factory,
            budget=CreationBudget(budget),
            default_warm=default_warm,
        )
        self.admission = Admission(node=node, per_session=per_session, per_uid=per_uid)
        self.volumes = volumes or FakeVolumes(folder / "volumes")
        self.workspaces = Workspaces(
            volumes=self.volumes,
            journal=self.journal,
            clock=self.clock,
            size_bytes=1 << 20,
            max_ttl_s=MAX_TTL_S,
        )
        self.requests = Requests(self.journal, self.clock)
        self.sandboxes = Sandboxes(
            pools=self.pools,
            factory=self.factory,
            admission=self.admission,
            journal=self.journal,
            snapshots=self.store,
            pins=self.pins,
            requests=self.requests,
            clock=self.clock,
            mint=TokenMint(bytes(32)),
            allowed_services=allowed_services,
            default_lease_s=300,
            workspaces=self.workspaces,
        )
        self.states = States(
            sandboxes=self.sandboxes,
            factory=self.factory,
            journal=self.journal,
            store=self.store,
            vault=self.vault,
            platform=self.driver.platform,
            clock=self.clock,
            admission=self.admission,
            budget=CreationBudget(budget),
            default_lease_s=300,
            max_fork_count=4,
            checkpoint_ttl_s=0,
            idle_rule=NO_RULE,
            restart_budget=restart_budget,
        )
        self.reaper = Reaper(self.sandboxes, self.clock)
        self.recovery = Recovery(
            journal=self.journal,
            factory=self.factory,
            admission=self.admission,
            sandboxes=self.sandboxes,
            store=self.store,
            pins=self.pins,
            workspaces=self.workspaces,
        )
        self.sessions = Sessions(self.sandboxes)
        self.execs, self.files = Execs(self.sandboxes), Files(self.sandboxes)

    # -- asking it ---------------------------------------------------------------

    @property
    def steps(self) -> Steps:
        """Of the driver and its machines."""
        return self.driver.steps

    def pool(self, *, warm: int = 1, waiting: int = 0, template: str = TEMPLATE) -> Pool:
        """Configure a pool."""
        return self.pools.configure(template, warm=warm, waiting=waiting)

    async def create(
        self, caller: Caller = OPERATOR, *, ttl_s: int = 0, request_id: str = "", **fields: Any
    ) -> Sandbox:
        """A sandbox, waited for if none is warm."""
        created = await self.sandboxes.create(
            caller, spec(**fields), ttl_s=ttl_s, request_id=request_id
        )
        return created.sandbox

    def process(self, sandbox: Sandbox) -> FakeProcess:
        """The machine of a sandbox."""
        return self.host.named(sandbox.vm)

    def guest(self, sandbox: Sandbox) -> FakeGuest:
        """Its guest."""
        return self.process(sandbox).guest

    # -- its end -----------------------------------------------------------------

    async def close(self) -> None:
        """Stop in order, every sandbox destroyed."""
        self.steps.release_all()
        await self.pools.close()
        for sandbox in self.sandboxes.visible(OPERATOR):
            await self.sandboxes.destroy(OPERATOR, sandbox.id)
        await settle()
        for _ in range(3):  # a transport that was closed is gone some turns later
            await asyncio.sleep(0)

    def left(self) -> dict[str, object]:
        """What of it there still is; empty when nothing is."""
        found: dict[str, object] = {
            "processes": [process.spec.name for process in self.host.processes.values()],
            "folders": sorted(path.name for path in self.root.iterdir()),
            "VMs on record": [row.name for row in self.journal.vms()],
            "sandboxes on record": [one.id for one in self.journal.sandboxes()],
            "sandboxes counted": self.admission.total,
            "uids": sorted(self.uids._used),
        }
        return {what: there for what, there in found.items() if there}

    # -- its death ---------------------------------------------------------------

    def cut_off(self) -> None:
        """From this moment on it is dead: its record and its host stay as they are now."""
        self._found = self.journal.reopen()
        self.root.rename(self._aside)
        self._saved.rename(self.folder / "saved")
        self.driver.cut_off = True
        for process in self.host.processes.values():
            process.forget_watchers()

    async def successor(self) -> Services:
        """The engine that starts after `cut_off()`; it has not recovered anything yet."""
        self.steps.release_all()
        await self.pools.close()
        await settle()
        for process in self.host.processes.values():
            process.guest.hang_up()
        self._aside.rename(self.root)
        (self.folder / "saved").rename(self._saved)
        return Services(
            self.folder,
            host=self.host,
            journal=self._found,
            clock=self.clock,
            volumes=self.volumes,
            restart_budget=self._restart_budget,
        )


def spec(**fields: Any) -> SandboxSpec:
    """A request that waits for a VM."""
    return SandboxSpec(**{"template": TEMPLATE, "pool_wait_ms": 60_000, **fields})
