"""Trees as tar files: packed here, and unpacked as what an untrusted guest has sent.

Python's own extraction filters are not in every release that this package runs on, and
what may leave a guest is few enough to say here: regular files, directories, and symbolic
links that stay inside.
"""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO

from sandbox_sdk.errors import UnsafeTree

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


def pack(local: str, into: IO[bytes]) -> None:
    """Write what `local` holds; `into` is left at its start.

    Owners are not kept.  Raises `NotADirectoryError`; sockets and devices are left out.
    """
    if not Path(local).is_dir():
        raise NotADirectoryError(local)
    with tarfile.open(fileobj=into, mode="w", dereference=False) as archive:
        archive.add(local, ".", filter=_packed)
    into.seek(0)


def _packed(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack(packed: IO[bytes], local: str) -> None:
    """Make the tree at `local`.  Raises `UnsafeTree`, `FileExistsError` where it is not empty.

    What was unpacked before a failure is left for the caller to look at or remove.
    """
    root = Path(local)
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise FileExistsError(f"{local} is not empty")
    packed.seek(0)
    links: dict[PurePosixPath, str] = {}
    try:
        with tarfile.open(fileobj=packed, mode="r:") as archive:
            for member in archive:
                _member(archive, member, root, links)
    except tarfile.TarError as error:
        raise UnsafeTree(f"not a tar file: {error}") from None
    _make_links(root, links)


def _member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path, links: dict[PurePosixPath, str]
) -> None:
    inside = _inside(member.name)
    place = root / inside
    if member.isdir():
        place.mkdir(parents=True, exist_ok=True)
    elif member.issym():
        _check_link(inside, member.linkname)
        links[inside] = member.linkname
    elif member.isreg():
        place.parent.mkdir(parents=True, exist_ok=True)
        _file(archive, member, place)
    else:
        raise UnsafeTree(f"{member.name!r} is neither a file, a directory nor a symbolic link")


def _file(archive: tarfile.TarFile, member: tarfile.TarInfo, place: Path) -> None:
    source = archive.extractfile(member)
    assert source is not None  # a regular file
    # Neither set-user-id bits nor write permission for others come along.
    mode = stat.S_IMODE(member.mode) & 0o755 | stat.S_IWUSR | stat.S_IRUSR
    with os.fdopen(os.open(place, _NEW, mode), "wb") as file:
        shutil.copyfileobj(source, file)


def _inside(name: str) -> PurePosixPath:
    """`name` without `.`; raises where it is absolute or has a `..`."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise UnsafeTree(f"{name!r} leaves the tree")
    return path


def _check_link(inside: PurePosixPath, target: str) -> None:
    """Raises where a symbolic link at `inside` may lead out of the tree.

    A `..` may stand only at the beginning: behind a name it climbs from wherever that name
    leads, which another link decides.
    """
    parts = PurePosixPath(target).parts
    up = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if parts[:1] == ("/",) or ".." in parts[up:] or up > len(inside.parent.parts):
        raise UnsafeTree(f"the link {str(inside)!r} to {target!r} leaves the tree")


def _make_links(root: Path, links: dict[PurePosixPath, str]) -> None:
    for inside, target in links.items():
        if any(parent in links for parent in inside.parents):
            raise UnsafeTree(f"{str(inside)!r} lies below a link")
        place = root / inside
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
