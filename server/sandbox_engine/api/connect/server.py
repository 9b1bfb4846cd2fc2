"""The listener of this door."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from aiohttp import web
from google.protobuf.descriptor import ServiceDescriptor

from sandbox_engine.api.connect.door import Door, methods_of
from sandbox_engine.api.rpc.callers import Callers
from sandbox_engine.errors import InvalidArgument

GRACE_S = 2.0


class ConnectServer:
    """`start()` once; `stop()` ends what is left of the calls."""

    def __init__(
        self,
        *,
        services: Collection[ServiceDescriptor],
        servicers: Mapping[str, object],
        tokens: Mapping[str, str],
        origins: Collection[str] = (),
    ) -> None:
        """`tokens` as of gRPC over TCP: caller to the SHA-256 of its token."""
        door = Door(methods_of(services, servicers), Callers(tokens), origins)
        server = web.Server(door.handle, access_log=None, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=GRACE_S)
        self.port = 0
        """Where it listens, once started."""

    async def start(self, listen: str) -> None:
        """Listen on `host:port`.  Raises `InvalidArgument` where that cannot be had."""
        host, _, port = listen.rpartition(":")
        await self._runner.setup()
        site = web.TCPSite(self._runner, host.strip("[]") or None, int(port))
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            words = f"cannot listen on {listen}: {error}"
            raise InvalidArgument("connect_listen", words) from error
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Take no more calls, end the rest.  Idempotent."""
        await self._runner.cleanup()
