"""SOCKS5 (RFC 1928): CONNECT without a password, for guests whose channel names them."""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

from sandbox_broker.errors import Denied, Malformed, Refused, Unidentified
from sandbox_broker.http1 import parse_authority
from sandbox_broker.stream import Stream

VERSION = 5
SUCCEEDED, FAILURE, NOT_ALLOWED, UNREACHABLE, BAD_COMMAND, BAD_ADDRESS = 0, 1, 2, 4, 7, 8
_NO_AUTHENTICATION, _NONE_ACCEPTABLE = 0, 0xFF
_IPV4, _NAME, _IPV6 = 1, 3, 4
_CONNECT = 1


class SocksError(Refused):
    """A request that gets a SOCKS reply of its own."""

    def __init__(self, reply: int, reason: str) -> None:
        self.reply = reply
        super().__init__(reason)


class Reader:
    """Exact reads from a stream."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._data = b""

    async def exactly(self, size: int) -> bytes:
        """`size` bytes; raises `Malformed` at an early end."""
        while len(self._data) < size:
            piece = await self._stream.read()
            if not piece:
                raise Malformed("the connection ended in the SOCKS handshake")
            self._data += piece
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def give_back(self) -> None:
        """What was read too far belongs to the tunnel."""
        self._stream.unread(self._data)
        self._data = b""


async def negotiate(stream: Stream) -> tuple[str, int]:
    """Greet, and read where the guest wants to go; raises `Malformed`, `SocksError`."""
    reader = Reader(stream)
    version, count = await reader.exactly(2)
    if version != VERSION:
        raise Malformed("not SOCKS5")
    if _NO_AUTHENTICATION not in await reader.exactly(count):
        stream.write(bytes((VERSION, _NONE_ACCEPTABLE)))
        raise Malformed("no method without authentication is offered")
    stream.write(bytes((VERSION, _NO_AUTHENTICATION)))
    version, command, _, kind = await reader.exactly(4)
    if version != VERSION:
        raise Malformed("not SOCKS5")
    host = await _host(reader, kind)
    (port,) = struct.unpack("!H", await reader.exactly(2))
    reader.give_back()
    if command != _CONNECT:
        raise SocksError(BAD_COMMAND, "only CONNECT is served")
    try:
        return parse_authority(f"[{host}]:{port}" if ":" in host else f"{host}:{port}", None)
    except Malformed as error:
        raise SocksError(BAD_ADDRESS, error.reason) from None


async def _host(reader: Reader, kind: int) -> str:
    if kind == _IPV4:
        return str(IPv4Address(await reader.exactly(4)))
    if kind == _IPV6:
        return str(IPv6Address(await reader.exactly(16)))
    if kind == _NAME:
        (size,) = await reader.exactly(1)
        return (await reader.exactly(size)).decode("latin-1")
    raise SocksError(BAD_ADDRESS, "an address of no known kind")


def reply(code: int) -> bytes:
    """A reply; the bound address is nobody's business."""
    return bytes((VERSION, code, 0, _IPV4)) + bytes(6)


def reply_for(error: Refused) -> bytes | None:
    """The reply to a refused request; None where the client does not speak SOCKS5."""
    if isinstance(error, SocksError):
        return reply(error.reply)
    if isinstance(error, Denied | Unidentified):
        return reply(NOT_ALLOWED)
    if isinstance(error, Malformed):
        return None
    return reply(UNREACHABLE)
