"""The guest's network interface: hidden until the host gives it an address.

Hidden means that no driver is bound to the device.  So a guest that is given nothing has
only its loopback, and whatever earlier owner left on the interface (addresses, routes,
neighbours, rules) is gone for good when it is shown again, for that makes a new one.
"""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import time
from pathlib import Path

from sandbox_guest.framing import Control

DRIVER = Path("/sys/bus/virtio/drivers/virtio_net")
DEVICES = Path("/sys/bus/virtio/devices")
_KIND = "0x0001"  # of virtio 1.2, 5: a network card
_SHOW_S = 2.0
_SIOCGIFFLAGS, _SIOCSIFFLAGS = 0x8913, 0x8914
_SIOCGIFADDR, _SIOCSIFADDR = 0x8915, 0x8916
_SIOCGIFNETMASK, _SIOCSIFNETMASK = 0x891B, 0x891C
_SIOCSIFHWADDR, _SIOCGIFHWADDR = 0x8924, 0x8927
_IFF_UP, _ARPHRD_ETHER = 1, 1


class Interface:
    """Shows and hides it."""

    def __init__(self) -> None:
        self._shown = False

    def hide(self) -> None:
        """Take it away with all it had.  Idempotent; raises `OSError`."""
        if self._shown:
            unbind()
            self._shown = False

    def show(self, address: str, mask: str, mac: str) -> None:
        """As a new one, with this address and nothing else; raises `OSError` unless it has it.

        No route leads further than `mask`, for nothing further could be reached.
        """
        unbind()
        self._shown = True
        name = _bind()
        with contextlib.suppress(OSError):  # a kernel without IPv6 has none of it
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
        hardware = bytes.fromhex(mac.replace(":", ""))
        wanted = (socket.inet_aton(address), socket.inet_aton(mask), hardware)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            _set(sock, name, *wanted)
            if _get(sock, name) != wanted:
                raise OSError(f"{name} has not the address it was given")


def unbind() -> None:
    """Leave no driver on any network card.  Raises `OSError`."""
    for device in DEVICES.iterdir() if DEVICES.exists() else ():
        if _is_card(device) and (device / "driver").exists():
            (DRIVER / "unbind").write_text(device.name)


def _bind() -> str:
    """The name of the interface that appears.  Raises `OSError`."""
    cards = [device for device in DEVICES.iterdir() if _is_card(device)]
    if not cards:
        raise OSError("this machine has no network card: rebuild the template")
    (DRIVER / "bind").write_text(cards[0].name)
    deadline = time.monotonic() + _SHOW_S
    while True:
        with contextlib.suppress(OSError, StopIteration):
            return next((cards[0] / "net").iterdir()).name
        if time.monotonic() > deadline:
            raise OSError("the network card's driver made no interface")
        time.sleep(0.001)


def _is_card(device: Path) -> bool:
    return (device / "device").read_text().strip() == _KIND


def _set(sock: socket.socket, name: str, address: bytes, mask: bytes, mac: bytes) -> None:
    _ioctl(sock, _SIOCSIFHWADDR, name, struct.pack("=H6s8x", _ARPHRD_ETHER, mac))
    # While it is down, so that no route is ever made for another mask.
    _ioctl(sock, _SIOCSIFADDR, name, struct.pack("=H2x4s8x", socket.AF_INET, address))
    _ioctl(sock, _SIOCSIFNETMASK, name, struct.pack("=H2x4s8x", socket.AF_INET, mask))
    (flags,) = struct.unpack_from("h", _ioctl(sock, _SIOCGIFFLAGS, name, bytes(16)), 16)
    _ioctl(sock, _SIOCSIFFLAGS, name, struct.pack("h14x", flags | _IFF_UP))


def _get(sock: socket.socket, name: str) -> tuple[bytes, bytes, bytes]:
    address = _ioctl(sock, _SIOCGIFADDR, name, bytes(16))[20:24]
    mask = _ioctl(sock, _SIOCGIFNETMASK, name, bytes(16))[20:24]
    return address, mask, _ioctl(sock, _SIOCGIFHWADDR, name, bytes(16))[18:24]


def _ioctl(sock: socket.socket, request: int, name: str, value: bytes) -> bytes:
    return fcntl.ioctl(sock, request, struct.pack("16s", name.encode()) + value + bytes(8))


def set_interface(interface: Interface, wanted: Control) -> None:
    """`{address, mask, mac}`, or `{}` to hide it.  Raises `OSError`, `KeyError`, `ValueError`."""
    if wanted:
        interface.show(wanted["address"], wanted["mask"], wanted["mac"])
    else:
        interface.hide()
