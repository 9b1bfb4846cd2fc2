"""What can be wrong with a request: each kind has the status that seed 000 "Errors" gives it."""

from __future__ import annotations


class Refused(Exception):
    """A request that is answered with `status` and goes nowhere."""

    status = 400
    decision = ""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Malformed(Refused):
    """400: a head, a target or a body that is no HTTP, or that proxies disagree on."""


class Unidentified(Refused):
    """401, or 407 for proxy-style requests: no token, or one that nobody knows."""

    status = 401


class Denied(Refused):
    """403: the policy or the address guard says no; `decision` says which."""

    status = 403

    def __init__(self, reason: str, decision: str) -> None:
        self.decision = decision
        super().__init__(reason)


class TooLarge(Refused):
    """413: a request body over `SANDBOX_BROKER_MAX_BODY`."""

    status = 413


class UpstreamFailed(Refused):
    """502: the upstream, or the engine that must be asked first, did not do its part."""

    status = 502


class Misdirected(Refused):
    """421: a request inside an intercepted connection that names another host."""

    status = 421
