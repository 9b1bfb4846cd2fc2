"""Real VMs without a daemon: the real driver, and what the services put around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox_engine.guest.channel import PROTOCOL, Connector
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.services.vms import VmFactory, VmUids
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import TemplateVault, VerifiedTemplate
from sandbox_engine.vmm.process import Launcher
from sandbox_engine.vmm.qemu.driver import QemuDriver

from tests.support.engine import CACHE


class Workshop:
    """Makes VMs."""

    def __init__(
        self, launcher: Launcher, driver: QemuDriver, factory: VmFactory, template: VerifiedTemplate
    ) -> None:
        self.launcher, self.driver = launcher, driver
        self.factory, self.template = factory, template


@asynccontextmanager
async def open_workshop(folder: Path, template: str, uid_base: int) -> AsyncIterator[Workshop]:
    """A workshop in `folder`, which VMMs' users must be able to pass; nothing of it remains."""
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o711)
    launcher = Launcher.start()
    driver = QemuDriver(launcher, "tcg")
    vault = TemplateVault(TemplateStore(CACHE), driver.platform, PROTOCOL)
    journal = SqliteJournal(folder / "journal.db")
    (folder / "vms").mkdir(mode=0o711)
    factory = VmFactory(
        driver=driver,
        connector=Connector(),
        journal=journal,
        root=folder / "vms",
        uids=VmUids(uid_base, 64),
    )
    try:
        yield Workshop(launcher, driver, factory, await vault.open(template))
    finally:
        await factory.clear(set())
        vault.close()
        journal.close()
        launcher.close()
