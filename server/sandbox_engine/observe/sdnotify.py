"""Tell the service manager how far we are (sd_notify), where one asked to know."""

from __future__ import annotations

import os
import socket


def notify(state: str) -> None:
    """Send `READY=1`, `STOPPING=1`..  Does nothing without NOTIFY_SOCKET."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.connect(address)
        link.send(state.encode())
