"""What is told to the outside: log lines, counters, and events for the engine.

Counters live in memory that all workers share, a row each, so that the parent's `/metrics`
shows their sum.  No line holds a path, a header or a value: host, port and names are enough to
see what was decided, and cannot carry a secret.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
from collections import deque
from dataclasses import dataclass

from sandbox_broker.policy import DECISIONS

DIRECTIONS = ("to_upstream", "to_guest")
_COLUMNS = (*DECISIONS, *DIRECTIONS, "connections", "unidentified", "lost_events")
_CELL = struct.Struct("=Q")
MAX_PENDING = 10_000
"""Events kept for an engine that does not take them; then the oldest go, and are counted."""


def note(message: str, **facts: object) -> None:
    """Write one JSON line about the broker itself."""
    line = {"time": _now(), "event": message, **facts}
    os.write(2, json.dumps(line, separators=(",", ":")).encode() + b"\n")


class Counters:
    """Numbers of all workers in shared memory; made before they are."""

    def __init__(self, workers: int) -> None:
        self._memory = mmap.mmap(-1, workers * len(_COLUMNS) * _CELL.size)
        self._workers = workers

    def add(self, worker: int, column: str, amount: int = 1) -> None:
        """Add to a worker's own cell, which nobody else writes."""
        at = (worker * len(_COLUMNS) + _COLUMNS.index(column)) * _CELL.size
        (value,) = _CELL.unpack_from(self._memory, at)
        _CELL.pack_into(self._memory, at, value + amount)

    def clear(self, worker: int, column: str) -> None:
        """Set a worker's cell to 0: its successor has none of its connections."""
        at = (worker * len(_COLUMNS) + _COLUMNS.index(column)) * _CELL.size
        _CELL.pack_into(self._memory, at, 0)

    def total(self, column: str) -> int:
        """The sum over all workers."""
        index = _COLUMNS.index(column)
        width = len(_COLUMNS)
        return sum(
            int(_CELL.unpack_from(self._memory, (row * width + index) * _CELL.size)[0])
            for row in range(self._workers)
        )

    def exposition(self) -> str:
        """All of it in the text format of Prometheus."""
        lines = [
            "# HELP broker_egress_decisions_total Requests and tunnels by decision.",
            "# TYPE broker_egress_decisions_total counter",
            *(
                f'broker_egress_decisions_total{{decision="{name}"}} {self.total(name)}'
                for name in DECISIONS
            ),
            "# HELP broker_relayed_bytes_total Bytes of bodies and tunnels, by direction.",
            "# TYPE broker_relayed_bytes_total counter",
            *(
                f'broker_relayed_bytes_total{{direction="{name}"}} {self.total(name)}'
                for name in DIRECTIONS
            ),
            "# HELP broker_unidentified_total Requests refused with 401 or 407.",
            "# TYPE broker_unidentified_total counter",
            f"broker_unidentified_total {self.total('unidentified')}",
            "# HELP broker_connections Connections of guests that are open.",
            "# TYPE broker_connections gauge",
            f"broker_connections {self.total('connections')}",
            "# HELP broker_lost_events_total Events the engine did not take in time.",
            "# TYPE broker_lost_events_total counter",
            f"broker_lost_events_total {self.total('lost_events')}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Entry:
    """One decision, filled in while its request or tunnel lives."""

    sandbox_id: str
    host: str
    port: int
    method: str
    decision: str = ""
    status: int = 0
    secrets: tuple[str, ...] = ()
    upstream: str = ""
    sent: int = 0
    received: int = 0
    reason: str = ""
    started: float = 0.0


class Recorder:
    """Takes finished entries of one worker: a log line, the counters, an event to hand in."""

    def __init__(self, counters: Counters, worker: int) -> None:
        self.counters = counters
        self.worker = worker
        self.pending: deque[Entry] = deque()

    def begin(self, sandbox_id: str, host: str, port: int, method: str) -> Entry:
        """An entry whose latency runs from now."""
        return Entry(sandbox_id, host, port, method, started=time.monotonic())

    def finish(self, entry: Entry) -> None:
        """The request or tunnel is over."""
        if entry.decision:
            self.counters.add(self.worker, entry.decision)
        self.counters.add(self.worker, "to_upstream", entry.sent)
        self.counters.add(self.worker, "to_guest", entry.received)
        line: dict[str, object] = {
            "time": _now(),
            "event": "egress",
            "sandbox_id": entry.sandbox_id,
            "host": entry.host,
            "port": entry.port,
            "method": entry.method,
            "decision": entry.decision,
            "status": entry.status,
            "latency_ms": round((time.monotonic() - entry.started) * 1000, 3),
            "sent_bytes": entry.sent,
            "received_bytes": entry.received,
        }
        if entry.secrets:
            line["secrets"] = entry.secrets
        if entry.upstream:
            line["upstream"] = entry.upstream
        if entry.reason:
            line["reason"] = entry.reason
        os.write(2, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        if entry.sandbox_id and entry.decision:
            if len(self.pending) >= MAX_PENDING:
                self.pending.popleft()
                self.counters.add(self.worker, "lost_events")
            self.pending.append(entry)


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03}Z"
