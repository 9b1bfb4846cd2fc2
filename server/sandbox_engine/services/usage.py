"""Writes the usage journal: a `Watcher` that turns what happens into lines."""

from __future__ import annotations

from functools import partial

from sandbox_engine.model.sandbox import Created, Sandbox
from sandbox_engine.model.usage import Event, egress_line, usage_line
from sandbox_engine.ports.clock import Clock
from sandbox_engine.ports.ledger import Ledger
from sandbox_engine.services.egress import EgressEvent
from sandbox_engine.services.watching import Copy, End, Shelf

_ENDS = {End.RELEASE: Event.RELEASE, End.REAP: Event.REAP}


class Usage:
    """See `services.watching.Watcher`."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger, self._clock = ledger, clock
        self.egress_bytes = False
        """Whether bytes that guests moved are written too."""

    def created(self, created: Created, took_s: float) -> None:  # noqa: ARG002 - of the protocol
        """A claim began."""
        self._write(Event.CLAIM, created.sandbox)

    def ended(self, sandbox: Sandbox, end: End) -> None:
        """It ended."""
        self._write(_ENDS[end], sandbox)

    def hibernated(self, sandbox: Sandbox) -> None:
        """It sleeps."""
        self._write(Event.HIBERNATE, sandbox)

    def woke(self, sandbox: Sandbox, took_s: float) -> None:  # noqa: ARG002 - of the protocol
        """It runs again."""
        self._write(Event.WAKE, sandbox)

    def shelved(self, sandbox: Sandbox, shelf: Shelf) -> None:
        """The archive has it, or has it no more."""
        self._write(Event(shelf.value), sandbox)

    def restarted(self, sandbox: Sandbox) -> None:
        """It runs again, from its disk."""
        self._write(Event.VMM_RESTART, sandbox)

    def copied(self, sandbox: Sandbox, copy: Copy, what: str, children: int = 0) -> None:
        """It was forked, saved or published."""
        self._write(Event(copy.value), sandbox, what, children)

    def vm_exited(self, sandbox: Sandbox) -> None:
        """Its VM is down."""
        self._write(Event.VMM_EXIT, sandbox)

    def gave_up(self, sandbox: Sandbox) -> None:
        """It is not started again."""
        self._write(Event.VMM_FAILED, sandbox, ref=sandbox.failure)

    def egress(self, sandbox: Sandbox, event: EgressEvent) -> None:
        """Its guest reached something."""
        if event.decision.startswith("allowed"):
            now, moved = self._clock.now(), (event.sent_bytes, event.received_bytes)
            line = partial(egress_line, now, sandbox, host=event.host, upstream=event.upstream)
            self._ledger.append(line(secrets=event.secrets))
            if self.egress_bytes:
                self._ledger.append(line(moved=moved))

    def _write(self, event: Event, sandbox: Sandbox, ref: str = "", children: int = 0) -> None:
        self._ledger.append(usage_line(self._clock.now(), event, sandbox, ref, children))
