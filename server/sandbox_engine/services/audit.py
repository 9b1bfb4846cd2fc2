"""The audit log: one line for every guest call that a client's relay opens.

It names what was asked, never what was sent: programs, paths and ports, no payloads and
no environment.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from sandbox_engine.model.sandbox import Sandbox
from sandbox_engine.model.usage import timestamp
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.ledger import Ledger
from sandbox_engine.services.egress import EgressEvent

MAX_FIRST_LINE = 4096
"""A longer request is recorded as `oversized`, unread."""
FIELDS = ("argv", "path", "dest", "from", "to", "url", "session", "port")
_CONTINUE = {"stdin", "stdin_close", "data", "data_end"}
"""Frames of a call that is open already."""
_USER_INFO = re.compile(r"//[^/@]*@")  # a password in a URL is a payload


class Audit:
    """Records calls; with no ledger it records nothing."""

    def __init__(self, ledger: Ledger | None, clock: Clock) -> None:
        self._ledger, self._clock = ledger, clock

    def write_to(self, ledger: Ledger | None) -> None:
        """Go on in another ledger, or in none."""
        before, self._ledger = self._ledger, ledger
        if before is not None:
            before.close()

    def frame(self, sandbox_id: str, body: bytes) -> None:
        """A client sent this control frame."""
        if self._ledger is None:
            return
        if len(body) > MAX_FIRST_LINE:
            self._write(sandbox_id, "oversized", {})
            return
        try:
            frame = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            frame = {}
        if not isinstance(frame, dict) or not isinstance(frame.get("op"), str):
            self._write(sandbox_id, "malformed", {})
        elif frame["op"] not in _CONTINUE:
            self._write(sandbox_id, frame["op"], frame)

    def call(self, sandbox_id: str, frame: dict[str, Any]) -> None:
        """The engine opens this call on a client's behalf."""
        if self._ledger is not None:
            self._write(sandbox_id, frame["op"], frame)

    def egress(self, sandbox: Sandbox, event: EgressEvent) -> None:
        """The broker decided on a request of its guest: refused ones are the interesting ones."""
        if self._ledger is not None:
            record = {"t": timestamp(self._clock.now()), "id": sandbox.id, "op": "egress"}
            record |= {"dest": f"{event.host}:{event.port}", "decision": event.decision}
            if event.secrets:
                record["secret"] = ",".join(event.secrets)
            self._ledger.append(msgspec.json.encode(record))

    def node(self, op: str, facts: dict[str, Any]) -> None:
        """An operator changed the node."""
        if self._ledger is not None:
            record = {"t": timestamp(self._clock.now()), "op": op} | facts
            self._ledger.append(msgspec.json.encode(record))

    def _write(self, sandbox_id: str, op: str, frame: dict[str, Any]) -> None:
        assert self._ledger is not None
        record = {"t": timestamp(self._clock.now()), "id": sandbox_id, "op": op}
        record |= {name: frame[name] for name in FIELDS if name in frame}
        if isinstance(url := record.get("url"), str):
            record["url"] = _USER_INFO.sub("//", url)
        self._ledger.append(msgspec.json.encode(record))
