"""The egress request of a create (seed "Egress policy"): grammar, contradiction, ceiling."""

from __future__ import annotations

import re

from sandbox_engine.errors import InvalidArgument

MAX_ENTRIES = 64
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*\.?\Z")


def check_entries(entries: tuple[str, ...], *, deny_all: bool) -> None:
    """Raise `InvalidArgument` for a list that the seed refuses whatever the daemon allows."""
    if entries and deny_all:
        raise InvalidArgument(
            "egress_deny_all", "contradicts egress_allow: name destinations, or deny all"
        )
    if len(entries) > MAX_ENTRIES:
        raise InvalidArgument("egress_allow", f"{len(entries)} entries; the limit is {MAX_ENTRIES}")
    for entry in entries:
        split_entry(entry)


def split_entry(entry: str) -> tuple[str, int | None]:
    """`host`, `host:port` or `*.suffix[:port]` as (lower-case host, port or None)."""
    host, colon, port = entry.lower().partition(":")
    if not _HOST.match(host) or len(host) > 253:
        raise InvalidArgument(
            "egress_allow", f"{entry!r} is not `host`, `host:port` or `*.suffix[:port]`"
        )
    if not colon:
        return host, None
    if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
        raise InvalidArgument("egress_allow", f"{entry!r}: the port must be 1 to 65535")
    return host, int(port)


def covers(allowed: str, entry: str) -> bool:
    """Whether the daemon-wide `allowed` entry covers `entry`, which a session asked for."""
    if allowed == "*":
        return True
    host, port = split_entry(allowed)
    wanted, wanted_port = split_entry(entry)
    if port is not None and port != wanted_port:
        return False
    if host.startswith("*."):
        return wanted == host or wanted.removeprefix("*.").endswith(host[1:])
    return wanted == host


def check_ceiling(entries: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    """Every entry must be covered by the daemon-wide list: a session narrows, never widens."""
    for entry in entries:
        if not any(covers(ceiling, entry) for ceiling in allowed):
            raise InvalidArgument(
                "egress_allow", f"{entry!r} is not covered by the daemon's allowed_services"
            )


def effective(
    entries: tuple[str, ...], allowed: tuple[str, ...], *, deny_all: bool
) -> tuple[str, ...]:
    """What a new sandbox's policy is, by the seed's table: copied once and never widened."""
    if deny_all:
        return ()
    return entries or allowed
