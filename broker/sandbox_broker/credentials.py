"""The credentials: read from `credentials.conf`, and put nowhere but into requests.

A line is `DESTINATION = VALUE` or `@NAME = VALUE`.  DESTINATION is `host`, `host:port` or
`*.suffix[:port]`; NAME is what a policy's rule asks for.  VALUE becomes `Authorization`, or
another header where it begins with `[Header-Name]`; `env:VARIABLE` takes the rest from the
broker's environment.  `#` begins a comment line.  The file belongs to the broker's user or to
root, and nobody else may read it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox_broker.policy import host_matches

MAX_FILE = 1 << 20
_KEY = re.compile(r"(?:@[\w.-]{1,128}|(?:\*\.)?[A-Za-z0-9_][A-Za-z0-9._-]{0,252}(?::\d{1,5})?)\Z")
_VALUE = re.compile(r"(?:\[(?P<header>[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128})\]\s*)?(?P<value>.+)\Z")
_PRINTABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")


class BadCredentials(Exception):
    """The file cannot be used; the message names the line, and never a value."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A header with its value; `name` is what logs may show."""

    name: str
    header: str
    value: str

    def __repr__(self) -> str:
        return f"Credential({self.name!r})"


class Credentials:
    """What the broker holds; immutable, a reload makes another."""

    def __init__(self, entries: Mapping[str, Credential] = {}) -> None:
        self._named = {key[1:]: each for key, each in entries.items() if key[0] == "@"}
        self._hosts = [(*_split(key), each) for key, each in entries.items() if key[0] != "@"]
        # The most telling entry first: exact hosts, then longer suffixes, then with a port.
        self._hosts.sort(key=lambda e: (not e[0].startswith("*."), len(e[0]), e[1]), reverse=True)

    def find(self, name: str, host: str, port: int) -> Credential | None:
        """The credential of that name, or without a name the destination's own."""
        if name:
            return self._named.get(name)
        for pattern, only_port, credential in self._hosts:
            if host_matches(pattern, host) and only_port in {0, port}:
                return credential
        return None


def load(path: str, environment: Mapping[str, str]) -> Credentials:
    """Read the file; without one there are no credentials.  Raises `BadCredentials`."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return Credentials()
    except OSError as error:
        raise BadCredentials(f"{path}: {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        _check_owner(path, os.fstat(handle))
        raw = file.read(MAX_FILE + 1)
    if len(raw) > MAX_FILE:
        raise BadCredentials(f"{path}: over {MAX_FILE} bytes")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BadCredentials(f"{path}: not UTF-8 at byte {error.start}") from None
    return parse(text, environment, path)


def parse(text: str, environment: Mapping[str, str], path: str = "credentials") -> Credentials:
    """The credentials of a file's text; raises `BadCredentials`."""
    entries: dict[str, Credential] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()  # noqa: PLW2901 - the raw line is never wanted again
        if not line or line.startswith("#"):
            continue
        key, equals, rest = line.partition("=")
        key = key.strip() if key.startswith("@") else key.strip().lower()
        found = _VALUE.match(rest.strip())
        if not equals or not _KEY.match(key) or found is None:
            raise BadCredentials(f"{path}:{number}: not `DESTINATION = VALUE` or `@NAME = VALUE`")
        if key in entries:
            raise BadCredentials(f"{path}:{number}: {key} is there twice")
        value = found["value"].strip()
        if value.startswith("env:"):
            value = environment.get(value[4:], "")
            if not value:
                raise BadCredentials(f"{path}:{number}: its environment variable is not set")
        if not _PRINTABLE.match(value):
            raise BadCredentials(f"{path}:{number}: the value is not printable ASCII")
        entries[key] = Credential(key.removeprefix("@"), found["header"] or "Authorization", value)
    return Credentials(entries)


def _check_owner(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise BadCredentials(f"{path}: not a regular file")
    if status.st_uid not in {0, os.geteuid()}:
        raise BadCredentials(
            f"{path}: belongs to user {status.st_uid}, not to the broker's or root"
        )
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise BadCredentials(f"{path}: mode {mode:04o} lets others in; 0600 is wanted")


def _split(key: str) -> tuple[str, int]:
    host, _, port = key.partition(":")
    return host, int(port or 0)
