"""Taps: made, addressed and listed.  The only code that speaks to the kernel's links."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from sandbox_engine.errors import VmmError
from sandbox_engine.model.link import PREFIX, Link, read_tap

_TUN = "/dev/net/tun"
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI, _IFF_TUN_EXCL = 0x0002, 0x1000, 0x8000
_SETTINGS = {
    # Behind the lock, should anything ever take that away: nothing is routed on from a
    # guest, and no source is believed but its own.
    "ipv4": {"forwarding": "0", "rp_filter": "1", "accept_source_route": "0",
             "accept_redirects": "0", "send_redirects": "0"},
    "ipv6": {"disable_ipv6": "1"},
}  # fmt: skip


class Taps:
    """Used by one thread."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._kernel = IPRoute()

    def close(self) -> None:
        """Close the kernel's socket."""
        self._kernel.close()

    def open(self, link: Link) -> int:
        """A tap that is down and has no address; it goes with its last descriptor.

        Raises `VmmError`.
        """
        fd = -1
        try:
            fd = os.open(_TUN, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            flags = _IFF_TAP | _IFF_NO_PI | _IFF_TUN_EXCL
            fcntl.ioctl(fd, _TUNSETIFF, struct.pack("16sH22x", link.tap.encode(), flags))
            for family, settings in _SETTINGS.items():
                folder = Path(f"/proc/sys/net/{family}/conf/{link.tap}")
                for name, value in settings.items() if folder.exists() else ():
                    (folder / name).write_text(value)
        except OSError as error:
            if fd >= 0:
                os.close(fd)
            raise VmmError(f"cannot make the tap {link.tap}: {error}") from error
        return fd

    def up(self, link: Link) -> None:
        """Give it the host's address and let it carry frames.  Raises `VmmError`."""
        try:
            (index,) = self._kernel.link_lookup(ifname=link.tap)
            self._kernel.link("set", index=index, IFLA_IFALIAS=link.alias)
            self._kernel.addr("add", index=index, address=link.host, prefixlen=PREFIX)
            self._kernel.link("set", index=index, state="up")
        except (NetlinkError, OSError, ValueError) as error:
            raise VmmError(f"cannot set the tap {link.tap} up: {error}") from error

    def delete(self, tap: str) -> None:
        """Idempotent.  Raises `VmmError`."""
        try:
            for index in self._kernel.link_lookup(ifname=tap):
                self._kernel.link("del", index=index)
        except (NetlinkError, OSError) as error:
            if getattr(error, "code", 0) != 19:  # ENODEV: it went meanwhile
                raise VmmError(f"cannot delete the tap {tap}: {error}") from error

    def mine(self) -> list[Link]:
        """Those there are of this engine."""
        found = []
        for message in self._kernel.get_links():
            name, alias = message.get_attr("IFLA_IFNAME"), message.get_attr("IFLA_IFALIAS") or ""
            if (link := read_tap(self._tag, name, alias)) is not None:
                found.append(link)
        return found

    def networks(self) -> list[str]:
        """`ADDRESS/PREFIX` of every link of the host, ours among them."""
        return [
            f"{message.get_attr('IFA_ADDRESS')}/{message['prefixlen']}"
            for message in self._kernel.get_addr(family=2)
        ]
