"""A node with real services and a real door over machines that are none.

It runs on uvloop in a thread of its own, as the daemon does in its process; tests are
clients with plain sockets.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import uvloop
from sandbox_engine.api.node.door import NodeDoor
from sandbox_engine.config import Config
from sandbox_engine.guest.channel import Connector
from sandbox_engine.ids import TokenMint
from sandbox_engine.journal.ledger import FileDocument, LineFile
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.model.caller import Caller
from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.workspace import MAX_TTL_S
from sandbox_engine.observe.tasks import cancel, spawn
from sandbox_engine.services import node as services
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.egress import egress_of
from sandbox_engine.services.leases import Reaper
from sandbox_engine.services.network import GuestNetwork
from sandbox_engine.services.pool import CreationBudget
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.requests import Requests
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.states import States
from sandbox_engine.services.vms import VmFactory, VmUids
from sandbox_engine.services.volumes import Volumes
from sandbox_engine.services.workspaces import Workspaces
from sandbox_engine.storage.snapshots import DirectoryStore
from sandbox_engine.storage.volumes import FileImages
from sandbox_engine.templates.pins import Pins

from tests.engine.node.machines import PLATFORM, FakeDriver, FakeMachine, FakeVault
from tests.fakes.links import FakeLinks
from tests.fakes.volumes import FakeVolumes
from tests.support.node import ROOT, Node

_T = TypeVar("_T")
NODE = Caller(name="test")
TINY = {"template": "base", "size": "tiny"}
"""A claim of the size the fake templates are baked with."""


class SetClock:
    """`ports.clock.Clock`, moved by hand."""

    def __init__(self) -> None:
        self.at = 1_790_000_000.0

    def now(self) -> float:
        return self.at


class World(Node):
    """The node, its clients' helpers, and its insides for arranging bad days."""

    def __init__(self, folder: Path, **config: Any) -> None:
        super().__init__("127.0.0.1:0", timeout_s=30)
        self.folder = folder
        self.config_file = folder / "config.json"
        settings: dict[str, Any] = {
            "data_dir": str(folder),
            "listen": "127.0.0.1:0",
            "api_token": ROOT,
            "sizes": {"tiny": {"cpus": 1, "memory_mib": 256}},
            "restart_budget": 0,  # what fails is looked at
            **config,
        }
        self.settings = settings
        self.write_config()
        self.config = msgspec.json.decode(self.config_file.read_bytes(), type=Config)
        self.clock = SetClock()
        self.skipped_s = 0.0
        self._loop = uvloop.new_event_loop()
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="world", daemon=True)

    def write_config(self, **changes: Any) -> None:
        """Write the configuration file, for a reload."""
        self.config_file.write_text(json.dumps(self.settings | changes))

    # -- the node ----------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(30)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run `work` in the node's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()
            self._loop.close()

    def _build(self) -> None:
        config, data = self.config, self.folder
        self.driver, self.vault = FakeDriver(), FakeVault(data)
        self.journal = SqliteJournal(data / "journal.db")
        (data / "vms").mkdir(exist_ok=True)
        pins = Pins(data / "pins")
        self.store = DirectoryStore(data / "snapshots", pins)
        budget = CreationBudget(2)
        factory = VmFactory(
            driver=self.driver,
            connector=Connector(),
            journal=self.journal,
            root=data / "vms",
            uids=VmUids(710_000, 4096),
        )
        self.pools = Pools(vault=self.vault, factory=factory, budget=budget, default_warm=1)
        self.admission = Admission(node=config.max_sandboxes, per_session=128, per_uid=512)
        mint = TokenMint.load(data / "node.key")
        self.sandboxes = Sandboxes(
            pools=self.pools,
            factory=factory,
            admission=self.admission,
            journal=self.journal,
            snapshots=self.store,
            pins=pins,
            requests=Requests(self.journal, self.clock),
            clock=self.clock,
            mint=mint,
            allowed_services=(),
            default_lease_s=config.default_lease_seconds,
            workspaces=Workspaces(
                volumes=FakeVolumes(data / "workspaces"),
                journal=self.journal,
                clock=self.clock,
                size_bytes=1 << 20,
                max_ttl_s=MAX_TTL_S,
            ),
        )
        self.states = States(
            sandboxes=self.sandboxes,
            factory=factory,
            journal=self.journal,
            store=self.store,
            vault=self.vault,
            platform=PLATFORM,
            clock=self.clock,
            admission=self.admission,
            budget=budget,
            default_lease_s=config.default_lease_seconds,
            max_fork_count=config.max_fork_count,
            checkpoint_ttl_s=config.checkpoint_ttl_hours * 3600,
            idle_rule=config.idle_rule(),
            restart_budget=config.restart_budget,
        )
        self.links = FakeLinks()
        self.reaper = Reaper(self.sandboxes, self.clock)
        self.reaper.archiver = self.states.idling
        self.usage = LineFile(data / "usage.jsonl")
        # As the daemon does it, for a configuration with a broker.
        self.egress = egress_of(config, mint)
        self.egress.registry = self.sandboxes
        self.sandboxes.watchers.append(self.egress)
        if self.egress.offered:
            self.sandboxes.network = GuestNetwork(self.egress, mint, factory, config.broker_port)
        if config.broker_port:
            factory.links = self.links
        self.door = NodeDoor(
            config=config,
            config_path=self.config_file,
            sandboxes=self.sandboxes,
            pools=self.pools,
            admission=self.admission,
            node=services.Node(
                pools=self.pools,
                admission=self.admission,
                platform=PLATFORM,
                accel="tcg",
                accel_reason="",
                cgroups="none",
                clock=self.clock,
            ),
            mint=mint,
            clock=self.clock,
            usage=self.usage,
            open_audit=lambda setting: LineFile(data / "audit.jsonl") if setting else None,
            saved_pools=FileDocument(data / "pools.json"),
            volumes=Volumes((one.entry() for one in config.volumes), FileImages()),
            saved_tenants=FileDocument(data / "tenants.json", 0o600),
            states=self.states,
            egress=self.egress,
        )

    async def _main(self) -> None:
        self._build()
        await self.door.start(self.config.listen, self.config.preview_listen)
        host, _, port = self.door.address.rpartition(":")
        self.address = (host, int(port))
        reaper = spawn(self.reaper.run(), name="reaper")
        self._ready.set()
        await self._stop.wait()
        self.sandboxes.hurry()
        self.states.restarts.stop()
        await self.door.stop()
        await cancel(reaper)
        await self.pools.close()
        for sandbox in list(self.sandboxes.visible(NODE)):
            await self.sandboxes.destroy(NODE, sandbox.id)
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        self.journal.close()
        self.usage.close()

    # -- its clients -------------------------------------------------------------

    def claim(self, template: str = "base", **fields: Any) -> Any:
        """A claim of the size the fake templates are baked with, unless told otherwise."""
        return super().claim(template, **({"size": "tiny"} | fields))

    # -- its insides -------------------------------------------------------------

    def machine(self, claim: Any) -> FakeMachine:
        """The machine of a claim."""
        return self.driver.machines["vm-" + claim["id"].removeprefix("sb_")]

    def claims(self) -> list[Sandbox]:
        """The live claims' records."""

        async def read() -> list[Sandbox]:
            return list(self.door.claims.all())

        return self.call(read())

    def journal_state(self, sandbox_id: str) -> str:
        """The state that a restart would find."""

        async def read() -> str:
            found = [one.state.value for one in self.journal.sandboxes() if one.id == sandbox_id]
            return found[0] if found else "gone"

        return self.call(read())

    async def look_at_leases(self) -> None:
        """Have the reaper look at the clock, which was moved."""
        self.sandboxes.on_lease()

    def look_at_idlers(self) -> None:
        """Have the sweep for idle claims look at the clock."""

        async def look() -> None:
            self.states.idling.sweep()

        self.call(look())

    def open_connections(self) -> int:
        """Clients connected now."""
        return len(self.door.connections)

    def holds(self, claim: Any) -> int:
        """Uses that hold a claim's idle clock."""

        async def read() -> int:
            return self.sandboxes.idle(NODE, claim["id"]).holds

        return self.call(read())

    def idle_s(self, claim: Any) -> float:
        """How long a claim has been left alone."""

        async def read() -> float:
            return self.sandboxes.idle(NODE, claim["id"]).idle_s()

        return self.call(read())

    def pause(self, claim: Any) -> None:
        """Stop its virtual CPUs, as the gRPC door can."""
        self.call(self.sandboxes.pause(NODE, claim["id"]))

    def settle(self) -> None:
        """Let the node's loop go round often enough for everything in flight to move on."""

        async def turns() -> None:
            for _ in range(200):
                await asyncio.sleep(0)

        self.call(turns())

    def slow_demand(self) -> None:
        """Have pools believe that a VM takes a minute to make, so that any claims are a rush."""

        async def slow() -> None:
            for pool in self.pools.all():
                pool.now = self.ticks
                pool.demand.brought_up(60)

        self.call(slow())

    def ticks(self) -> float:
        """The pools' clock after `slow_demand()`."""
        return time.monotonic() + self.skipped_s

    def wait_out_demand(self) -> None:
        """Let a minute pass for the pools."""

        async def tend() -> None:
            self.skipped_s += 61
            for pool in self.pools.all():
                pool.tend()

        self.call(tend())

    def hold_boots(self) -> None:
        """Machines wait before they start."""

        async def clear() -> None:
            self.driver.may_start.clear()

        self.call(clear())

    def let_boots_go(self) -> None:
        """They start."""

        async def go() -> None:
            self.driver.may_start.set()

        self.call(go())

    def kill_machine(self, claim: Any) -> None:
        """Its VMM dies."""
        machine = self.machine(claim)

        async def die() -> None:
            machine.die()

        self.call(die())


@contextmanager
def world(folder: Path, **config: Any) -> Iterator[World]:
    """A running node, stopped at the end."""
    made = World(folder, **config)
    made.start()
    try:
        yield made
    finally:
        made.stop()
