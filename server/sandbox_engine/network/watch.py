"""Hears when nftables changes, whoever changed it.

`nft flush ruleset`, as the host's own firewall does when it is loaded anew, takes every table
along.  Netlink says so at once (`NFNLGRP_NFTABLES` in linux/netfilter/nfnetlink.h).
"""

from __future__ import annotations

import socket

_NETLINK_NETFILTER = 12
_NFNLGRP_NFTABLES = 7


class RulesetWatch:
    """A socket of the network namespace of the thread that makes it."""

    def __init__(self) -> None:
        kind = socket.SOCK_RAW | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC
        self._socket = socket.socket(socket.AF_NETLINK, kind, _NETLINK_NETFILTER)
        self._socket.bind((0, 1 << (_NFNLGRP_NFTABLES - 1)))

    def fileno(self) -> int:
        """Readable once something changed."""
        return self._socket.fileno()

    def drain(self) -> None:
        """Forget what was heard; more than fits is as good as anything."""
        while True:
            try:
                self._socket.recv(1 << 16)
            except BlockingIOError:
                return
            except OSError:  # ENOBUFS: some was lost
                continue

    def close(self) -> None:
        """Hear nothing more."""
        self._socket.close()
