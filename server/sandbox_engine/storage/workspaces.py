"""`ports.workspaces.Volumes`: sparse ext4 images.

A volume's content is a guest's, which may have written anything at all to it.  So this host
never mounts one, and checks it as a user that owns nothing else, in bounded time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import structlog

from sandbox_engine.errors import NoSpace, VmmError, WorkspaceDamaged

CHECK_TIMEOUT_S = 120.0
NOBODY = 65534
"""Owns the images: the checker runs as this user, in a folder it cannot enter by itself."""
LOW_SPACE_BYTES = 64 << 20
"""Free space below which no volume is begun."""
REPAIRED = 3
"""Up to this, fsck's status says that all is in order now (fsck(8))."""
_PARTIAL = ".new"
_log = structlog.get_logger(__name__)


class Images:
    """The folder of volumes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder = folder
        for path in folder.glob("*" + _PARTIAL):
            path.unlink()

    async def make(self, volume: str, size_bytes: int) -> None:
        """See `ports.workspaces.Volumes`."""
        if shutil.disk_usage(self._folder).free < LOW_SPACE_BYTES:
            raise NoSpace("too little space is left for another workspace")
        partial = self._path(volume + _PARTIAL)
        try:
            await asyncio.to_thread(_format, partial, size_bytes)
            partial.rename(self._path(volume))
        except OSError as error:
            raise NoSpace(f"cannot make a workspace: {error.strerror}") from error
        finally:
            partial.unlink(missing_ok=True)

    async def repair(self, volume: str) -> None:
        """See `ports.workspaces.Volumes`."""
        fd = self.open(volume)
        try:
            status, words = await asyncio.to_thread(_check, fd, "-p")
            if status > REPAIRED:  # what it will not decide alone, it decides when told to
                status, words = await asyncio.to_thread(_check, fd, "-y")
        finally:
            os.close(fd)
        if status > REPAIRED:
            raise WorkspaceDamaged(f"the workspace cannot be repaired: {words}")
        _log.info("workspace checked", volume=volume, status=status)

    def open(self, volume: str) -> int:
        """See `ports.workspaces.Volumes`."""
        try:
            return os.open(self._path(volume), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise WorkspaceDamaged(f"the workspace cannot be opened: {error.strerror}") from error

    def remove(self, volume: str) -> None:
        """See `ports.workspaces.Volumes`."""
        self._path(volume).unlink(missing_ok=True)

    def used_bytes(self, volume: str) -> int:
        """See `ports.workspaces.Volumes`."""
        with contextlib.suppress(OSError):
            return self._path(volume).stat().st_blocks * 512
        return 0

    def names(self) -> list[str]:
        """See `ports.workspaces.Volumes`."""
        return [path.stem for path in self._folder.glob("*.ext4")]

    def _path(self, volume: str) -> Path:
        return self._folder / (volume if volume.endswith(_PARTIAL) else f"{volume}.ext4")


def _format(path: Path, size_bytes: int) -> None:
    """Blocks."""
    with path.open("xb") as file:
        file.truncate(size_bytes)
        os.fchmod(file.fileno(), 0o600)
    words = [
        "mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-m", "0", "-L", "workspace",
        "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0", str(path),
    ]  # fmt: skip
    status, said = _run(words)
    if status:
        raise VmmError(f"mke2fs failed: {said}")
    os.chown(path, NOBODY, NOBODY)
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _check(fd: int, how: str) -> tuple[int, str]:
    """Blocks.  The image is reached by its descriptor: its checker can open nothing else."""
    words = [
        "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
        "--no-new-privs", "--pdeathsig", "KILL", "--",
        "e2fsck", "-f", how, f"/proc/self/fd/{fd}",
    ]  # fmt: skip
    return _run(words, fd)


def _run(words: list[str], *fds: int) -> tuple[int, str]:
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, check=False, pass_fds=fds,
            timeout=CHECK_TIMEOUT_S, text=True, errors="replace", env=os.environ | {"LC_ALL": "C"},
        )  # fmt: skip
    except FileNotFoundError as error:
        raise VmmError(f"{words[0]} is not installed") from error
    except subprocess.TimeoutExpired:
        return 255, f"no end after {CHECK_TIMEOUT_S:g} s"
    return done.returncode, (done.stdout + done.stderr).strip()[-500:]
