"""The daemon, composed: what is made of what, in reading order.

Nothing here decides anything.  `_Parts` wires adapters to services and services to
doors; `Daemon.run()` starts them, owns every long-lived task, and takes them down in the
opposite order.  SIGTERM and SIGINT stop it; VMs of leased sandboxes run on.
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import structlog
from cryptography import x509

from sandbox_engine.api.frames.server import FrameServer
from sandbox_engine.api.node.door import NodeDoor
from sandbox_engine.api.rpc.broker import BrokerServer
from sandbox_engine.api.rpc.server import SERVICES, RpcServer
from sandbox_engine.config import Config, workspace_max_ttl_s
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.guest.channel import PROTOCOL, Connector
from sandbox_engine.ids import TokenMint
from sandbox_engine.journal.ledger import FileDocument, LineFile
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.network.broker import UnixBroker
from sandbox_engine.network.links import KernelLinks
from sandbox_engine.observe.sdnotify import notify
from sandbox_engine.observe.tasks import cancel, settle, spawn
from sandbox_engine.ports.clock import SystemClock
from sandbox_engine.services.admission import Admission
from sandbox_engine.services.doors import Doors
from sandbox_engine.services.egress import egress_of
from sandbox_engine.services.execs import Execs
from sandbox_engine.services.files import Files
from sandbox_engine.services.leases import Reaper
from sandbox_engine.services.network import GuestNetwork
from sandbox_engine.services.node import Node
from sandbox_engine.services.pool import CreationBudget
from sandbox_engine.services.pools import Pools
from sandbox_engine.services.recovery import Recovery
from sandbox_engine.services.requests import Requests
from sandbox_engine.services.sandboxes import Sandboxes
from sandbox_engine.services.sessions import Sessions
from sandbox_engine.services.states import States
from sandbox_engine.services.templates import Templates
from sandbox_engine.services.vms import VmFactory, VmUids
from sandbox_engine.services.volumes import Volumes
from sandbox_engine.services.workspaces import Workspaces
from sandbox_engine.storage.snapshots import DirectoryStore
from sandbox_engine.storage.volumes import FileImages
from sandbox_engine.storage.workspaces import Images
from sandbox_engine.templates.bake import sweep_work
from sandbox_engine.templates.child import ChildBuilder
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.pins import Pins
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import TemplateVault, verify_files
from sandbox_engine.vmm.accel import decide
from sandbox_engine.vmm.cgroup import Cgroups
from sandbox_engine.vmm.process import Launcher
from sandbox_engine.vmm.qemu.driver import QemuDriver

if TYPE_CHECKING:
    from sandbox_engine.api.connect.server import ConnectServer

_log = structlog.get_logger(__name__)


class _Parts:
    """Every part of the engine, made but not started."""

    def __init__(self, config: Config, config_path: Path | None, launcher: Launcher) -> None:
        data = Path(config.data_dir)
        clock = SystemClock()
        cgroups = Cgroups()
        self.store = TemplateStore(data)
        verdict = decide(data, self.store.newest_kernel(), self.store.newest_initramfs())
        self.driver = QemuDriver(launcher, verdict.accel, cgroups)
        self.vault = TemplateVault(self.store, self.driver.platform, PROTOCOL)
        self.journal = SqliteJournal(data / "journal.db")
        self.pins = Pins(self.store.layout.pins)
        self.snapshots = DirectoryStore(_folder(data / "snapshots", 0o700), self.pins)
        self.factory = VmFactory(
            driver=self.driver,
            connector=Connector(),
            journal=self.journal,
            root=_folder(data / "vms", 0o711),
            uids=VmUids(config.vmm_uid_base, config.vmm_uid_count),
        )
        budget = CreationBudget(config.refill_concurrency)
        self.pools = Pools(
            vault=self.vault,
            factory=self.factory,
            budget=budget,
            default_warm=config.default_warm,
        )
        self.admission = Admission(
            node=config.max_sandboxes,
            per_session=config.max_sandboxes_per_session,
            per_uid=config.max_sandboxes_per_uid,
        )
        mint = TokenMint.load(data / "node.key")
        self.workspaces = Workspaces(
            volumes=Images(data / "workspaces"),
            journal=self.journal,
            clock=clock,
            size_bytes=config.workspace_mib << 20,
            max_ttl_s=workspace_max_ttl_s(),
        )
        self.sandboxes = Sandboxes(
            pools=self.pools,
            factory=self.factory,
            admission=self.admission,
            journal=self.journal,
            snapshots=self.snapshots,
            pins=self.pins,
            requests=Requests(self.journal, clock),
            clock=clock,
            mint=mint,
            allowed_services=tuple(config.allowed_services),
            default_lease_s=config.default_lease_seconds,
            workspaces=self.workspaces,
        )
        self.states = States(
            sandboxes=self.sandboxes,
            factory=self.factory,
            journal=self.journal,
            store=self.snapshots,
            vault=self.vault,
            platform=self.driver.platform,
            clock=clock,
            admission=self.admission,
            budget=budget,
            default_lease_s=config.default_lease_seconds,
            max_fork_count=config.max_fork_count,
            checkpoint_ttl_s=config.checkpoint_ttl_hours * 3600,
            idle_rule=config.idle_rule(),
            restart_budget=config.restart_budget,
        )
        self.states.promotions.is_built = lambda name: name in self.store.names()
        self.reaper = Reaper(self.sandboxes, clock)
        self.reaper.archiver = self.states.idling
        self.recovery = Recovery(
            journal=self.journal,
            factory=self.factory,
            admission=self.admission,
            sandboxes=self.sandboxes,
            store=self.snapshots,
            pins=self.pins,
            workspaces=self.workspaces,
        )
        sessions = Sessions(self.sandboxes)
        execs, files = Execs(self.sandboxes), Files(self.sandboxes)
        templates = Templates(
            shelf=self.store,
            builder=ChildBuilder(data),
            pools=self.pools,
            verify=verify_files,
        )
        node = Node(
            pools=self.pools,
            admission=self.admission,
            platform=self.driver.platform,
            accel=verdict.accel,
            accel_reason=verdict.reason,
            cgroups=cgroups.describe(),
            clock=clock,
        )
        self.frames = FrameServer(
            sandboxes=self.sandboxes,
            execs=execs,
            files=files,
            sessions=sessions,
            workspaces=self.workspaces,
            path=Path(config.engine_socket),
            allowed_uids=config.allowed_uids,
        )
        self.rpc = RpcServer(
            sandboxes=self.sandboxes,
            execs=execs,
            files=files,
            sessions=sessions,
            templates=templates,
            workspaces=self.workspaces,
            node=node,
            states=self.states,
            path=Path(config.grpc_socket),
            listen=config.grpc_listen,
            tokens=config.grpc_tokens,
        )
        self.connect: ConnectServer | None = None
        if config.connect_listen:
            # Here: an HTTP server is memory and start-up time that most nodes do without.
            from sandbox_engine.api.connect.server import ConnectServer

            self.connect = ConnectServer(
                services=SERVICES,
                servicers=self.rpc.servicers,
                tokens=config.grpc_tokens,
                origins=config.connect_origins,
            )
        self.egress = egress_of(config, mint)
        self.egress.registry = self.sandboxes
        self.sandboxes.watchers.append(self.egress)
        self.broker: BrokerServer | None = None
        self.doors = Doors(UnixBroker(Path(config.broker_doors)), self.egress, self.sandboxes)
        if config.broker_socket:
            path = Path(config.broker_socket)
            self.broker = BrokerServer(self.egress, path, config.broker_uid)
            self.sandboxes.network = GuestNetwork(
                self.egress, mint, self.factory, config.broker_port, _roots(config.egress_ca)
            )
            self.factory.on_opened = self.doors.accept
        self.links: KernelLinks | None = None
        if config.broker_port:
            self.links = self.factory.links = KernelLinks(data, config.broker_port)
        self.usage = LineFile(data / "usage.jsonl")
        self.node = NodeDoor(
            config=config,
            config_path=config_path,
            sandboxes=self.sandboxes,
            pools=self.pools,
            admission=self.admission,
            node=node,
            mint=mint,
            clock=clock,
            usage=self.usage,
            open_audit=lambda setting: _audit_file(data, setting),
            saved_pools=FileDocument(data / "pools.json"),
            volumes=Volumes((one.entry() for one in config.volumes), FileImages()),
            saved_tenants=FileDocument(data / "tenants.json", 0o600),
            states=self.states,
            egress=self.egress,
        )


class Daemon:
    """One engine on one data folder."""

    def __init__(self, config: Config, launcher: Launcher, config_path: Path | None = None) -> None:
        self._config, self._launcher, self._config_path = config, launcher, config_path
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until told to stop.  Raises an `EngineError` where it cannot start."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop.set)
        async with AsyncExitStack() as stack:
            stack.callback(self._launcher.close)
            stack.enter_context(_lock(Path(self._config.data_dir)))
            parts = _Parts(self._config, self._config_path, self._launcher)
            stack.callback(parts.journal.close)
            stack.callback(parts.usage.close)
            if parts.links is not None:
                await parts.links.start()
                stack.push_async_callback(parts.links.close)
            await parts.recovery.run()
            parts.store.sweep()
            await sweep_work(Layout(Path(self._config.data_dir)).work, parts.driver)
            await self._serve(parts, stack)
            await self._stop.wait()
            notify("STOPPING=1")
            _log.info("stopping")
        _log.info("stopped")

    async def _serve(self, parts: _Parts, stack: AsyncExitStack) -> None:
        stack.callback(parts.vault.close)
        stack.push_async_callback(settle)
        stack.push_async_callback(parts.pools.close)
        for part, name in (
            (parts.reaper.run(), "reaper"),
            (parts.journal.run_checkpoints(), "journal checkpoints"),
            (parts.pools.run(), "pools"),
            (parts.states.checkpoints.run(), "checkpoints' end"),
            (parts.states.idling.run(), "idle claims"),
            (parts.workspaces.run(), "workspaces"),
        ):
            stack.push_async_callback(cancel, spawn(part, name=name))
        await parts.frames.start()
        stack.push_async_callback(parts.frames.stop)
        await parts.rpc.start()
        stack.push_async_callback(parts.rpc.stop)
        if parts.connect is not None:
            await parts.connect.start(self._config.connect_listen)
            stack.push_async_callback(parts.connect.stop)
        if parts.broker is not None:
            await parts.broker.start()
            stack.push_async_callback(parts.broker.stop)
            stack.push_async_callback(parts.doors.close)
        await parts.node.start(self._config.listen, self._config.preview_listen)
        stack.push_async_callback(parts.node.stop)
        stack.callback(parts.sandboxes.hurry)
        parts.states.restarts.start()
        stack.callback(parts.states.restarts.stop)
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, _reload, parts.node)
        # What exists now stays.  The collector need not walk it again, which would hold up
        # some call for milliseconds; and what calls leave behind is mostly gone by itself.
        gc.collect()
        gc.freeze()
        gc.set_threshold(5_000, 20, 50)
        notify("READY=1")
        _log.info(
            "serving",
            frames=self._config.engine_socket,
            grpc=self._config.grpc_socket,
            node=parts.node.address,
            accel=parts.driver.accel,
        )


class _lock:  # noqa: N801 - used as a context manager, like the functions of contextlib
    """One engine a data folder: holds its lock file, or says who does."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._fd = -1

    def __enter__(self) -> None:
        if os.geteuid() != 0:
            raise InvalidArgument("user", "the engine runs as root: VMMs get users of their own")
        _folder(self._data, 0o711)
        self._fd = os.open(self._data / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._fd)
            raise InvalidArgument(
                "data_dir", f"another engine runs on {self._data}; stop it or use another folder"
            ) from error

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _roots(path: str) -> str:
    """Certificates, as they are.  Raises `InvalidArgument`."""
    if not path:
        return ""
    try:
        data = Path(path).read_bytes()
        x509.load_pem_x509_certificates(data)
    except (OSError, ValueError) as error:
        raise InvalidArgument("egress_ca", f"{path}: {error}") from error
    return data.decode(errors="replace")


def _reload(node: NodeDoor) -> None:
    spawn(node.reload.run_by_signal(), name="reload")


def _audit_file(data: Path, setting: bool | str) -> LineFile | None:
    if setting is False or setting == "":
        return None
    return LineFile(data / "audit.jsonl" if setting is True else Path(str(setting)))


def _folder(path: Path, mode: int) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=mode)
        path.chmod(mode)
    except OSError as error:
        raise InvalidArgument("data_dir", f"cannot make {path}: {error.strerror}") from error
    return path
