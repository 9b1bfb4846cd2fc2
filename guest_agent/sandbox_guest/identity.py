"""Make a restored guest itself and present-day, before any of its workload runs.

A clone wakes with its template's clock, random state and names.  Every step here either
really happened or raises: the engine hands out no sandbox whose identity is not
confirmed.

User-space random generators survive a kernel reseed unharmed by it, so they are told:
`generation` is replaced in one step (watch it), and a process that left a file named by
its pid in `reseed/` is sent the signal whose number the file holds (SIGUSR1 if empty).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import signal
import socket
import struct
import time
import uuid
from pathlib import Path
from typing import Any

from sandbox_guest.places import Places

BOOT_ID = "/proc/sys/kernel/random/boot_id"
_RNDADDENTROPY = 0x40085203
_RNDRESEEDCRNG = 0x5207
_MIN_ENTROPY = 32


class IdentityError(Exception):
    """A step could not be done; the message says which."""


def set_clock(clock_ns: int) -> None:
    """Step the wall clock.  Raises `OSError`."""
    time.clock_settime_ns(time.CLOCK_REALTIME, clock_ns)


def add_entropy(entropy: bytes) -> None:
    """Credit `entropy` to the kernel and reseed its generator from it.

    Raises `IdentityError` if it is too little, `OSError`.
    """
    if len(entropy) < _MIN_ENTROPY:
        raise IdentityError(f"entropy of {len(entropy)} bytes; at least {_MIN_ENTROPY} are needed")
    pool = struct.pack("=ii", 8 * len(entropy), len(entropy)) + entropy
    fd = os.open("/dev/urandom", os.O_WRONLY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, _RNDADDENTROPY, pool)
        fcntl.ioctl(fd, _RNDRESEEDCRNG)
    finally:
        os.close(fd)


class Identity:
    """Applies identities to this guest."""

    def __init__(self, places: Places) -> None:
        self._etc = Path(places.etc)
        self._state = Path(places.state)

    def prepare(self) -> None:
        """Make the folders and files that a later identity rewrites."""
        reseed = self._state / "reseed"
        reseed.mkdir(parents=True, exist_ok=True)
        reseed.chmod(0o1777)
        boot_id = self._state / "boot_id"
        boot_id.write_text(Path(BOOT_ID).read_text())

    @property
    def boot_id(self) -> str:
        """What processes of this guest see as the boot id."""
        return (self._state / "boot_id").read_text().strip()

    def apply(self, identity: dict[str, Any]) -> None:
        """Apply everything but the clock and the environment.

        Raises `IdentityError`, `OSError`, `KeyError`, `TypeError` and `ValueError`.
        """
        add_entropy(base64.b64decode(identity["entropy"], validate=True))
        if (machine_id := identity.get("machine_id")) is not None:
            self._set_machine_id(machine_id)
            self._set_boot_id()
        if (hostname := identity.get("hostname")) is not None:
            self._set_hostname(hostname)
        replace(self._state / "generation", str(identity["generation"]) + "\n")
        self._signal_generators()

    def _set_machine_id(self, machine_id: str) -> None:
        if len(machine_id) != 32 or set(machine_id) - set("0123456789abcdef"):
            raise IdentityError("machine_id is not 32 hex digits")
        replace(self._etc / "machine-id", machine_id + "\n")

    def _set_boot_id(self) -> None:
        """In place, not by rename: the file is mounted over the kernel's."""
        fd = os.open(self._state / "boot_id", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.pwrite(fd, f"{uuid.uuid4()}\n".encode(), 0)
        finally:
            os.close(fd)

    def _set_hostname(self, hostname: str) -> None:
        socket.sethostname(hostname)
        replace(self._etc / "hostname", hostname + "\n")
        hosts = self._etc / "hosts"
        lines = hosts.read_text().splitlines() if hosts.exists() else ["127.0.0.1\tlocalhost"]
        kept = [line for line in lines if not line.startswith("127.0.1.1")]
        replace(hosts, "\n".join([*kept, f"127.0.1.1\t{hostname}", ""]))

    def _signal_generators(self) -> None:
        for entry in (self._state / "reseed").iterdir():
            with contextlib.suppress(OSError, ValueError):
                _signal_generator(entry)


def _signal_generator(entry: Path) -> None:
    """Nobody may have another user's process signalled: the file's owner is the process's."""
    pid = int(entry.name)
    try:
        owner = Path(f"/proc/{pid}").stat().st_uid
    except FileNotFoundError:
        entry.unlink()
        return
    fd = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if os.fstat(fd).st_uid == owner:
            os.kill(pid, int(os.read(fd, 8).strip() or signal.SIGUSR1))
    finally:
        os.close(fd)


def replace(path: Path, text: str) -> None:
    """Replace a file in one step."""
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(text)
    partial.replace(path)
