"""Root file systems: from a Debian suite, a tar or a folder to `rootfs.ext4`.

No mounts on the host, and nothing of the source runs on it except what mmdebstrap itself
does in its own chroot.  Each result lies in the cache under a digest of what it was made
from; for a suite that is the suite, the packages and the archive mmdebstrap once made of
them, so a rebuild changes nothing until one is forced.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct

from sandbox_engine.model.template import BuildRequest, SourceKind
from sandbox_engine.templates import ext4, unpack
from sandbox_engine.templates.commands import run
from sandbox_engine.templates.digests import digest_fd, identity_of
from sandbox_engine.templates.layout import Layout
from sandbox_engine.templates.work import publish, work_folder

ENTRIES_PER_MIB = (1 << 20) // ext4.BYTES_PER_INODE
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# mmdebstrap copies these two from the host; they are the host's, and each guest gets its own.
_FORGET_HOST = 'rm -f "$1/etc/hostname" "$1/etc/resolv.conf"'

OnLine = Callable[[str], None]


class BadSource(Exception):
    """The source is missing, unreadable, hostile, or larger than the disk."""

    def __init__(self, problem: str, field: str = "source") -> None:
        super().__init__(problem)
        self.field = field


class Rootfs(Struct, frozen=True):
    """A root file system in the cache."""

    image: Path
    identity: str
    """Digest of what it was made from."""


async def obtain(
    layout: Layout, request: BuildRequest, on_line: OnLine | None = None
) -> tuple[Rootfs, bool]:
    """The root file system of `request`, and whether it was here already.

    Raises `BadSource`, `CommandFailed`, `OSError`.
    """
    source = request.origin
    path = Path(source.value)
    if source.kind is SourceKind.DEBIAN:
        path = await _debian_archive(layout, request, on_line)
    digest = await _digest_of_source(path, is_folder=source.kind is SourceKind.DIR)
    identity = hashlib.sha256(f"{digest} {request.disk_mib} {_recipe()}".encode()).hexdigest()
    image = layout.cache / "rootfs" / f"{identity}.ext4"
    if image.exists():
        return Rootfs(image, identity), True
    with work_folder(layout.work) as work:
        tree = path
        if source.kind is not SourceKind.DIR:
            tree = work / "tree"
            await _unpack_archive(path, tree, request.disk_mib)
        await _make_image(tree, work / "image", request.disk_mib)
        if await _digest_of_source(path, is_folder=source.kind is SourceKind.DIR) != digest:
            raise BadSource(f"{path} changed while it was read")
        publish(work / "image", image)
    return Rootfs(image, identity), False


def forget(layout: Layout, request: BuildRequest) -> None:
    """Drop the cached packages of a suite, so that the next build fetches them anew."""
    if request.origin.kind is SourceKind.DEBIAN:
        _archive_path(layout, request).unlink(missing_ok=True)


def _recipe() -> str:
    """Changes when the way images are made does."""
    code = (Path(__file__), Path(ext4.__file__), Path(unpack.__file__))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in code)).hexdigest()


def _archive_path(layout: Layout, request: BuildRequest) -> Path:
    words = [request.origin.value, *sorted(set(request.include))]
    return layout.cache / "suites" / f"{hashlib.sha256(' '.join(words).encode()).hexdigest()}.tar"


async def _debian_archive(layout: Layout, request: BuildRequest, on_line: OnLine | None) -> Path:
    archive = _archive_path(layout, request)
    if archive.exists():
        return archive
    with work_folder(layout.work) as work:
        # mmdebstrap drops to apt's own user for downloads, below its temporary folder.
        work.chmod(0o711)
        packages = ",".join(sorted(set(request.include)))
        await run(
            [
                "mmdebstrap", "--variant=minbase", "--format=tar",
                "--aptopt=Apt::Install-Recommends false",
                f"--customize-hook={_FORGET_HOST}",
                *([f"--include={packages}"] if packages else []),
                request.origin.value, work / "root.tar",
            ],
            env={"TMPDIR": str(work)},
            on_line=on_line,
        )  # fmt: skip
        publish(work / "root.tar", archive)
    return archive


async def _unpack_archive(archive: Path, tree: Path, disk_mib: int) -> None:
    tree.mkdir()
    limits = unpack.Limits(max_bytes=disk_mib << 20, max_entries=disk_mib * ENTRIES_PER_MIB)
    try:
        await asyncio.to_thread(_unpack, archive, tree, limits)
    except unpack.BadTree as error:
        raise BadSource(f"{archive.name}: {error}") from error


def _unpack(archive: Path, tree: Path, limits: unpack.Limits) -> None:
    # Unbuffered: a child that decompresses starts where the descriptor is.
    with archive.open("rb", buffering=0) as file, _decompressed(file) as stream:
        unpack.unpack(stream, tree, limits)


@contextlib.contextmanager
def _decompressed(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """Take zstd off, which Python cannot; the rest is recognised by tarfile itself."""
    magic = file.read(len(_ZSTD_MAGIC))
    file.seek(0)
    if magic != _ZSTD_MAGIC:
        yield file
        return
    try:
        child = subprocess.Popen(
            ["zstd", "-dcq"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise unpack.BadTree(f"cannot decompress it ({error}): install zstd") from error
    assert child.stdout is not None
    with child:
        try:
            yield child.stdout
        finally:
            child.kill()  # it may still have more to say than anyone wants to read


async def _make_image(tree: Path, image: Path, disk_mib: int) -> None:
    try:
        await ext4.make_image(tree, image, disk_mib, "sandbox-root")
    except ext4.DoesNotFit as error:
        raise BadSource(f"{disk_mib} MiB cannot hold the tree", "disk_mib") from error


async def _digest_of_source(path: Path, *, is_folder: bool) -> str:
    try:
        return await asyncio.to_thread(_digest_of_folder if is_folder else _digest_of_file, path)
    except OSError as error:
        raise BadSource(f"cannot read {path}: {error.strerror or error}") from error


def _digest_of_file(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a FIFO must not hang the build
    try:
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise BadSource(f"{path} is not a regular file")
        digest = digest_fd(fd)
        if identity_of(os.fstat(fd)) != identity_of(before):
            raise BadSource(f"{path} changed while it was read")
        return digest.sha256
    finally:
        os.close(fd)


def _digest_of_folder(root: Path) -> str:
    """Names, kinds, owners, modes, times and content of everything below `root`."""
    digest = hashlib.sha256()
    if not stat.S_ISDIR(root.stat().st_mode):
        raise BadSource(f"{root} is not a folder")
    for path in (root, *_walk(root)):
        facts = path.lstat() if path != root else path.stat()
        content = ""
        if stat.S_ISREG(facts.st_mode):
            content = _digest_of_file(path)
        elif stat.S_ISLNK(facts.st_mode):
            content = str(path.readlink())
        elif path != root and (stat.S_ISBLK(facts.st_mode) or stat.S_ISCHR(facts.st_mode)):
            raise BadSource(f"{path} is a device; a guest has its own")
        line = (
            str(path.relative_to(root)), facts.st_mode, facts.st_uid, facts.st_gid,
            int(facts.st_mtime), content,
        )  # fmt: skip
        digest.update(repr(line).encode(errors="surrogateescape") + b"\n")
    return digest.hexdigest()


def _walk(root: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(root, onerror=_raise):
        folders.sort()
        for name in sorted((*folders, *files)):
            yield Path(place, name)


def _raise(error: OSError) -> None:
    raise error
