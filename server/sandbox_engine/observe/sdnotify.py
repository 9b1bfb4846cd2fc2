"""Tell the service manager how far we are (sd_notify), where one asked to know."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send `READY=1`, `STOPPING=1`..  Does nothing without NOTIFY_SOCKET."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link, contextlib.suppress(OSError):
        link.connect(address)  # a manager that went away is no reason to stop serving
        link.send(state.encode())
