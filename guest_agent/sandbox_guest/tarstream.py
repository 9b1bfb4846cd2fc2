"""Read a tar archive as its bytes arrive.  Pure: bytes in, members and their data out.

Headers are the standard library's to parse; what is ours is to need no file object,
long names (GNU and pax), and the rules for what may be in an archive at all.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = tarfile.BLOCKSIZE
MAX_EXTENSION = 1 << 20
"""Largest long name or pax header."""

MAX_DEPTH = 256
_LATEST = float(1 << 36)  # seconds; no filesystem keeps later times

_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_KINDS = {
    tarfile.DIRTYPE: "dir",
    tarfile.SYMTYPE: "symlink",
    tarfile.LNKTYPE: "link",
    **dict.fromkeys(_FILES, "file"),
}


class TarError(Exception):
    """What arrived is no archive, or one with members that are refused."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member begins; `size` bytes of data follow if it is a file."""

    name: tuple[str, ...]
    """Its path below the top, in parts; empty for the top itself."""
    kind: str
    """`file`, `dir`, `symlink` or `link`."""
    mode: int
    mtime: float
    size: int
    target: str
    """Of a symlink: as given.  Of a link: the path of another member."""


class TarReader:
    """Cuts a byte stream into `Member`s and pieces of file data.

    `finished` once the archive's end was read; what follows it is padding.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._data_left = 0  # of the current file
        self._padding = 0  # after it
        self._overrides: dict[str, str] = {}  # for the next member
        self.finished = False

    def feed(self, data: bytes) -> Iterator[Member | bytes]:
        """Absorb `data`; yield what it completed.  Raises `TarError`."""
        if self.finished:
            return
        if self._data_left and not self._buffer:  # the common case, without a second copy
            piece = data[: self._data_left]
            self._data_left -= len(piece)
            yield piece
            data = data[len(piece) :]
        self._buffer += data
        while not self.finished:
            if self._data_left:
                if not self._buffer:
                    return
                piece = bytes(self._buffer[: self._data_left])
                del self._buffer[: len(piece)]
                self._data_left -= len(piece)
                yield piece
            elif len(self._buffer) < self._padding:
                return
            else:
                del self._buffer[: self._padding]
                self._padding = 0
                member = self._header()
                if member is None:
                    return
                if isinstance(member, Member):
                    yield member

    def _header(self) -> Member | bool | None:
        """The next member, True for a header that only describes it, None to wait."""
        if len(self._buffer) < BLOCK:
            return None
        block = bytes(self._buffer[:BLOCK])
        if not any(block):
            self.finished = True
            return None
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise TarError(f"not a tar archive: {error}") from error
        if info.type in _LONG or info.type in (tarfile.XHDTYPE, tarfile.XGLTYPE):
            return self._extension(info)
        del self._buffer[:BLOCK]
        return self._member(info)

    def _extension(self, info: tarfile.TarInfo) -> bool | None:
        if not 0 <= info.size <= MAX_EXTENSION:
            raise TarError(f"an extended header of {info.size} bytes")
        whole = BLOCK + -(-info.size // BLOCK) * BLOCK
        if len(self._buffer) < whole:
            return None
        body = bytes(self._buffer[BLOCK : BLOCK + info.size])
        del self._buffer[:whole]
        if info.type in _LONG:
            key = "path" if info.type == tarfile.GNUTYPE_LONGNAME else "linkpath"
            self._overrides[key] = body.rstrip(b"\0").decode(errors="surrogateescape")
        elif info.type == tarfile.XHDTYPE:
            self._overrides |= _pax(body)
        return True

    def _member(self, info: tarfile.TarInfo) -> Member:
        given, self._overrides = self._overrides, {}
        kind = _KINDS.get(info.type)
        name = given.get("path", info.name)
        if kind is None:
            raise TarError(f"{name}: members of type {info.type!r} are refused")
        try:
            size = int(given.get("size", info.size))
            mtime = float(given.get("mtime", info.mtime))
        except ValueError as error:
            raise TarError(f"{name}: {error}") from error
        if size < 0 or not 0 <= mtime < _LATEST:
            raise TarError(f"{name}: has an impossible size or time")
        size = size if kind == "file" else 0
        self._data_left, self._padding = size, -size % BLOCK
        target = given.get("linkpath", info.linkname)
        parts = safe_parts(name)
        _check_target(kind, parts, target)
        return Member(parts, kind, info.mode & 0o777, mtime, size, target)


def safe_parts(name: str) -> tuple[str, ...]:
    """The parts of a member's path.  Raises `TarError` for one that could leave the top."""
    if name.startswith("/") or "\0" in name:
        raise TarError(f"{name!r}: absolute members are refused")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if ".." in parts:
        raise TarError(f"{name}: members with .. are refused")
    if len(parts) > MAX_DEPTH:
        raise TarError(f"a member {len(parts)} folders deep is refused")
    return parts


def _check_target(kind: str, parts: tuple[str, ...], target: str) -> None:
    """A link to the outside is refused; what a symlink leads to is never followed here."""
    if kind == "link":
        safe_parts(target)
    elif kind == "symlink":
        if target.startswith("/") or not target:
            raise TarError(f"{'/'.join(parts)}: links to {target!r} are refused")
        depth = len(parts) - 1
        for part in target.split("/"):
            depth += -1 if part == ".." else 0 if part in ("", ".") else 1
            if depth < 0:
                raise TarError(f"{'/'.join(parts)}: a link that leaves the archive is refused")


def _pax(body: bytes) -> dict[str, str]:
    """The records `length key=value` that matter here."""
    records: dict[str, str] = {}
    while body:
        digits, space, _ = body.partition(b" ")
        if not space or not digits.isdigit() or not len(digits) + 3 <= int(digits) <= len(body):
            raise TarError("a broken pax header")
        record = body[len(digits) + 1 : int(digits) - 1]
        key, _, value = record.partition(b"=")
        if key in (b"path", b"linkpath", b"size", b"mtime"):
            records[key.decode()] = value.decode(errors="surrogateescape")
        elif key.startswith(b"GNU.sparse"):
            raise TarError("sparse members are refused")
        body = body[int(digits) :]
    return records
