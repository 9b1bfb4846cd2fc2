"""A claim's environment: what its guest is given, and what only the host may know.  Pure.

An entry with `guest: false` never enters the guest; the egress proxy uses it.  One with
`inject` is put into requests to some hosts by the proxy, and the guest has at most a
placeholder for it (seed "env").
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

from sandbox_engine.errors import InvalidArgument

MAX_ENTRIES = 64
MAX_BYTES = 64 << 10
MAX_HOSTS = 16
MAX_PLACEHOLDER = 256
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}\Z")  # RFC 9110 5.6.2, a token
_PLACEHOLDER = re.compile(r"[\x21-\x7e]*\Z")


class Inject(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the proxy puts a value."""

    hosts: list[str]
    header: str = ""
    query: str = ""
    body: bool = False
    placeholder: str = ""
    """What the guest has instead of the value."""

    def check(self, name: str, intercepted: Collection[str]) -> None:
        """Raise `InvalidArgument` unless the proxy can do this for the claim."""
        if not 1 <= len(self.hosts) <= MAX_HOSTS:
            raise InvalidArgument("env", f"{name}: inject names 1 to {MAX_HOSTS} hosts")
        if self.header and self.query:
            raise InvalidArgument("env", f"{name}: inject takes a header or a query, not both")
        for word in (self.header, self.query):
            if word and not _WORD.match(word):
                raise InvalidArgument("env", f"{name}: {word!r} is no header or parameter")
        if len(self.placeholder) > MAX_PLACEHOLDER or not _PLACEHOLDER.match(self.placeholder):
            raise InvalidArgument(
                "env", f"{name}: a placeholder is at most {MAX_PLACEHOLDER} printable characters"
            )
        for host in self.hosts:
            if host not in intercepted:
                raise InvalidArgument("env", f"{name}: {host!r} is not intercepted for this claim")


class EnvEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One variable."""

    value: str
    guest: bool = True
    inject: Inject | None = None


Env = Mapping[str, EnvEntry]


def check_environment(env: Env, intercepted: Collection[str] = ()) -> None:
    """Raise `InvalidArgument`, which names the entry and never its value."""
    if len(env) > MAX_ENTRIES:
        raise InvalidArgument("env", f"{len(env)} entries; the limit is {MAX_ENTRIES}")
    size = 0
    for name, entry in env.items():
        if not ENV_NAME.match(name) or "\0" in entry.value:
            raise InvalidArgument("env", f"{name!r} is not a variable's name, or its value is bad")
        size += len(name) + len(entry.value.encode(errors="surrogatepass")) + 2
        if entry.inject is not None:
            entry.inject.check(name, intercepted)
    if size > MAX_BYTES:
        raise InvalidArgument("env", f"{size} bytes; the limit is {MAX_BYTES}")


def guest_part(env: Env) -> dict[str, str]:
    """What the guest is given."""
    given: dict[str, str] = {}
    for name, entry in env.items():
        if entry.inject is not None:
            if entry.inject.placeholder:
                given[name] = entry.inject.placeholder
        elif entry.guest:
            given[name] = entry.value
    return given


def host_part(env: Env) -> dict[str, EnvEntry]:
    """What the proxy is given."""
    return {
        name: entry for name, entry in env.items() if entry.inject is not None or not entry.guest
    }


def whole(guest: Mapping[str, str], host: Env) -> dict[str, EnvEntry]:
    """The environment that has these parts."""
    return {name: EnvEntry(value=value) for name, value in guest.items()} | dict(host)


def merged(had: Env, patch: Mapping[str, EnvEntry | None]) -> dict[str, EnvEntry]:
    """Each entry set, each `None` removed, every other kept."""
    kept = {name: entry for name, entry in had.items() if name not in patch}
    return kept | {name: entry for name, entry in patch.items() if entry is not None}


def shown(env: Env) -> dict[str, Any]:
    """As the API shows it: the values that the guest has not are blank."""
    return {
        name: EnvEntry(value="", guest=entry.guest, inject=entry.inject)
        if entry.inject is not None or not entry.guest
        else entry
        for name, entry in sorted(env.items())
    }
