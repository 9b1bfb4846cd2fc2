"""Instance metadata: one JSON document, served to this guest alone at 169.254.169.254.

The shape is IMDSv2's: `PUT /latest/api/token` first, then `GET` with the token.  `GET /` is
the document as it was stored; a path below it is a value in it, and an object there is the
list of its names, as cloud-init walks them (or JSON for who accepts that).  Header names
are accepted as AWS (`X-aws-ec2-metadata-token`) and as others (`X-metadata-token`) spell
them.

The document is a file in a tmpfs, so that a state that is saved has it.  Tokens are made
with a key that every new identity replaces: a clone's parent knows none of the clone's.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import os
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sandbox_guest.places import Places
from sandbox_guest.tasks import log

MAX_DOCUMENT = 4096
NAME = "instance-metadata.json"
_MAX_HEAD = 8192
_MAX_AT_ONCE = 64
_PATIENCE_S = 10.0
_TOKEN = ("x-aws-ec2-metadata-token", "x-metadata-token")
_TTL = ("x-aws-ec2-metadata-token-ttl-seconds", "x-metadata-token-ttl-seconds")
_MAX_TTL_S = 21600
_VERSION = re.compile(r"latest|1\.0|\d{4}-\d{2}-\d{2}\Z")
_PHRASES = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed",
}  # fmt: skip

Answer = tuple[int, bytes, str, dict[str, str]]
"""Status, body, its type, more headers."""
Headers = dict[str, str]


class Metadata:
    """The document and who may read it."""

    def __init__(self, places: Places) -> None:
        self._path = Path(places.silkd) / NAME
        self._address = places.metadata
        self._key = os.urandom(32)
        self._open = 0
        self.served = False
        """Whether this guest has the address to serve it at."""

    async def start(self) -> None:
        """Serve it from now on, where the address can be had."""
        host, _, port = self._address.rpartition(":")
        if not host:
            return
        try:
            await asyncio.start_server(self._accept, host, int(port), limit=_MAX_HEAD)
        except OSError as error:
            log("no instance metadata is served", error)
            return
        self.served = True

    def put(self, document: str) -> None:
        """Replace the document in one step.  Raises `OSError`."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_name(f".{NAME}.new")
        partial.write_text(document)
        partial.replace(self._path)

    def forget_tokens(self) -> None:
        """A new identity: what was handed out before is another's."""
        self._key = os.urandom(32)

    # -- connections -------------------------------------------------------------

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._open >= _MAX_AT_ONCE:
            writer.close()
            return
        self._open += 1
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_encode(head, self.answer(head)))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # who asked so is not answered
        finally:
            self._open -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def answer(self, head: bytes) -> Answer:
        """What a request gets."""
        line, *lines = head.decode("latin-1").split("\r\n")[:-2]
        words = line.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
            return _refusal(400)
        headers: Headers = {}
        for each in lines:
            name, colon, value = each.partition(":")
            if not colon:
                return _refusal(400)
            headers[name.lower()] = value.strip()
        path = unquote(words[1].partition("?")[0])
        if words[0] == "PUT":
            return self._token(path, headers)
        if words[0] not in ("GET", "HEAD"):
            return _refusal(405)
        return self._read(path, headers)

    # -- tokens ------------------------------------------------------------------

    def _token(self, path: str, headers: Headers) -> Answer:
        if path != "/latest/api/token":
            return _refusal(404)
        if "x-forwarded-for" in headers:  # it came through a proxy: not from this guest itself
            return _refusal(403)
        ttl = _first(headers, _TTL)
        if not ttl.isascii() or not ttl.isdigit() or not 1 <= int(ttl[:9]) <= _MAX_TTL_S:
            return _refusal(400)
        token = self._signed(int(time.time()) + int(ttl)).encode()
        return 200, token, "text/plain", dict.fromkeys(_TTL, ttl)

    def _signed(self, expires: int) -> str:
        mac = hmac.new(self._key, str(expires).encode(), "sha256").hexdigest()
        return f"{expires:x}-{mac}"

    def _left_s(self, token: str) -> int:
        """How long a token is good for; 0 for one that is none."""
        text = token.partition("-")[0]
        if not re.fullmatch(r"[0-9a-f]{1,12}", text):
            return 0
        expires = int(text, 16)
        if not hmac.compare_digest(self._signed(expires).encode(), token.encode()):
            return 0
        return max(0, expires - int(time.time()))

    # -- the document ------------------------------------------------------------

    def _read(self, path: str, headers: Headers) -> Answer:
        left = self._left_s(_first(headers, _TOKEN))
        if not left:
            return _refusal(401)
        text = self._document()
        more = {name: str(left) for name in _TTL}
        if path == "/":
            return 200, text, "application/json", more
        try:
            found = _look_up(json.loads(text), [part for part in path.split("/") if part])
        except (ValueError, KeyError):
            return _refusal(404)
        if "application/json" in headers.get("accept", ""):
            return 200, json.dumps(found).encode(), "application/json", more
        return 200, _as_text(found).encode(), "text/plain", more

    def _document(self) -> bytes:
        try:
            return self._path.read_bytes()
        except OSError:
            return b"{}"


def _first(headers: Headers, names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if name in headers), "")


def _look_up(document: Any, parts: list[str]) -> Any:
    """The value at a path; a version that the document does not name is its `latest`, or all."""
    if parts and _VERSION.match(parts[0]) and parts[0] not in document:
        document = document.get("latest", document)
        parts = parts[1:]
    for part in parts:
        if isinstance(document, list) and part.isascii() and part.isdigit():
            document = dict(enumerate(document))[int(part)]
        elif isinstance(document, dict):
            document = document[part]
        else:
            raise KeyError(part)
    return document


def _as_text(value: Any) -> str:
    """A string as it is, an object as its names, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(
            f"{name}/" if isinstance(below, dict) else name for name, below in value.items()
        )
    return json.dumps(value)


def _refusal(status: int) -> Answer:
    return status, _PHRASES[status].encode(), "text/plain", {}


def _encode(head: bytes, answer: Answer) -> bytes:
    status, body, kind, more = answer
    lines = [
        f"HTTP/1.1 {status} {_PHRASES[status]}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in more.items()),
    ]
    data = "\r\n".join((*lines, "", "")).encode("latin-1")
    return data if head.startswith(b"HEAD ") else data + body
