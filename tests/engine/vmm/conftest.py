"""Clones without a daemon: the real driver, and what the services put around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
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

    def __init__(self, factory: VmFactory, template: VerifiedTemplate) -> None:
        self.factory, self.template = factory, template


@pytest.fixture(scope="module")
async def workshop(
    tmp_path_factory: pytest.TempPathFactory, base_template: str
) -> AsyncIterator[Workshop]:
    folder = Path(tmp_path_factory.mktemp("vms"))
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
        uids=VmUids(720_000, 64),
    )
    yield Workshop(factory, await vault.open(base_template))
    await factory.clear(set())
    vault.close()
    journal.close()
    launcher.close()
