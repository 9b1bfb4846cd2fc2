"""The store of saved states: whole or not at all, kept while held, gone when not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_engine.errors import NoSpace, SnapshotCorrupt, SnapshotNotFound
from sandbox_engine.model.snapshot import CHUNK_BYTES, Kind, Origin, Record, content_digest
from sandbox_engine.model.template import Platform
from sandbox_engine.storage.snapshots import DirectoryStore
from sandbox_engine.templates.pins import Pins

BASE = "sha256:" + "b" * 64


def make_store(folder: Path) -> DirectoryStore:
    return DirectoryStore(folder / "snapshots", Pins(folder / "pins"))


@pytest.fixture
def store(tmp_path: Path) -> DirectoryStore:
    return make_store(tmp_path)


def record(name: str, *layers: str, memory: int = 6, at: float = 1.0) -> Record:
    return Record(
        id=name,
        kind=Kind.CHECKPOINT,
        sandbox_id="sb_1",
        origin=Origin(
            template="base",
            template_digest=BASE,
            memory_mib=256,
            vcpus=1,
            booted=False,
            layers=layers,
        ),
        platform=Platform(vmm="none", machine="none", cpu="none"),
        created_at=at,
        memory_bytes=memory,
    )


def add_layer(store: DirectoryStore, folder: Path, name: str) -> None:
    """A layer that its sandbox holds."""
    disk = folder / f"disk-{name}"
    disk.write_bytes(name.encode() * 1000)
    store.add_layer(name, disk)
    store.seal_layer(name)
    disk.unlink()


async def publish(store: DirectoryStore, made: Record, body: bytes = b"memory") -> None:
    with store.draft() as draft:
        os.write(draft.memory_fd, body)
        os.write(draft.state_fd, b"devices")
        await store.publish(draft, made)


def read(store: DirectoryStore, name: str) -> tuple[bytes, bytes]:
    with store.open(name) as files:
        return os.pread(files.memory_fd, 100, 0), os.pread(files.state_fd, 100, 0)


def everything(folder: Path) -> list[str]:
    root = folder / "snapshots"
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


async def test_what_was_published_is_read_by_the_next_engine(
    store: DirectoryStore, tmp_path: Path
) -> None:
    add_layer(store, tmp_path, "one")
    made = record("ck_1", "one")
    await publish(store, made)
    store.release(["one"])  # its sandbox is gone
    for each in (store, make_store(tmp_path)):
        each.sweep()
        assert each.find("ck_1") == made
        assert read(each, "ck_1") == (b"memory", b"devices")
        assert each.layer("one").read_bytes() == b"one" * 1000
        assert each.space().layers >= 3000
    assert (tmp_path / "pins" / BASE).exists()


async def test_a_record_is_replaced_in_one_step_and_readers_keep_theirs(
    store: DirectoryStore, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        add_layer(store, tmp_path, name)
    await publish(store, record("sb_1", "one"))
    reader = store.open("sb_1")
    await publish(store, record("sb_1", "one", "two", memory=5), b"later")
    store.release(["one", "two"])
    assert os.pread(reader.memory_fd, 100, 0) == b"memory"
    reader.close()
    assert read(make_store(tmp_path), "sb_1")[0] == b"later"
    assert store.layer("one").exists()
    assert store.remove("sb_1")
    assert not store.remove("sb_1")
    assert everything(tmp_path) == ["layers", "records", "work"]
    assert not (tmp_path / "pins" / BASE).exists()


async def test_records_are_listed_newest_first(store: DirectoryStore) -> None:
    for at in (2.0, 3.0, 1.0):
        await publish(store, record(f"ck_{at:.0f}", at=at))
    assert [each.id for each in store.all(Kind.CHECKPOINT)] == ["ck_3", "ck_2", "ck_1"]
    assert store.all(Kind.HIBERNATION) == []


async def test_a_draft_that_is_not_published_leaves_nothing(
    store: DirectoryStore, tmp_path: Path
) -> None:
    with store.draft() as draft:
        os.write(draft.memory_fd, b"memory")
    assert everything(tmp_path) == ["layers", "records", "work"]


STEPS = ("rename", "symlink_to", "unlink", "mkdir", "write_bytes")


class Died(BaseException):
    """The engine was killed here."""


def dies_at(monkeypatch: pytest.MonkeyPatch, call: int) -> Callable[[], int]:
    """Let the process die at its n-th step on the disk, before or after it."""
    count = 0
    for name in STEPS:
        whole = getattr(Path, name)

        def step(*args: object, whole: Callable[..., object] = whole, **more: object) -> object:
            nonlocal count
            count += 1
            if count * 2 - 1 == call:
                raise Died
            result = whole(*args, **more)
            if count * 2 == call:
                raise Died
            return result

        monkeypatch.setattr(Path, name, step)
    return lambda: count


@pytest.mark.parametrize("call", range(1, 21))
async def test_a_death_at_any_step_leaves_the_old_or_the_new(tmp_path: Path, call: int) -> None:
    store = make_store(tmp_path)
    for name in ("one", "two"):
        add_layer(store, tmp_path, name)
    await publish(store, record("sb_1", "one"))
    with pytest.MonkeyPatch.context() as patch:
        steps = dies_at(patch, call)
        try:
            await publish(store, record("sb_1", "one", "two", memory=5), b"later")
        except Died:
            pass
        else:
            assert steps() * 2 < call, "a step was not tried"
    after = make_store(tmp_path)
    after.sweep()
    found = after.find("sb_1")
    assert found is not None
    assert read(after, "sb_1")[0] == (b"memory" if len(found.origin.layers) == 1 else b"later")
    assert {path.stem for path in (tmp_path / "snapshots/layers").iterdir()} == set(
        found.origin.layers
    )
    assert len(list((tmp_path / "snapshots/records/sb_1").iterdir())) == 2
    assert list((tmp_path / "snapshots/work").iterdir()) == []


@pytest.mark.parametrize("call", range(1, 21))
async def test_a_first_record_is_there_whole_or_not_at_all(tmp_path: Path, call: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        store = make_store(tmp_path)
        dies_at(patch, call)
        with contextlib.suppress(Died):
            await publish(store, record("ck_1"))
    after = make_store(tmp_path)
    after.sweep()
    if after.find("ck_1") is None:
        assert everything(tmp_path) == ["layers", "records", "work"]
    else:
        assert read(after, "ck_1") == (b"memory", b"devices")


async def test_a_failing_disk_changes_nothing(
    store: DirectoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_layer(store, tmp_path, "one")
    await publish(store, record("sb_1", "one"))
    with monkeypatch.context() as patch:

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr(Path, "symlink_to", full)
        with pytest.raises(NoSpace):
            await publish(store, record("sb_1", memory=5), b"later")
        with pytest.raises(NoSpace):
            await publish(store, record("ck_new"))
    store.release(["one"])
    assert read(store, "sb_1")[0] == b"memory"
    assert store.layer("one").exists()
    assert sorted(os.listdir(tmp_path / "snapshots/records")) == ["sb_1"]


async def test_what_is_not_whole_is_refused(store: DirectoryStore, tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFound):
        store.open("ck_none")
    await publish(store, record("ck_1"), b"short")
    with pytest.raises(SnapshotCorrupt, match="5 bytes"):
        store.open("ck_1")
    (tmp_path / "snapshots/records/ck_1/current/record.json").write_text("{}")
    assert make_store(tmp_path).find("ck_1") is None


def chunks(body: bytes) -> list[bytes]:
    import hashlib

    return [hashlib.sha256(body).digest()]


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.binary(max_size=20), max_size=5))
def test_a_digest_is_of_paths_and_bytes_in_any_order(files: dict[str, bytes]) -> None:
    listed = [(path, len(body), chunks(body)) for path, body in files.items()]
    digest = content_digest(listed)
    assert digest == content_digest(reversed(listed))
    assert len(digest) == len("sha256:") + 64
    for path, body in files.items():
        changed = files | {path: body + b"x"}
        moved = {(name + "x" if name == path else name): data for name, data in files.items()}
        for other in (changed, moved):
            told = [(name, len(data), chunks(data)) for name, data in other.items()]
            assert content_digest(told) != digest or other == files
    assert CHUNK_BYTES == 16 << 20
