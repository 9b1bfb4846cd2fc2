"""What the engine needs of files that outlive it beside the journal: ledgers and documents.

Methods are synchronous and short: they run on the loop.
"""

from __future__ import annotations

from typing import Protocol


class Ledger(Protocol):
    """Lines appended for a reader outside the engine, which tails them."""

    def append(self, line: bytes) -> None:
        """Append one line, newline excluded: whole, or after an engine's death not at all.

        Never raises: what cannot be written is logged, since no call may fail for it.
        """

    def close(self) -> None:
        """Write no more."""


class Document(Protocol):
    """One small file that is replaced whole."""

    def load(self) -> bytes | None:
        """Its content; None where there is none.  Raises `InvalidArgument` if unreadable."""

    def save(self, content: bytes) -> None:
        """Replace it, durably, at once or not at all.  Raises `NoSpace`."""
