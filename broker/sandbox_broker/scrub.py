"""Takes secrets out of byte streams, and puts them in for placeholders.  Pure.

Both work on a stream piece by piece and hold back only bytes that may be the beginning of
what they look for, so an event stream is not delayed.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote

SHORTEST = 6
"""A secret shorter than this is left: taking it out would ruin unrelated content."""


def forms(value: str) -> set[bytes]:
    """The ways in which an upstream may echo a value: as it is, its last word, percent-encoded."""
    words = {value, value.rpartition(" ")[2]}
    scheme, _, token = value.partition(" ")
    if scheme.lower() == "basic":
        try:
            plain = base64.b64decode(token, validate=True).decode()
            words |= {plain, plain.partition(":")[2]}
        except ValueError:
            pass
    words |= {quote(word, safe="") for word in words}
    return {word.encode() for word in words if len(word) >= SHORTEST}


class Replacer:
    """Replaces byte strings in a stream; the longest of several that begin together wins."""

    def __init__(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        self._new = dict(pairs)
        self._olds = sorted(self._new, key=len, reverse=True)
        self._any = re.compile(b"|".join(re.escape(old) for old in self._olds))
        self._held = b""

    def __bool__(self) -> bool:
        return bool(self._new)

    def feed(self, data: bytes) -> bytes:
        """What may go on of everything fed so far."""
        if not self._new:
            return data
        data = self._held + data
        ready = self._ready(data)
        self._held = data[ready:]
        return self.whole(data[:ready])

    def end(self) -> bytes:
        """What was held back, at the end of the stream."""
        rest, self._held = self._held, b""
        return self.whole(rest)

    def whole(self, data: bytes) -> bytes:
        """All of a short text, like a header's value."""
        if not self._new:
            return data
        return self._any.sub(lambda found: self._new[found[0]], data)

    def _ready(self, data: bytes) -> int:
        """Where the part begins that may be the unfinished beginning of something looked for.

        A place inside a finished match is none: that match is replaced as a whole.
        """
        spans = [found.span() for found in self._any.finditer(data)]
        first = max(0, len(data) - len(self._olds[0]) + 1)
        for at in range(first, len(data)):
            if any(start < at < end for start, end in spans):
                continue
            tail = data[at:]
            if any(len(old) > len(tail) and old.startswith(tail) for old in self._olds):
                return at
        return len(data)


def scrubber(values: Iterable[str]) -> Replacer:
    """Overwrites every form of the values with as many `*`: lengths hold."""
    found = {form for value in values for form in forms(value)}
    return Replacer((form, b"*" * len(form)) for form in found)
