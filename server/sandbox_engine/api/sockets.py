"""Unix sockets of the doors: who may open them, and whose file is in the way."""

from __future__ import annotations

import socket
import stat
import struct
from pathlib import Path

from sandbox_engine.errors import InvalidArgument

SOCKET_MODE = 0o660
FOLDER_MODE = 0o750
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


def claim(path: Path, field: str) -> None:
    """Make room for a socket at `path`: its folder exists, a dead one's file is gone.

    Raises `InvalidArgument` where another server answers there, or something else lies there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        if not _exists(path):
            return
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise InvalidArgument(field, f"{path} exists and is not a socket")
        if _answers(path):
            raise InvalidArgument(field, f"another server answers on {path}")
        path.unlink()
    except OSError as error:
        raise InvalidArgument(field, f"cannot use {path}: {error.strerror}") from error


def listening(path: Path, field: str, *, backlog: int = 512) -> socket.socket:
    """A listening socket at `path`, for owner and group only.  Raises `InvalidArgument`."""
    claim(path, field)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(str(path))
        path.chmod(SOCKET_MODE)
        server.listen(backlog)
        server.setblocking(False)
    except OSError as error:
        server.close()
        raise InvalidArgument(field, f"cannot listen on {path}: {error}") from error
    return server


def peer_uid(connection: socket.socket) -> int:
    """The uid of the process that connected."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[1])


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except TimeoutError:
            return True  # its backlog is full: somebody holds it
    return True
