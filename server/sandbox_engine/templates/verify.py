"""Proof that a template is what its manifest says, once, and not again until it changes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sandbox_engine.errors import NoSpace, TemplateCorrupt, TemplateIncompatible
from sandbox_engine.model.template import (
    FileDigest,
    Manifest,
    Platform,
    compatibility,
    manifest_digest,
)
from sandbox_engine.observe.tasks import spawn
from sandbox_engine.ports.vmm import Snapshot
from sandbox_engine.templates.digests import (
    Identity,
    digest_fd,
    identity_of,
    settle,
)
from sandbox_engine.templates.layout import CURRENT, MANIFEST, MEMORY, VMSTATE, TemplateFiles
from sandbox_engine.templates.store import TemplateStore

TRIES = 3
"""Verifications of a template that is rebuilt while it is read."""
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class HasExpected(Protocol):
    """What `verify_files` needs of a template's files."""

    def expected(self) -> list[tuple[str, Path, FileDigest]]:
        """Label, path and what must be there, of every file."""


def verify_files(files: HasExpected) -> list[str]:
    """What differs from the manifest, in words, after reading every byte.  Blocks."""
    differences: list[str] = []
    for label, path, expected in files.expected():
        differences += _verify(label, path, expected, None)
    return differences


def _verify(label: str, path: Path, expected: FileDigest, copy_to: int | None) -> list[str]:
    """Compare one file, copying it if asked to; at most one difference."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return [f"{label} is missing"]
    except OSError as error:
        return [f"{label} cannot be opened: {error.strerror}"]
    try:
        before = os.fstat(fd)
        if before.st_size != expected.size:
            return [f"{label} has {before.st_size} bytes instead of {expected.size}"]
        settle(before)
        found = digest_fd(fd, copy_to)
        if identity_of(os.fstat(fd)) != identity_of(before):
            return [f"{label} was written to while it was read"]
    finally:
        os.close(fd)
    if found.sha256 != expected.sha256:
        return [f"{label} has SHA-256 {found.sha256} instead of {expected.sha256}"]
    return []


class _Watch:
    """What a template's files were when they were looked at.

    Paths lead through `current`, so a rebuilt template counts as changed too; unless one
    `generation` was asked for.
    """

    def __init__(self, files: TemplateFiles, *, generation: bool = False) -> None:
        current = files.directory if generation else files.directory.parent / CURRENT
        self._paths = [str(current / MANIFEST)]
        for _, path, _ in files.expected():
            own = path.parent == files.directory
            self._paths.append(str(current / path.name if own else path))
        self._seen = self._look()
        if current.resolve() != files.directory.resolve():
            self._seen = []  # replaced since `files` were found: changed from the outset

    def changed(self) -> bool:
        return self._look() != self._seen

    def _look(self) -> list[Identity | None]:
        return [_identity(path) for path in self._paths]


def _identity(path: str) -> Identity | None:
    try:
        return identity_of(os.stat(path))  # noqa: PTH116 - a Path costs more than the stat
    except OSError:
        return None


class VerifiedTemplate:
    """See `ports.templates.ReadyTemplate`.

    Its memory and device state are not the files that were verified but sealed copies of
    them (memfds), and the copy is what was hashed.  QEMU insists on opening its RAM file
    for writing, even to map it privately; through `/proc/self/fd/N` every clone opens the
    one immutable copy, which no compromised VMM can alter for the others and no later write
    to the disk can reach.

    The descriptors close with `close()` or with the last reference to this object.
    """

    def __init__(self, files: TemplateFiles, memory_fd: int, state_fd: int, watch: _Watch) -> None:
        self.files = files
        self.manifest: Manifest = files.manifest
        self.name = files.manifest.name
        self.digest = files.digest
        self.snapshot = Snapshot(memory_fd=memory_fd, state_fd=state_fd)
        self.overlay, self.rootfs = files.overlay, files.rootfs
        self.kernel, self.initramfs = files.kernel, files.initramfs
        self.agent_disk = files.agent_disk
        self._watch = watch
        self._release = weakref.finalize(self, _close, (memory_fd, state_fd))

    def changed(self) -> bool:
        """Whether a file is no longer the one that was verified: a stat of each."""
        return self._watch.changed()

    def close(self) -> None:
        """Release the copies.  Idempotent.  VMMs that were launched keep theirs."""
        self._release()


def _close(fds: Sequence[int]) -> None:
    for fd in fds:
        os.close(fd)


class _Refusal:
    """A verdict against files that are still the same."""

    def __init__(self, differences: list[str], watch: _Watch) -> None:
        self.differences, self._watch = differences, watch

    def changed(self) -> bool:
        return self._watch.changed()


class TemplateVault:
    """See `ports.templates.TemplateVault`.

    A verdict, good or bad, holds for as long as the files' identities (device, inode, size,
    modification and change time) do: bytes are read once, not once a clone.
    """

    def __init__(self, store: TemplateStore, platform: Platform, agent_protocol: int) -> None:
        self._store, self._platform, self._protocol = store, platform, agent_protocol
        self._verdicts: dict[tuple[str, str], VerifiedTemplate | _Refusal] = {}
        self._running: dict[tuple[str, str], asyncio.Task[VerifiedTemplate | _Refusal]] = {}

    async def open(self, name: str) -> VerifiedTemplate:
        """The verified template, at once when nothing changed since it was verified.

        Concurrent calls share one verification, which a cancelled call leaves running.
        Raises `TemplateNotFound`, `TemplateCorrupt`, `TemplateIncompatible`, `NoSpace` (no
        memory for the copies).
        """
        return await self._open(name, "")

    async def generation(self, name: str, digest: str) -> VerifiedTemplate:
        """See `ports.templates.TemplateVault`."""
        current = self._verdicts.get((name, ""))
        if (
            isinstance(current, VerifiedTemplate)
            and current.digest == digest
            and not current.changed()
        ):
            return current
        return await self._open(name, digest)

    async def _open(self, name: str, digest: str) -> VerifiedTemplate:
        key = (name, digest)
        verdict = self._verdicts.get(key)
        if verdict is None or verdict.changed():
            self._verdicts.pop(key, None)
            for _ in range(TRIES):
                verdict = await self._verify(key)
                if not verdict.changed():
                    break  # else it was rebuilt meanwhile: judge what is there now
        assert verdict is not None
        if isinstance(verdict, _Refusal):
            raise TemplateCorrupt(name, verdict.differences)
        return verdict

    def close(self) -> None:
        """Release every copy."""
        for verdict in self._verdicts.values():
            if isinstance(verdict, VerifiedTemplate):
                verdict.close()
        self._verdicts.clear()

    async def _verify(self, key: tuple[str, str]) -> VerifiedTemplate | _Refusal:
        task = self._running.get(key)
        if task is None:
            name, digest = key
            files = self._store.find_generation(*key) if digest else self._store.find(name)
            differences = compatibility(files.manifest, self._platform, self._protocol)
            if differences:
                raise TemplateIncompatible(name, differences)
            task = spawn(self._judge(key, files), name=f"verify {name}")
            self._running[key] = task
        return await asyncio.shield(task)

    async def _judge(
        self, key: tuple[str, str], files: TemplateFiles
    ) -> VerifiedTemplate | _Refusal:
        try:
            verdict = await asyncio.to_thread(_judge, *key, files)
            self._verdicts[key] = verdict
            return verdict
        finally:
            del self._running[key]


def _manifest_differences(files: TemplateFiles) -> list[str]:
    """It was read before its identity was noted; read again, it must be the same."""
    try:
        data = (files.directory / MANIFEST).read_bytes()
    except OSError as error:
        return [f"{MANIFEST}: {error.strerror}"]
    return [] if manifest_digest(data) == files.digest else [f"{MANIFEST} was replaced"]


def _judge(name: str, digest: str, files: TemplateFiles) -> VerifiedTemplate | _Refusal:
    """Read everything once.  Blocks."""
    # Before the first read: what changes from here on is noticed.
    watch = _Watch(files, generation=bool(digest))
    copies = {MEMORY: -1, VMSTATE: -1}
    try:
        for label in copies:
            copies[label] = os.memfd_create(
                f"{label} of {name}", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
            )
        differences = _manifest_differences(files)
        for label, path, expected in files.expected():
            differences += _verify(label, path, expected, copies.get(label))
        if not differences and watch.changed():
            differences = ["its files were replaced while they were read"]
        if differences:
            _close([fd for fd in copies.values() if fd >= 0])
            return _Refusal(differences, watch)
        for fd in copies.values():
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    except OSError as error:
        _close([fd for fd in copies.values() if fd >= 0])
        raise NoSpace(f"cannot hold template {name!r} in memory: {error.strerror}") from error
    return VerifiedTemplate(files, copies[MEMORY], copies[VMSTATE], watch)
