"""Where the engine is, and how a connection to it is set up."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

SOCKET_VARIABLE = "SANDBOX_GRPC_SOCKET"
DEFAULT_SOCKET = "/var/run/sandbox-engine/grpc.sock"
MAX_MESSAGE = 8 << 20


@dataclass(frozen=True)
class Address:
    """A target of gRPC, and the token that is shown there."""

    target: str
    token: str = field(default="", repr=False)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Sent with every call."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()

    @property
    def options(self) -> tuple[tuple[str, int], ...]:
        """Of the channel."""
        common = (
            ("grpc.max_receive_message_length", MAX_MESSAGE),
            # One client, one connection: it ends with the client and is shared with no other.
            ("grpc.use_local_subchannel_pool", 1),
            # An engine that restarts is found again at once; the retries pace themselves.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.min_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        )
        if self.target.startswith("unix:"):
            return common
        # A silent command may run behind a firewall that forgets idle connections.
        return (*common, ("grpc.keepalive_time_ms", 30_000), ("grpc.keepalive_timeout_ms", 20_000))


def find(socket: str | os.PathLike[str] | None, address: str | None, token: str | None) -> Address:
    """The address that the arguments, or else the environment, name.

    Raises `ValueError` where they contradict each other.
    """
    if address is not None:
        if socket is not None:
            raise ValueError("give a socket or an address, not both")
        return Address(address, token or "")
    if token is not None:
        raise ValueError("a token is for TCP: give the address too")
    path = os.fspath(socket) if socket is not None else os.environ.get(SOCKET_VARIABLE)
    return Address(f"unix:{os.path.abspath(path or DEFAULT_SOCKET)}")  # noqa: PTH100 - no symlink is resolved
