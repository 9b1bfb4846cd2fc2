"""What every vault promises (`ports.templates.TemplateVault`), asked of files and of the fake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Protocol

import pytest
from sandbox_engine.errors import TemplateNotFound
from sandbox_engine.ports import templates as port
from sandbox_engine.ports.vmm import Snapshot
from sandbox_engine.templates.pins import Pins
from sandbox_engine.templates.store import TemplateStore
from sandbox_engine.templates.verify import TemplateVault

from tests.engine.templates.making import PLATFORM, PROTOCOL, published
from tests.fakes.templates import FakeVault


class Subject(Protocol):
    """A vault, and who publishes what it opens."""

    vault: port.TemplateVault

    def publish(self, name: str, number: int) -> None:
        """Build it, anew if it is there: another `number`, another content."""

    def remove(self, name: str) -> None:
        """Unpublish it."""

    def hold(self, digest: str) -> None:
        """Keep this generation."""


class OnFiles:
    """The real one over synthetic files."""

    def __init__(self, data: Path) -> None:
        self._data, self._store = data, TemplateStore(data)
        self._pins = Pins(self._store.layout.pins)
        self.real = TemplateVault(self._store, PLATFORM, PROTOCOL)
        self.vault: port.TemplateVault = self.real

    def publish(self, name: str, number: int) -> None:
        published(self._data, name, agent_version=str(number))

    def remove(self, name: str) -> None:
        self._store.remove(name)

    def hold(self, digest: str) -> None:
        self._pins.hold(digest)


class InMemory:
    """The fake."""

    def __init__(self, folder: Path) -> None:
        self._fake = FakeVault(folder)
        self.vault: port.TemplateVault = self._fake

    def publish(self, name: str, number: int) -> None:
        self._fake.publish(name)

    def remove(self, name: str) -> None:
        self._fake.remove(name)

    def hold(self, digest: str) -> None:
        pass  # it deletes nothing


@pytest.fixture(params=["files", "fake"])
async def subject(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Subject]:
    if request.param == "fake":
        yield InMemory(tmp_path)
        return
    real = OnFiles(tmp_path)
    yield real
    real.real.close()


async def test_what_was_never_published_is_not_found(subject: Subject) -> None:
    with pytest.raises(TemplateNotFound):
        await subject.vault.open("nothing")
    with pytest.raises(TemplateNotFound):
        await subject.vault.generation("nothing", "sha256:" + "0" * 64)


async def test_what_is_open_says_what_it_is(subject: Subject) -> None:
    subject.publish("one", 1)
    opened = await subject.vault.open("one")
    assert opened.name == opened.manifest.name == "one"
    assert opened.digest.startswith("sha256:")
    assert len(opened.digest) == 71
    assert isinstance(opened.snapshot, Snapshot)
    assert not opened.changed()
    for path in (
        opened.overlay,
        opened.rootfs,
        opened.kernel,
        opened.initramfs,
        opened.agent_disk,
    ):
        assert path.exists()


async def test_the_same_one_is_given_as_long_as_nothing_changed(subject: Subject) -> None:
    subject.publish("one", 1)
    first, second = await asyncio.gather(*(subject.vault.open("one") for _ in range(2)))
    assert first is second is await subject.vault.open("one")
    assert await subject.vault.generation("one", first.digest) is first


async def test_a_rebuilt_one_is_another_and_the_first_says_so(subject: Subject) -> None:
    subject.publish("one", 1)
    first = await subject.vault.open("one")
    subject.publish("one", 2)
    assert first.changed()
    second = await subject.vault.open("one")
    assert second.digest != first.digest
    assert not second.changed()


async def test_a_removed_one_is_not_found_and_what_is_open_says_so(subject: Subject) -> None:
    subject.publish("one", 1)
    first = await subject.vault.open("one")
    subject.remove("one")
    assert first.changed()
    with pytest.raises(TemplateNotFound):
        await subject.vault.open("one")


async def test_one_does_not_change_with_another(subject: Subject) -> None:
    subject.publish("one", 1)
    subject.publish("two", 2)
    first = await subject.vault.open("one")
    subject.remove("two")
    assert not first.changed()
    assert await subject.vault.open("one") is first


async def test_a_held_generation_is_found_after_it_was_replaced(subject: Subject) -> None:
    subject.publish("one", 1)
    first = (await subject.vault.open("one")).digest
    subject.hold(first)
    subject.publish("one", 2)
    assert (await subject.vault.generation("one", first)).digest == first
    assert (await subject.vault.open("one")).digest != first
    with pytest.raises(TemplateNotFound):
        await subject.vault.generation("two", first)
