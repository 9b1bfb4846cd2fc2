"""`ports.snapshots.SnapshotStore` in a folder.

    records/ID/GENERATION/{record.json,memory,devices}
    records/ID/current      a link to the generation that counts: the commit pointer
    layers/NAME.qcow2       frozen disks, shared by records and sandboxes
    work/                   drafts; whatever an earlier engine left here is deleted

A generation is written and synced in `work`, renamed into place, and begins to count when
`current` is turned to it: a death before that leaves what was there, one after it leaves
the new one.  Nothing counts references on disk: who holds a layer is told by the records
and the sandboxes themselves, anew at every start.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import structlog

from sandbox_engine.errors import NoSpace, SnapshotCorrupt, SnapshotNotFound
from sandbox_engine.model.snapshot import FORMAT, Kind, Record
from sandbox_engine.ports.snapshots import Files, Space
from sandbox_engine.ports.templates import TemplatePins

RECORD, MEMORY, DEVICES, CURRENT = "record.json", "memory", "devices", "current"
_decoder = msgspec.json.Decoder(Record)
_log = structlog.get_logger(__name__)


class _Open:
    """See `ports.snapshots.Files`; `folder` is the draft's own."""

    def __init__(self, memory_fd: int, state_fd: int, folder: Path | None = None) -> None:
        self.memory_fd, self.state_fd, self.folder = memory_fd, state_fd, folder
        self._closed = False

    def close(self) -> None:
        """See `ports.snapshots.Files`."""
        if not self._closed:
            self._closed = True
            os.close(self.memory_fd)
            os.close(self.state_fd)
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class DirectoryStore:
    """See `ports.snapshots.SnapshotStore`."""

    def __init__(self, root: Path, pins: TemplatePins) -> None:
        self._pins = pins
        self._records, self._layers, self._work = root / "records", root / "layers", root / "work"
        for folder in (self._records, self._layers, self._work):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._known: dict[str, Record] = {}
        self._held: Counter[str] = Counter()
        for folder in self._records.iterdir():
            self._load(folder)

    # -- records -----------------------------------------------------------------

    def draft(self) -> Files:
        """See `ports.snapshots.SnapshotStore`."""
        folder = self._work / os.urandom(8).hex()
        try:
            folder.mkdir(mode=0o700)
            return _opened(folder, os.O_RDWR | os.O_CREAT | os.O_EXCL, own=True)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise NoSpace(f"no room for a snapshot: {error.strerror}") from error

    def copy(self, files: Files) -> Files:
        """See `ports.snapshots.SnapshotStore`."""
        draft = self.draft()
        try:
            for source, target in (
                (files.memory_fd, draft.memory_fd),
                (files.state_fd, draft.state_fd),
            ):
                _copy(source, target)
        except OSError as error:
            draft.close()
            raise NoSpace(f"no room for a snapshot: {error.strerror}") from error
        return draft

    async def publish(self, draft: Files, record: Record) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        assert isinstance(draft, _Open)
        assert draft.folder is not None
        self._hold(record)
        try:
            # Shielded: a caller that leaves must not part the pointer from what is known.
            await asyncio.shield(asyncio.to_thread(self._publish, draft, draft.folder, record))
        except BaseException:
            self._release(record)
            raise
        before, self._known[record.id] = self._known.get(record.id), record
        if before is not None:
            self._release(before)

    def _publish(self, draft: _Open, folder: Path, record: Record) -> None:
        own = self._records / record.id
        generation = own / f"{time.time_ns():x}"
        try:
            for layer in record.origin.layers:
                _sync(self.layer(layer))
            (folder / RECORD).write_bytes(msgspec.json.encode(record))
            os.fsync(draft.memory_fd)
            os.fsync(draft.state_fd)
            _sync(folder / RECORD)
            _sync(folder)
            _sync(self._layers)
            own.mkdir(mode=0o700, exist_ok=True)
            folder.rename(generation)
            _sync(own)
            self._turn(own, generation.name)
        except OSError as error:
            shutil.rmtree(generation, ignore_errors=True)
            with contextlib.suppress(OSError):
                own.rmdir()  # only where it is the first
            raise NoSpace(f"cannot keep the snapshot: {error.strerror}") from error
        draft.folder = None
        _sync(self._records)
        _drop_others(own, generation.name)

    def _turn(self, own: Path, generation: str) -> None:
        link = own / f".{CURRENT}"
        link.unlink(missing_ok=True)
        link.symlink_to(generation)
        link.rename(own / CURRENT)
        _sync(own)

    def find(self, record_id: str) -> Record | None:
        """See `ports.snapshots.SnapshotStore`."""
        return self._known.get(record_id)

    def open(self, record_id: str) -> Files:
        """See `ports.snapshots.SnapshotStore`."""
        record = self._known.get(record_id)
        if record is None:
            raise SnapshotNotFound(record_id)
        try:
            files = _opened(self._records / record_id / CURRENT, os.O_RDONLY)
        except OSError as error:
            raise SnapshotCorrupt(record_id, f"{error.filename}: {error.strerror}") from error
        found = os.fstat(files.memory_fd).st_size
        missing = [name for name in record.origin.layers if not self.layer(name).exists()]
        if found != record.memory_bytes or missing:
            files.close()
            raise SnapshotCorrupt(record_id, f"its memory has {found} bytes, no disk {missing}")
        return files

    def amend(self, record: Record) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        if record.id not in self._known:
            raise SnapshotNotFound(record.id)
        folder = self._records / record.id / CURRENT
        new = folder / f".{RECORD}"
        try:
            new.write_bytes(msgspec.json.encode(record))
            _sync(new)
            new.rename(folder / RECORD)
            _sync(folder)
        except OSError as error:
            raise NoSpace(f"cannot keep the record: {error.strerror}") from error
        self._known[record.id] = record

    def all(self, kind: Kind) -> list[Record]:
        """See `ports.snapshots.SnapshotStore`."""
        chosen = [record for record in self._known.values() if record.kind is kind]
        return sorted(chosen, key=lambda record: (-record.created_at, record.id))

    def remove(self, record_id: str) -> bool:
        """See `ports.snapshots.SnapshotStore`."""
        record = self._known.pop(record_id, None)
        if record is None:
            return False
        own = self._records / record_id
        (own / CURRENT).unlink(missing_ok=True)  # from here on it is gone, whatever happens
        shutil.rmtree(own, ignore_errors=True)
        self._release(record)
        return True

    def _load(self, folder: Path) -> None:
        try:
            record = _decoder.decode((folder / CURRENT / RECORD).read_bytes())
        except FileNotFoundError:
            shutil.rmtree(folder, ignore_errors=True)  # never published, or removed
            return
        except (OSError, msgspec.MsgspecError) as error:
            _log.error("a snapshot cannot be read", snapshot=folder.name, error=str(error))
            return
        if record.format != FORMAT or record.id != folder.name:
            _log.error("a snapshot is of another format", snapshot=folder.name)
            return
        self._known[record.id] = record
        self._hold(record)
        _drop_others(folder, (folder / CURRENT).readlink().name)

    def _hold(self, record: Record) -> None:
        self.hold(record.origin.layers)
        self._pins.hold(record.origin.template_digest)

    def _release(self, record: Record) -> None:
        self.release(record.origin.layers)
        self._pins.release(record.origin.template_digest)

    # -- layers ------------------------------------------------------------------

    def layer(self, name: str) -> Path:
        """See `ports.snapshots.SnapshotStore`."""
        return self._layers / f"{name}.qcow2"

    def add_layer(self, name: str, disk: Path) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        try:
            self.layer(name).hardlink_to(disk)
        except OSError as error:
            raise NoSpace(f"cannot keep the disk: {error.strerror}") from error
        self.hold([name])

    def seal_layer(self, name: str) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        path = self.layer(name)
        os.chown(path, 0, 0)
        path.chmod(0o444)

    def hold(self, layers: Iterable[str]) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        self._held.update(layers)

    def release(self, layers: Iterable[str]) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        for name in layers:
            self._held[name] -= 1
            if self._held[name] <= 0:
                del self._held[name]
                self.layer(name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """See `ports.snapshots.SnapshotStore`."""
        for path in self._layers.iterdir():
            if path.stem not in self._held:
                path.unlink(missing_ok=True)
        for folder in self._work.iterdir():
            shutil.rmtree(folder, ignore_errors=True)

    def space(self) -> Space:
        """See `ports.snapshots.SnapshotStore`."""
        return Space(records=_taken(self._records), layers=_taken(self._layers))


def _opened(folder: Path, flags: int, *, own: bool = False) -> _Open:
    memory = os.open(folder / MEMORY, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        state = os.open(folder / DEVICES, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        os.close(memory)
        raise
    return _Open(memory, state, folder if own else None)


def _copy(source: int, target: int) -> None:
    offset, size = 0, os.fstat(source).st_size
    while offset < size:
        offset += os.copy_file_range(source, target, size - offset, offset, offset)


def _drop_others(own: Path, generation: str) -> None:
    for path in own.iterdir():
        if path.is_symlink() and path.name != CURRENT:
            path.unlink(missing_ok=True)
        elif path.name not in (CURRENT, generation):
            shutil.rmtree(path, ignore_errors=True)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _taken(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += (Path(parent) / name).lstat().st_blocks * 512
    return total
