"""Unpack an archive into a folder so that a broken one changes nothing.

Members are written to a staging folder inside the destination, by descriptor and never
through a link; only after a clean end are they moved over, by renames.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Self

from sandbox_guest import trees
from sandbox_guest.confine import Folder
from sandbox_guest.pace import Pace
from sandbox_guest.replace import write_all
from sandbox_guest.tarstream import Member, TarError, TarReader, safe_parts

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Unpacking:
    """One archive on its way into `dest`; an async context manager that cleans up."""

    def __init__(self, dest: str) -> None:
        """Make the staging folder.  `dest` must exist.  Raises `OSError`."""
        self._dest = os.open(dest, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._name = f".silkd-push-{os.urandom(6).hex()}"
        try:
            os.mkdir(self._name, 0o700, dir_fd=self._dest)
            self._staging = Folder(f"/proc/self/fd/{self._dest}/{self._name}", beneath=True)
        except BaseException:
            os.close(self._dest)
            raise
        self._reader = TarReader()
        self._file = -1
        self._file_member: Member | None = None
        self._folders: list[Member] = []  # whose mode and time are set at the end
        self._pace = Pace()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._file >= 0:
            os.close(self._file)
        os.close(self._staging.fd)
        try:
            await trees.remove(self._dest, self._name, recursive=True)
        finally:
            os.close(self._dest)

    async def feed(self, data: bytes) -> None:
        """Absorb bytes of the archive.  Raises `TarError`, `OSError`."""
        for item in self._reader.feed(data):
            if isinstance(item, bytes):
                write_all(self._file, item)
            else:
                self._finish_file()
                self._begin(item)
            await self._pace()

    async def merge(self) -> None:
        """Move everything over.  Raises `TarError` if the archive did not end."""
        if not self._reader.finished:
            raise TarError("the archive ends too early")
        self._finish_file()
        for member in reversed(self._folders):
            fd = self._staging.open("/".join(member.name), _FOLDER)
            _dress(fd, member)
            os.close(fd)
        source = self._staging.open("", _FOLDER)
        try:
            await self._merge(source, self._dest)
        finally:
            os.close(source)

    # -- staging -----------------------------------------------------------------

    def _begin(self, member: Member) -> None:
        if not member.name:
            return  # the top itself
        parent = self._parent(member.name)
        name = member.name[-1]
        try:
            match member.kind:
                case "dir":
                    self._make_folder(parent, member)
                case "file":
                    self._clear(parent, name)
                    self._file = os.open(name, _NEW_FILE, 0o600, dir_fd=parent)
                    self._file_member = member
                case "symlink":
                    self._clear(parent, name)
                    os.symlink(member.target, name, dir_fd=parent)
                case _:
                    self._link(member.target, parent, name)
        finally:
            os.close(parent)

    def _parent(self, parts: tuple[str, ...]) -> int:
        """The folder of a member, made if the archive did not name it; never by a link."""
        fd = os.dup(self._staging.fd)
        for part in parts[:-1]:
            below = self._step(fd, part)
            os.close(fd)
            fd = below
        return fd

    def _step(self, at: int, name: str) -> int:
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=at)
        try:
            return os.open(name, _FOLDER, dir_fd=at)
        except OSError as error:
            raise TarError(f"{name}: a member below what is no folder is refused") from error

    def _make_folder(self, parent: int, member: Member) -> None:
        os.close(self._step(parent, member.name[-1]))
        self._folders.append(member)

    def _link(self, target: str, parent: int, name: str) -> None:
        """A hard link is a second name of an earlier member."""
        parts = safe_parts(target)
        try:
            folder = self._staging.open("/".join(parts[:-1]), os.O_PATH | os.O_DIRECTORY)
        except OSError as error:
            raise TarError(f"{name}: links to {target!r}, which is not in the archive") from error
        try:
            if not stat.S_ISREG(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False).st_mode):
                raise TarError(f"{name}: links to {target!r}, which is no file")
            self._clear(parent, name)
            os.link(parts[-1], name, src_dir_fd=folder, dst_dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError as error:
            raise TarError(f"{name}: links to {target!r}, which is not in the archive") from error
        finally:
            os.close(folder)

    def _clear(self, parent: int, name: str) -> None:
        """A later member of the same name wins, as in every archive."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)

    def _finish_file(self) -> None:
        if self._file >= 0 and self._file_member is not None:
            _dress(self._file, self._file_member)
            os.close(self._file)
            self._file, self._file_member = -1, None

    # -- merging -----------------------------------------------------------------

    async def _merge(self, source: int, dest: int) -> None:
        """Move what `source` holds into `dest`; folders that are there already are joined."""
        for name in os.listdir(source):
            await self._pace()
            if _both_folders(source, dest, name):
                below, into = (os.open(name, _FOLDER, dir_fd=fd) for fd in (source, dest))
                try:
                    await self._merge(below, into)
                finally:
                    os.close(below)
                    os.close(into)
            else:
                await self._move(source, dest, name)

    async def _move(self, source: int, dest: int, name: str) -> None:
        try:
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=dest)
        except (IsADirectoryError, NotADirectoryError):  # one is a folder and the other is not
            await trees.remove(dest, name, recursive=False)
            os.rename(name, name, src_dir_fd=source, dst_dir_fd=dest)


def _both_folders(source: int, dest: int, name: str) -> bool:
    try:
        modes = [os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode for fd in (source, dest)]
    except FileNotFoundError:
        return False
    return all(map(stat.S_ISDIR, modes))


def _dress(fd: int, member: Member) -> None:
    os.fchmod(fd, member.mode)
    os.utime(fd, (member.mtime, member.mtime))
