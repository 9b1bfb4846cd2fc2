"""How messages travel in HTTP bodies, and what an error looks like.  No I/O.

Three ways, told by the content type:

    application/json, application/proto                  one message (Connect, unary)
    application/connect+json, application/connect+proto  enveloped messages (Connect, streams)
    application/x-ndjson                                 JSON messages, one a line, for curl
"""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from google.rpc import error_details_pb2, status_pb2
from msgspec import Struct

from sandbox_engine.errors import EngineError, InvalidArgument, TooLarge

MAX_MESSAGE = 8 << 20
"""Bytes of one message; that of the gRPC door."""
_HEADER = struct.Struct(">BI")
_COMPRESSED, _END = 0x01, 0x02

CODES: dict[int, tuple[str, int]] = {
    1: ("canceled", 499),
    2: ("unknown", 500),
    3: ("invalid_argument", 400),
    4: ("deadline_exceeded", 504),
    5: ("not_found", 404),
    6: ("already_exists", 409),
    7: ("permission_denied", 403),
    8: ("resource_exhausted", 429),
    9: ("failed_precondition", 400),
    10: ("aborted", 409),
    11: ("out_of_range", 400),
    12: ("unimplemented", 501),
    13: ("internal", 500),
    14: ("unavailable", 503),
    15: ("data_loss", 500),
    16: ("unauthenticated", 401),
}
"""gRPC code to the Connect protocol's name of it and its HTTP status."""


class Kind(Struct, frozen=True, kw_only=True):
    """What a content type says."""

    content_type: str
    json: bool
    framing: str
    """`single`, `envelopes` or `lines`."""


KINDS = {
    kind.content_type: kind
    for kind in (
        Kind(content_type="application/json", json=True, framing="single"),
        Kind(content_type="application/proto", json=False, framing="single"),
        Kind(content_type="application/connect+json", json=True, framing="envelopes"),
        Kind(content_type="application/connect+proto", json=False, framing="envelopes"),
        Kind(content_type="application/x-ndjson", json=True, framing="lines"),
    )
}


def decoded(kind: Kind, data: bytes, into: Message) -> Message:
    """`into`, filled.  Raises `InvalidArgument`."""
    try:
        if kind.json:
            return json_format.Parse(data or b"{}", into)
        into.ParseFromString(data)
    except (json_format.ParseError, DecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument("body", f"is no {into.DESCRIPTOR.name}: {error}") from error
    return into


def encoded(kind: Kind, message: Message) -> bytes:
    """A message as it goes into a body, framed where the kind frames."""
    if not kind.json:
        data = message.SerializeToString()
    else:
        data = json_format.MessageToJson(message, indent=None).encode()
    if kind.framing == "envelopes":
        return _HEADER.pack(0, len(data)) + data
    return data + b"\n" if kind.framing == "lines" else data


def ending(kind: Kind, failure: dict[str, Any] | None) -> bytes:
    """What closes a stream: Connect's last envelope, or an error as the last line."""
    if kind.framing == "envelopes":
        data = json.dumps({"error": failure} if failure else {}).encode()
        return _HEADER.pack(_END, len(data)) + data
    return json.dumps({"error": failure}).encode() + b"\n" if failure else b""


class Splitter:
    """Cuts a body into messages as it arrives."""

    def __init__(self, kind: Kind) -> None:
        self._lines = kind.framing == "lines"
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that are whole now.  Raises `EngineError` for what is none."""
        self._held += data
        found = []
        while (message := self._next()) is not None:
            found.append(message)
        if len(self._held) > MAX_MESSAGE + _HEADER.size:
            raise TooLarge(f"body: a message of more than {MAX_MESSAGE} bytes")
        return found

    def end(self) -> list[bytes]:
        """What is left at the end: a last line without its newline."""
        left = bytes(self._held).strip() if self._lines else bytes(self._held)
        if left and not self._lines:
            raise InvalidArgument("body", "it ends within a message")
        return [left] if left else []

    def _next(self) -> bytes | None:
        return self._line() if self._lines else self._envelope()

    def _line(self) -> bytes | None:
        while (at := self._held.find(b"\n")) >= 0:
            line = bytes(self._held[:at]).strip()
            del self._held[: at + 1]
            if line:
                return line
        return None

    def _envelope(self) -> bytes | None:
        if len(self._held) < _HEADER.size:
            return None
        flags, size = _HEADER.unpack_from(self._held)
        if flags & _COMPRESSED:
            raise InvalidArgument("body", "compressed messages are not taken")
        if size > MAX_MESSAGE:
            raise TooLarge(f"body: a message of {size} bytes; the limit is {MAX_MESSAGE}")
        if len(self._held) < _HEADER.size + size:
            return None
        data = bytes(self._held[_HEADER.size : _HEADER.size + size])
        del self._held[: _HEADER.size + size]
        return data


def failure(status: status_pb2.Status) -> dict[str, Any]:
    """An error as the Connect protocol says it, each detail readable under `debug`."""
    details = []
    for packed in status.details:
        name = packed.TypeName()
        detail: dict[str, Any] = {
            "type": name,
            "value": base64.b64encode(packed.value).decode().rstrip("="),
        }
        message = getattr(error_details_pb2, name.rpartition(".")[2])()
        if packed.Unpack(message):
            detail["debug"] = json_format.MessageToDict(message)
        details.append(detail)
    return {"code": CODES[status.code][0], "message": status.message, "details": details}


def http_status(status: status_pb2.Status) -> int:
    """The HTTP status of an error that is a whole answer."""
    return CODES[status.code][1]


class WrongKind(EngineError):
    """The content type is none that this method takes; `kinds` are."""

    def __init__(self, kinds: list[str]) -> None:
        super().__init__(f"the content type must be one of {', '.join(kinds)}")
        self.kinds = kinds
