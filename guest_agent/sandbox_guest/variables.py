"""The environment every command starts with: cleared, then built in a fixed order."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from sandbox_guest.spawn import PATH, Account, environment

Block = ctypes.Array[ctypes.c_char_p]

_BASE = {"PATH": PATH, "TERM": "xterm-256color"}

_PROXY = "http://127.0.0.1:3128"
_RELAY = {"http_proxy": _PROXY, "https_proxy": _PROXY, "no_proxy": "127.0.0.1,localhost"}
LANES: dict[str, dict[str, str]] = {
    "none": {},
    "direct": {},
    "relay": {**_RELAY, **{name.upper(): value for name, value in _RELAY.items()}},
}
"""Lanes and the variables they mean."""


class Variables:
    """PATH and TERM, the lane's proxy variables, the sandbox's own, then a command's.

    HOME and USER appear only with a user, since without one they would be a guess.
    """

    def __init__(self) -> None:
        self._lane: dict[str, str] = {}
        self._own: dict[str, str] = {}
        self._common: tuple[Block, str] | None = None  # for commands that add nothing
        self._lane_name = "none"

    def set_own(self, variables: Mapping[str, str]) -> None:
        """Replace the sandbox's own variables.  Commands that run keep theirs."""
        self._own, self._common = dict(variables), None

    def set_lane(self, lane: str) -> None:
        """How the network is reached: one of `LANES`."""
        self._lane, self._common = dict(LANES[lane]), None
        self._lane_name = lane

    @property
    def has_network(self) -> bool:
        """Something outside may be reached: by the lane, or a proxy the sandbox names."""
        names = {name.lower() for name in self._own}
        return self._lane_name != "none" or bool(names & {"http_proxy", "https_proxy"})

    def of(self, extra: Mapping[str, str] | None, account: Account | None) -> dict[str, str]:
        """The variables of a command."""
        home = {"HOME": account.home, "USER": account.name} if account is not None else {}
        return {**_BASE, **self._lane, **home, **self._own, **(extra or {})}

    def block(self, extra: Mapping[str, str] | None, account: Account | None) -> tuple[Block, str]:
        """The same, ready for the kernel, and its PATH to look programs up with."""
        if extra or account is not None:
            return _block(self.of(extra, account))
        if self._common is None:
            self._common = _block(self.of(None, None))
        return self._common


def _block(variables: dict[str, str]) -> tuple[Block, str]:
    return environment(variables), variables["PATH"]
