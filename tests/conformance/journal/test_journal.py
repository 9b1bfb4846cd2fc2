"""What every journal promises (`ports.journal.Journal`), asked of SQLite and of the fake.

The real one's full disk is a small file system of its own that is full.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from msgspec.structs import replace
from sandbox_engine.errors import NoSpace
from sandbox_engine.journal.sqlite import SqliteJournal
from sandbox_engine.model.machine import State
from sandbox_engine.model.sandbox import Sandbox, SandboxSpec
from sandbox_engine.model.workspace import Workspace
from sandbox_engine.ports.journal import Journal, RequestRow, VmRow
from sandbox_engine.ports.vmm import MachineRef

from tests.fakes.journal import FakeJournal

DISK_KIB = 512
REF = MachineRef(pid=7, start_ticks=70, name="vm-1", directory="/vms/vm-1")


class Subject(Protocol):
    """A journal, the disk under it, and its successor after the engine died."""

    journal: Journal

    def fill(self) -> None:
        """The disk takes nothing more."""

    def free(self) -> None:
        """It does again."""

    def died(self) -> Journal:
        """What the next engine finds, the first having closed nothing."""


class OnSqlite:
    """The journal on a file system of `DISK_KIB`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = [SqliteJournal(folder / "journal.db")]
        self.journal: Journal = self._made[0]

    def fill(self) -> None:
        with (self._folder / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(4096))
            except OSError:
                return

    def free(self) -> None:
        (self._folder / "filler").unlink()

    def died(self) -> Journal:
        self._made.append(SqliteJournal(self._folder / "journal.db"))
        return self._made[-1]

    def close(self) -> None:
        for each in self._made:
            each.close()


class InMemory:
    """The fake."""

    def __init__(self) -> None:
        self._fake = FakeJournal()
        self.journal: Journal = self._fake

    def fill(self) -> None:
        self._fake.full = True

    def free(self) -> None:
        self._fake.full = False

    def died(self) -> Journal:
        return self._fake.reopen()


@pytest.fixture(params=["sqlite", "fake"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    if request.param == "fake":
        yield InMemory()
        return
    options = f"size={DISK_KIB}k,mode=0700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", tmp_path], check=True)
    try:
        made = OnSqlite(tmp_path)
        try:
            yield made
        finally:
            made.close()
    finally:
        subprocess.run(["umount", tmp_path], check=True)


@pytest.fixture
def journal(subject: Subject) -> Journal:
    return subject.journal


def vm(name: str) -> VmRow:
    return VmRow(name=name, template="base", directory=f"/vms/{name}", ref=None)


def sandbox(number: int, *, vm: str = "vm-1") -> Sandbox:
    return Sandbox(
        id=f"sb_{number:020x}",
        number=number,
        spec=SandboxSpec(template="base", env={"NAME": "värde"}),
        state=State.RUNNING,
        owner="operator",
        uid=1000,
        session=None,
        deadline=1e9,
        memory_mib=256,
        vcpus=1,
        created_at=1.5,
        resumed_at=2.5,
        vm=vm,
        layers=("one", "two"),
    )


def workspace(key: str, owner: str = "operator") -> Workspace:
    return Workspace(
        owner=owner, key=key, volume=f"{key}.img", size_bytes=1 << 20, created_at=1, expires_at=2
    )


WRITES: dict[str, Callable[[Journal], object]] = {
    "vm_intended": lambda journal: journal.vm_intended(vm("vm-9")),
    "vm_launched": lambda journal: journal.vm_launched("vm-1", REF),
    "vm_gone": lambda journal: journal.vm_gone("vm-1"),
    "sandbox_put": lambda journal: journal.sandbox_put(sandbox(9)),
    "sandbox_gone": lambda journal: journal.sandbox_gone(sandbox(1)),
    "request_put": lambda journal: journal.request_put(
        "operator", "key", RequestRow(fingerprint="f", answer="s"), 10
    ),
    "workspace_put": lambda journal: journal.workspace_put(workspace("other")),
    "workspace_gone": lambda journal: journal.workspace_gone(workspace("home")),
}


def furnish(journal: Journal) -> None:
    journal.vm_intended(vm("vm-1"))
    journal.sandbox_put(sandbox(1))
    journal.workspace_put(workspace("home"))


def content(journal: Journal) -> object:
    return journal.vms(), journal.sandboxes(), journal.workspaces()


def test_a_new_one_is_empty(journal: Journal) -> None:
    assert content(journal) == ([], [], [])
    assert journal.request_find("operator", "key", 0) is None


def test_numbers_are_never_given_twice_not_even_by_the_next_engine(subject: Subject) -> None:
    first = [subject.journal.next_number() for _ in range(300)]
    assert first == sorted(set(first))
    assert first[0] == 1
    assert subject.died().next_number() > first[-1]


def test_a_vm_is_intended_launched_and_gone(journal: Journal) -> None:
    journal.vm_intended(vm("vm-2"))
    journal.vm_intended(vm("vm-1"))
    assert journal.vms() == [vm("vm-1"), vm("vm-2")], "by name"
    journal.vm_launched("vm-1", REF)
    assert journal.vms() == [replace(vm("vm-1"), ref=REF), vm("vm-2")]
    journal.vm_gone("vm-1")
    assert journal.vms() == [vm("vm-2")]


def test_what_is_not_there_can_be_gone(journal: Journal) -> None:
    furnish(journal)
    before = content(journal)
    journal.vm_gone("vm-7")
    journal.vm_launched("vm-7", REF)
    journal.sandbox_gone(sandbox(7, vm="vm-7"))
    journal.workspace_gone(workspace("nobody's"))
    assert content(journal) == before


def test_a_sandbox_comes_back_as_it_was_and_changes_only_when_put(journal: Journal) -> None:
    second, first = sandbox(2), sandbox(1)
    journal.sandbox_put(second)
    journal.sandbox_put(first)
    first.state = State.PAUSED
    assert [each.state for each in journal.sandboxes()] == [State.RUNNING] * 2
    journal.sandbox_put(first)
    assert journal.sandboxes() == [first, second], "by id"


def test_a_sandbox_goes_with_its_vm(journal: Journal) -> None:
    for number in (1, 2):
        journal.vm_intended(vm(f"vm-{number}"))
        journal.sandbox_put(sandbox(number, vm=f"vm-{number}"))
    journal.sandbox_gone(sandbox(1, vm="vm-1"))
    assert journal.vms() == [vm("vm-2")]
    assert journal.sandboxes() == [sandbox(2, vm="vm-2")]


def test_an_answer_is_found_by_its_scope_and_key_until_it_expires(journal: Journal) -> None:
    first = RequestRow(fingerprint="a", answer="sb_1")
    journal.request_put("one", "key", first, expires_at=10)
    assert journal.request_find("one", "key", 9.9) == first
    assert journal.request_find("two", "key", 0) is None
    assert journal.request_find("one", "other", 0) is None
    second = RequestRow(fingerprint="b", answer="sb_2")
    journal.request_put("one", "key", second, expires_at=20)
    assert journal.request_find("one", "key", 10) == second
    assert journal.request_find("one", "key", 20) is None


def test_workspaces_are_by_owner_and_key(journal: Journal) -> None:
    mine, theirs = workspace("home"), workspace("home", owner="another")
    journal.workspace_put(mine)
    journal.workspace_put(theirs)
    assert journal.workspaces() == [theirs, mine]
    longer = replace(mine, expires_at=99, sandbox="sb_1", clean=False)
    journal.workspace_put(longer)
    assert journal.workspaces() == [theirs, longer]
    journal.workspace_gone(longer)
    assert journal.workspaces() == [theirs]


def test_what_was_written_is_found_by_the_next_engine(subject: Subject) -> None:
    furnish(subject.journal)
    subject.journal.vm_launched("vm-1", REF)
    row = RequestRow(fingerprint="a", answer="sb_1")
    subject.journal.request_put("one", "key", row, expires_at=10)
    found = subject.died()
    assert content(found) == content(subject.journal)
    assert found.vms()[0].ref == REF
    assert found.request_find("one", "key", 1) == row


@pytest.mark.parametrize("write", WRITES)
def test_a_full_disk_refuses_a_write_and_changes_nothing(subject: Subject, write: str) -> None:
    """And no later write either: the one that was refused is not half under way."""
    furnish(subject.journal)
    before = content(subject.journal)
    subject.fill()
    for _ in range(2):
        with pytest.raises(NoSpace, match="journal cannot be written"):
            WRITES[write](subject.journal)
    assert content(subject.journal) == before
    subject.free()
    assert content(subject.died()) == before
    WRITES[write](subject.journal)
    if write == "request_put":
        assert subject.journal.request_find("operator", "key", 0) is not None
    else:
        assert content(subject.journal) != before


def test_a_full_disk_can_be_read(subject: Subject) -> None:
    furnish(subject.journal)
    row = RequestRow(fingerprint="a", answer="sb_1")
    subject.journal.request_put("one", "key", row, expires_at=10)
    subject.journal.request_put("one", "old", row, expires_at=0.5)
    subject.fill()
    assert len(subject.journal.sandboxes()) == len(subject.journal.vms()) == 1
    assert subject.journal.request_find("one", "key", 1) == row
    assert subject.journal.request_find("one", "old", 1) is None
    subject.free()


def test_a_number_that_could_not_be_written_down_is_not_given(subject: Subject) -> None:
    """What is handed out without being on record is handed out again by the next engine."""
    subject.fill()
    for _ in range(2):
        with pytest.raises(NoSpace):
            subject.journal.next_number()
    subject.free()
    assert subject.journal.next_number() == 1
    assert subject.died().next_number() > 1
