"""The usage journal folded to seconds (seed "Usage journal").  Pure: lines in, bills out.

A sandbox is in one state at a time, and each event ends the span of one and begins the
next: `running` is billed as compute, `hibernated` and `archived` as two kinds of storage,
`down` (its VMM is gone) as nothing.  The sums are those of the rules, which subtract the
inner spans from the outer one.  A span that nothing ended, as after a crash, goes up to the
claim's deadline as the last event told it, and no further than the fold's own moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

STATES = ("running", "hibernated", "archived", "down")
_NEXT = {
    "claim": "running",
    "hibernate": "hibernated",
    "wake": "running",
    "archive": "archived",
    "unarchive": "hibernated",
    "vmm_exit": "down",
    "vmm_restart": "running",
    "archive_delete": "",
    "release": "",
    "reap": "",
}
"""What a sandbox is after an event; nothing once it has ended.  Other events change nothing."""


class BadLine(Exception):
    """A line that no usage journal has; the message says which and why."""


@dataclass
class Bill:
    """One sandbox's spans, or several sandboxes' sums."""

    id: str
    tenant: str = ""
    key: str = ""
    volumes: list[str] = field(default_factory=list)
    volumes_rw: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(STATES, 0.0))
    open: bool = False
    """It had not ended when the journal did: its last span was cut off."""
    state: str = ""
    since: float = 0.0
    deadline: float | None = None
    """As the journal last told it."""

    def add(self, event: str, at: float, deadline: float | None = None) -> None:
        """Take one event."""
        after = _NEXT.get(event)
        if after is None:
            return
        if deadline is not None:
            self.deadline = deadline
        if self.state:
            self.seconds[self.state] += max(0.0, at - self.since)
        self.state, self.since = after, at

    def close(self, until: float) -> None:
        """Cut off what has not ended."""
        if self.state:
            self.open = True
            if self.deadline is not None:
                until = min(until, self.deadline)
            self.seconds[self.state] += max(0.0, until - self.since)
            self.state = ""

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        seconds = {name: round(value, 6) for name, value in self.seconds.items()}
        return {
            "id": self.id,
            "tenant": self.tenant,
            "key": self.key,
            "compute_seconds": seconds["running"],
            "hibernated_seconds": seconds["hibernated"],
            "archived_seconds": seconds["archived"],
            "down_seconds": seconds["down"],
            "volumes": self.volumes,
            "volumes_rw": self.volumes_rw,
            "open": self.open,
        }


def fold(lines: Iterable[str], until: float) -> list[Bill]:
    """A bill a sandbox, in the order they appear.  Raises `BadLine`."""
    bills: dict[str, Bill] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
            at = _moment(event["t"])
            deadline = _moment(event["deadline"]) if event.get("deadline") else None
            bill = bills.setdefault(event["id"], Bill(id=event["id"]))
            name = event["ev"]
        except (ValueError, KeyError, TypeError) as error:
            message = f"line {number} is no usage event: {error!r}"
            raise BadLine(message) from error
        if name == "claim":
            bill.tenant, bill.key = event.get("tenant", ""), event.get("key", "")
            bill.volumes = event.get("volumes", [])
            bill.volumes_rw = event.get("volumes_rw", [])
        bill.add(name, at, deadline)
    for bill in bills.values():
        bill.close(until)
    return list(bills.values())


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def by_tenant(bills: Iterable[Bill]) -> list[Bill]:
    """The sums of each tenant's sandboxes; the operator's own come under no name."""
    sums: dict[str, Bill] = {}
    for bill in bills:
        total = sums.setdefault(bill.tenant, Bill(id="", tenant=bill.tenant))
        total.open |= bill.open
        for name, value in bill.seconds.items():
            total.seconds[name] += value
    return [sums[name] for name in sorted(sums)]
