"""Network namespaces that a test makes: where its engine runs, and what it captures there."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pyroute2 import netns

T = TypeVar("T")
ETH_P_ALL = 3


def ip(*words: str, ns: str = "") -> str:
    """`ip`, in a namespace where one is named."""
    within = ["-n", ns] if ns else []
    return subprocess.run(
        ["ip", *within, *words], check=True, capture_output=True, text=True
    ).stdout


@contextmanager
def namespace(name: str) -> Iterator[str]:
    """A namespace with its loopback up; gone at the end, with everything in it."""
    own = f"sbx-{os.getpid()}-{name}"
    netns.create(own)
    try:
        ip("link", "set", "lo", "up", ns=own)
        yield own
    finally:
        netns.remove(own)


def within(ns: str, work: Callable[[], T]) -> T:
    """What `work` makes there, done by a thread of its own: its sockets, and its threads'."""
    made: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            netns.setns(ns)
            made.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def prefix(ns: str) -> list[str]:
    """Words before a command that is to run there, with every other view of the host as it is."""
    return ["nsenter", f"--net=/run/netns/{ns}"]


def nft(ns: str, *words: str) -> str:
    """`nft` there."""
    done = subprocess.run([*prefix(ns), "nft", *words], check=True, capture_output=True, text=True)
    return done.stdout


class Capture:
    """Every frame that passes some interfaces of a namespace, from now on."""

    def __init__(self, ns: str, interface: str) -> None:
        self.interface = interface
        self._sock = within(ns, self._open)

    def _open(self) -> socket.socket:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        sock.bind((self.interface, ETH_P_ALL))
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        return sock

    def frames(self) -> list[bytes]:
        """Those since this was last asked."""
        found = []
        while True:
            try:
                found.append(self._sock.recv(65536))
            except BlockingIOError:
                return found

    def close(self) -> None:
        self._sock.close()
