"""HTTP/1.1 from guests: h11 parses, and what proxies disagree on is refused first.  Pure.

RFC 9112 lets a recipient be lenient in several places; two recipients that are lenient in
different ways read two different requests in the same bytes.  So none of these gets through.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field

import h11

from sandbox_broker.errors import Malformed
from sandbox_broker.policy import DEFAULT_PORT

MAX_HEAD = 64 << 10
Headers = list[tuple[bytes, bytes]]
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*\Z")
_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}\Z")
_TARGET = re.compile(rb"[\x21-\x7e]{1,16384}\Z")
_ABSOLUTE = re.compile(rb"(?i:https?)://(?P<authority>[^/?]*)(?P<path>.*)\Z", re.DOTALL)
_NAMED = re.compile(r"(?P<host>[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_.])?)\Z")
_LITERAL6 = re.compile(r"\[(?P<host>[0-9A-Fa-f:.]+)\]\Z")
_TOKEN = re.compile(rb"[0-9a-f]{64}\Z")
# RFC 9110 7.6.1, and what seed 000 says is stripped.
HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te"),
        *(b"proxy-connection", b"proxy-authentication-info", b"trailer", b"transfer-encoding"),
        *(b"upgrade", b"x-sandbox-token"),
    }
)


@dataclass(slots=True)
class Head:
    """A request's head, checked; `path` is what the upstream gets as its target."""

    method: str
    form: str
    """`origin`, `absolute` or `connect`."""
    host: str
    port: int
    path: bytes
    headers: Headers
    version: bytes
    parser: h11.Connection = field(repr=False)
    chunked: bool = False
    length: int | None = None

    def values(self, name: bytes) -> list[bytes]:
        """The values of a header, in order."""
        return [value for key, value in self.headers if key == name]

    @property
    def has_body(self) -> bool:
        """Whether body bytes follow."""
        return self.chunked or bool(self.length)

    @property
    def keep_alive(self) -> bool:
        """Whether another request may follow."""
        options = {o.strip().lower() for v in self.values(b"connection") for o in v.split(b",")}
        return self.version == b"1.1" and b"close" not in options

    @property
    def websocket(self) -> bool:
        """Whether the request asks for a websocket (RFC 6455 4.1)."""
        return (
            self.method == "GET"
            and not self.has_body
            and [v.lower() for v in self.values(b"upgrade")] == [b"websocket"]
        )


def parse_head(raw: bytes) -> Head:
    """A request's head, its final empty line included; raises `Malformed`."""
    method, target, version = _check_lines(raw)
    parser = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
    parser.receive_data(raw)
    try:
        event = parser.next_event()
    except h11.RemoteProtocolError as error:
        raise Malformed(f"malformed request: {error}") from None
    if not isinstance(event, h11.Request):
        raise Malformed("malformed request")
    headers = [(bytes(name), bytes(value)) for name, value in event.headers]
    head = Head(method.decode(), "", "", 0, b"", headers, version, parser)
    _read_target(head, target)
    head.chunked = bool(head.values(b"transfer-encoding"))
    lengths = head.values(b"content-length")
    if lengths and not head.chunked:
        head.length = int(lengths[0])
    return head


def _check_lines(raw: bytes) -> tuple[bytes, bytes, bytes]:
    if not raw.endswith(b"\r\n\r\n"):
        raise Malformed("the head does not end")
    lines = raw[:-4].split(b"\r\n")
    for line in lines:
        if b"\n" in line or b"\r" in line or b"\0" in line:
            raise Malformed("a bare CR, LF or NUL in the head")
    parts = lines[0].split(b" ")
    if len(parts) != 3 or parts[2] not in {b"HTTP/1.1", b"HTTP/1.0"}:
        raise Malformed("the first line is not `METHOD TARGET HTTP/1.1`")
    method, target, version = parts
    if not _METHOD.match(method):
        raise Malformed("the method is no token")
    if not _TARGET.match(target) or b"\\" in target:
        raise Malformed("the target has characters that no target has, or is too long")
    names = [_check_field(line) for line in lines[1:]]
    if names.count(b"content-length") > 1 or names.count(b"transfer-encoding") > 1:
        raise Malformed("more than one Content-Length or Transfer-Encoding")
    if names.count(b"host") > 1:
        raise Malformed("more than one Host")
    if version == b"HTTP/1.0" and b"transfer-encoding" in names:
        raise Malformed("Transfer-Encoding in HTTP/1.0")
    return method, target, version[5:]


def _check_field(line: bytes) -> bytes:
    if line[:1] in {b" ", b"\t"}:
        raise Malformed("a folded header line")
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.match(name):
        raise Malformed("a header line without a name, or with a blank before the colon")
    name, value = name.lower(), value.strip(b" \t")
    if not _VALUE.match(value):
        raise Malformed("a control character in a header")
    if name == b"content-length" and not (value.isdigit() and len(value) <= 18):
        raise Malformed("Content-Length is not a number")
    if name == b"transfer-encoding" and value.lower() != b"chunked":
        raise Malformed("a transfer coding other than chunked")
    return name


def _read_target(head: Head, target: bytes) -> None:
    if b"#" in target:
        raise Malformed("a fragment in the target")
    if head.method == "CONNECT":
        head.form = "connect"
        head.host, head.port = parse_authority(target.decode(), default_port=None)
        return
    if target.startswith(b"/"):
        head.form, head.path = "origin", target
        hosts = head.values(b"host")
        if not hosts:
            raise Malformed("no Host")
        head.host, head.port = parse_authority(hosts[0].decode("latin-1"))
        return
    found = _ABSOLUTE.match(target)
    if not found:
        raise Malformed("the target is neither a path nor an http or https address")
    head.form = "absolute"
    head.host, head.port = parse_authority(found["authority"].decode())
    path = found["path"] or b"/"
    head.path = path if path.startswith(b"/") else b"/" + path


def parse_authority(text: str, default_port: int | None = DEFAULT_PORT) -> tuple[str, int]:
    """`host[:port]` as (lower-case host, port); raises `Malformed`."""
    if "@" in text:
        raise Malformed("userinfo in the target")
    host, colon, port = text.rpartition(":")
    if not colon or "]" in port:
        host, port = text, ""
        if colon == ":" and default_port is None:
            raise Malformed("CONNECT without a port")
    if not port and (default_port is None or host != text):
        raise Malformed("no port where one was to be")
    if port and not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise Malformed("the port is not 1 to 65535")
    found = _LITERAL6.match(host) or _NAMED.match(host)
    if not found or len(host) > 255 or ".." in host:
        raise Malformed("the host is neither a name nor an address")
    return found["host"].lower().removesuffix("."), int(port) if port else int(default_port or 0)


def session_token(head: Head) -> str | None:
    """The token of a guest with a network interface, from the carrier its shape uses.

    Origin-form has it in `X-Sandbox-Token`; the proxy shapes in `Proxy-Authorization: Basic`,
    as the password, whatever the user name.  None where it is missing or unusable.
    """
    if head.form == "origin":
        values = head.values(b"x-sandbox-token")
        found = values[0] if len(values) == 1 else b""
    else:
        values = head.values(b"proxy-authorization")
        found = _basic_password(values[0]) if len(values) == 1 else b""
    return found.decode() if _TOKEN.match(found) else None


def _basic_password(value: bytes) -> bytes:
    scheme, _, rest = value.partition(b" ")
    if scheme.lower() != b"basic":
        return b""
    try:
        return base64.b64decode(rest.strip(), validate=True).partition(b":")[2]
    except binascii.Error:
        return b""


def end_to_end(headers: Headers) -> Headers:
    """The headers that go further: neither hop-by-hop nor named by `Connection`."""
    named = {
        option.strip().lower()
        for name, value in headers
        if name == b"connection"
        for option in value.split(b",")
    }
    dropped = HOP_BY_HOP | named
    return [(name, value) for name, value in headers if name not in dropped]


def authority(host: str, port: int) -> bytes:
    """The value of `Host` for an https upstream."""
    shown = f"[{host}]" if ":" in host else host
    return (shown if port == DEFAULT_PORT else f"{shown}:{port}").encode()


def answer(
    status: int, reason: str, text: str = "", extra: Headers | None = None, *, close: bool = True
) -> bytes:
    """A short answer of the broker's own."""
    body = (text + "\n").encode() if text else b""
    lines = [f"HTTP/1.1 {status} {reason}".encode()]
    lines += [name + b": " + value for name, value in extra or []]
    lines += [b"Content-Type: text/plain; charset=utf-8", b"Content-Length: %d" % len(body)]
    if close:
        lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
