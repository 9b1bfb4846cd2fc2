"""Where connections come from: a Unix socket, a TCP address, and the rules for each."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from pathlib import Path


class ListenError(Exception):
    """A listener that must not, or cannot, be had."""


def unix(path: Path, mode: int) -> socket.socket:
    """A listening socket at `path`, never wider than `mode`.  A dead one's file is replaced."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _make_way(path)
        before = os.umask(0o177)
        try:
            server.bind(str(path))
        finally:
            os.umask(before)
        path.chmod(mode)
        server.listen(512)
    except OSError as error:
        server.close()
        raise ListenError(f"--socket: {path}: {error.strerror or error}") from error
    except ListenError:
        server.close()
        raise
    server.setblocking(False)
    return server


def tcp(address: str, *, has_tokens: bool, public: bool) -> socket.socket:
    """A listening socket on `HOST:PORT`.

    Refused without tokens, and on an address that is not loopback unless that was allowed.
    """
    if not has_tokens:
        raise ListenError("--listen: a TCP listener needs --tokens")
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16 and host):
        raise ListenError(f"--listen: {address!r} is not HOST:PORT")
    try:
        family, kind, _, _, where = socket.getaddrinfo(
            host, int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        if not ipaddress.ip_address(where[0]).is_loopback and not public:
            raise ListenError(
                f"--listen: {where[0]} is not loopback; this is plain HTTP, so put TLS in front "
                "and say --allow-public-bind"
            )
        server = socket.socket(family, kind)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(where)
        server.listen(512)
    except OSError as error:
        raise ListenError(f"--listen: {address}: {error.strerror or error}") from error
    server.setblocking(False)
    return server


def _make_way(path: Path) -> None:
    if not (path.exists() or path.is_symlink()):
        return
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise ListenError(f"--socket: {path} exists and is not a socket")
    if _answers(path):
        raise ListenError(f"--socket: another server answers on {path}")
    path.unlink()


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
