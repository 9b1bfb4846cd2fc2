"""Bytes that arrive in pieces, as text."""

from __future__ import annotations

import codecs


class Utf8:
    """An incremental UTF-8 decoder.

    It never fails: what is not UTF-8 becomes U+FFFD.  Held back are only bytes that begin a
    character whose rest may still come, at most three; a byte that cannot begin or continue
    one is told at once.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, data: bytes) -> str:
        """The text that `data` completes."""
        return self._decoder.decode(data)

    def end(self) -> str:
        """What was held back, now that nothing follows: empty or U+FFFD."""
        return self._decoder.decode(b"", final=True)

    @property
    def held(self) -> bytes:
        """Bytes that wait for the rest of their character."""
        return self._decoder.getstate()[0]
