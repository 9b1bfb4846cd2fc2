"""What PID 1 does once before it serves: mounts, devices, loopback, folders.

The initramfs has mounted /proc, /sys, /dev, /run (a tmpfs) and the agent's own disk, and
switched to the guest's root.  /tmp is the root filesystem's own.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import socket
import struct
from pathlib import Path

from sandbox_guest.identity import BOOT_ID
from sandbox_guest.linux import MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, mount
from sandbox_guest.places import Places

_FILES = 1 << 19  # the agent's own limit of descriptors; what it starts gets less (spawn.c)
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_SIOCSIFADDR = 0x8916
_SIOCSIFNETMASK = 0x891C
_IFF_UP = 1


def boot(places: Places) -> None:
    """Bring the guest up.  Raises `OSError` when it cannot be what commands expect."""
    os.umask(0o022)
    os.chdir("/")
    resource.setrlimit(resource.RLIMIT_NOFILE, (_FILES, _FILES))
    _mount_kernel_filesystems()
    _link_descriptors()
    _folders(places)
    # A mount of its own: a hard link can neither leave it nor reach into it.
    mount(places.workspace, places.workspace, "", MS_BIND)
    loopback_up()
    alias_loopback(places.metadata.rpartition(":")[0])


def hide_boot_id(places: Places) -> None:
    """Show processes a boot id that every clone can renew; `Identity.prepare()` ran before."""
    mount(f"{places.state}/boot_id", BOOT_ID, "", MS_BIND)


def _mount_kernel_filesystems() -> None:
    safe = MS_NOSUID | MS_NOEXEC
    mount("cgroup2", "/sys/fs/cgroup", "cgroup2", safe | MS_NODEV)
    Path("/dev/pts").mkdir(exist_ok=True)
    mount("devpts", "/dev/pts", "devpts", safe, "gid=5,mode=620,ptmxmode=666")
    Path("/dev/shm").mkdir(exist_ok=True)
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777")


def _link_descriptors() -> None:
    """What udev would do: /dev/fd and its three names."""
    links = {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}
    for name, tail in links.items():
        with contextlib.suppress(FileExistsError):
            Path(f"/dev/{name}").symlink_to(f"/proc/self/fd{tail}")


def _folders(places: Places) -> None:
    for path, mode in ((places.workspace, 0o755), (places.state, 0o755), ("/tmp", 0o1777)):
        folder = Path(path)
        if not folder.is_dir():
            folder.mkdir(parents=True)
            folder.chmod(mode)


def loopback_up() -> None:
    """Bring `lo` up, which gives it its addresses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh14x", b"lo", 0)
        answer = fcntl.ioctl(sock, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("h", answer, 16)
        fcntl.ioctl(sock, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


def alias_loopback(address: str) -> None:
    """Give `lo` one more address, and no network behind it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.255")):
            packed = struct.pack("=H2x4s8x", socket.AF_INET, socket.inet_aton(value))
            fcntl.ioctl(sock, request, struct.pack("16s16s8x", b"lo:imds", packed))
