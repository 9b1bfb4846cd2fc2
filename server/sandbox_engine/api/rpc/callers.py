"""Who calls: whoever may open the Unix socket, or over TCP whoever holds a token."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from sandbox_engine.errors import Unauthenticated
from sandbox_engine.model.caller import Caller

LOCAL = Caller(name="local")
_SCHEME = "bearer "


class Callers:
    """Tells callers by their connection."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """`tokens` is caller name to the SHA-256 of the token, in hexadecimal."""
        self._tokens = {name: digest.lower() for name, digest in tokens.items()}

    def of(self, context: Any) -> Caller:
        """The caller of one call.  Raises `Unauthenticated`."""
        if context.peer().startswith("unix:"):
            return LOCAL
        return self.of_header(dict(context.invocation_metadata() or ()).get("authorization"))

    def of_header(self, value: str | None) -> Caller:
        """The caller by the `authorization` that was sent.  Raises `Unauthenticated`."""
        if value is None:
            raise Unauthenticated("no token: send `authorization: Bearer TOKEN`")
        return self._bearer(value)

    def _bearer(self, value: str) -> Caller:
        if value[: len(_SCHEME)].lower() != _SCHEME:
            raise Unauthenticated("the authorization is not of the form `Bearer TOKEN`")
        given = hashlib.sha256(value[len(_SCHEME) :].strip().encode()).hexdigest()
        # Every entry is compared, so that time does not tell which ones exist.
        found = [name for name, known in self._tokens.items() if hmac.compare_digest(given, known)]
        if not found:
            raise Unauthenticated("the token is not known")
        return Caller(name=f"token:{found[0]}")
