"""Headers of a preview, in both directions.  Pure.

Towards the guest nothing says the pass, and nothing hop-by-hop goes on.  Towards the
browser an answer cannot leave its own prefix: previews of many sandboxes share an origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

Headers = list[tuple[bytes, bytes]]

_HOP = {
    b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate",
    b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    b"content-length", b"expect",
}  # fmt: skip
"""Hop-by-hop, or decided anew on each hop."""
_OURS = {
    b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto", b"x-forwarded-port",
    b"x-forwarded-prefix", b"forwarded", b"x-real-ip",
}  # fmt: skip
_FOR_THE_ORIGIN = {
    b"alt-svc", b"clear-site-data", b"service-worker-allowed", b"strict-transport-security",
    b"referrer-policy",
}  # fmt: skip
"""What would speak for every sandbox's preview on this host."""
_COOKIE_SCOPE = re.compile(rb";\s*(?:path|domain)\s*=[^;]*", re.IGNORECASE)
_COOKIE_PATH = re.compile(rb";\s*path\s*=\s*([^;]*)", re.IGNORECASE)


def _named(headers: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """Headers that `Connection` names."""
    return {
        word.strip().lower()
        for name, value in headers
        if name.lower() == b"connection"
        for word in value.split(b",")
    }


def value_of(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> bytes | None:
    """The first header of this lower-case name."""
    return next((value for name, value in headers if name.lower() == wanted), None)


def upgrade_of(headers: Headers) -> bytes | None:
    """The protocol that is asked for, where it is asked for properly."""
    return value_of(headers, b"upgrade") if b"upgrade" in _named(headers) else None


def framing_of(headers: Headers) -> Headers:
    """How the body that follows is delimited."""
    for name in (b"transfer-encoding", b"content-length"):
        if (value := value_of(headers, name)) is not None:
            return [(name, b"chunked" if name == b"transfer-encoding" else value)]
    return []


def to_guest(headers: Headers, *, prefix: bytes, peer: str) -> Headers:
    """What the guest is shown: the request as if made without the prefix, and who made it."""
    dropped = _HOP | _OURS | _named(headers)
    kept = [
        (name, _without(value, prefix)) for name, value in headers if name.lower() not in dropped
    ]
    kept += framing_of(headers)
    upgrade = upgrade_of(headers)
    kept += [(b"connection", b"close")] if upgrade is None else switch(upgrade)
    host = value_of(headers, b"host")
    if host is None:  # HTTP/1.0
        kept.append((b"host", b"localhost"))
    return [
        *kept,
        (b"x-forwarded-for", peer.encode()),
        (b"x-forwarded-host", host or b""),
        (b"x-forwarded-proto", b"http"),
    ]


def _without(value: bytes, prefix: bytes) -> bytes:
    return value.replace(prefix, b"").replace(prefix.rpartition(b"/")[2], b"")


def to_browser(headers: Headers, *, prefix: bytes, host: bytes, port: int) -> Headers:
    """What the browser is shown."""
    dropped = _HOP | _FOR_THE_ORIGIN | _named(headers)
    kept: Headers = []
    for name, value in headers:
        match name.lower():
            case lower if lower in dropped:
                continue
            case b"location" | b"content-location":
                kept.append((name, _moved(value, prefix, host, port)))
            case b"set-cookie":
                kept.append((name, _cookie(value, prefix)))
            case _:
                kept.append((name, value))
    # The pass is in the address: no other site is to learn it from a link that is followed.
    return [*kept, *framing_of(headers), (b"referrer-policy", b"same-origin")]


def switch(protocol: bytes) -> Headers:
    """The two headers of a change of protocol."""
    return [(b"connection", b"upgrade"), (b"upgrade", protocol)]


def _moved(value: bytes, prefix: bytes, host: bytes, port: int) -> bytes:
    """A place on the guest's server, as the browser reaches it; any other as it is."""
    for own in (host, b"localhost:%d" % port, b"127.0.0.1:%d" % port):
        start = b"http://" + own
        if own and value.startswith(start) and value[len(start) : len(start) + 1] in (b"", b"/"):
            return prefix + (value[len(start) :] or b"/")
    return prefix + value if value.startswith(b"/") and not value.startswith(b"//") else value


def _cookie(value: bytes, prefix: bytes) -> bytes:
    """Kept to its own preview."""
    found = _COOKIE_PATH.search(value)
    path = found[1].strip() if found is not None else b"/"
    if not path.startswith(b"/"):
        path = b"/"
    return _COOKIE_SCOPE.sub(b"", value) + b"; Path=" + prefix + path
