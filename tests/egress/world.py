"""An engine over fakes, with the broker's socket in front."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import grpc.aio
from sandbox.v1 import broker_pb2 as pb
from sandbox.v1 import broker_pb2_grpc as rpc
from sandbox_engine.api.rpc.broker import BrokerServer
from sandbox_engine.ids import TokenMint
from sandbox_engine.model.claim import Claim
from sandbox_engine.model.sandbox import Created
from sandbox_engine.model.size import Key
from sandbox_engine.services.egress import Egress, Policies
from sandbox_engine.services.network import GuestNetwork

from tests.fakes.links import FakeLinks
from tests.fakes.services import OPERATOR, TEMPLATE, Services, spec

KEY = Key(TEMPLATE)
MINT = TokenMint(bytes(32))


class World:
    """An engine over fakes, with the broker's socket in front."""

    def __init__(self, folder: Path, policies: Policies, port: int = 0) -> None:
        """`port` is the broker's for guests with an interface; 0 gives none."""
        self.services = Services(folder, allowed_services=policies.allowed_services)
        self.services.pool(warm=0)
        self.path = folder / "broker.sock"
        self.links = FakeLinks()
        if port:
            self.services.factory.links = self.links
            self.services.pools.configure(TEMPLATE, warm=0, waiting=0, net="egress")
        self.egress = Egress(policies=policies, mint=MINT, offered=True, links_offered=bool(port))
        self.egress.registry = self.services.sandboxes
        self.services.sandboxes.watchers.append(self.egress)
        self.services.sandboxes.network = GuestNetwork(
            self.egress, MINT, self.services.factory, port
        )
        self.server = BrokerServer(self.egress, self.path, os.geteuid())
        self.channel: grpc.aio.Channel
        self.stub: Any

    async def start(self) -> None:
        await self.server.start()
        self.channel = grpc.aio.insecure_channel(f"unix:{self.path}")
        self.stub = rpc.BrokerServiceStub(self.channel)

    async def stop(self) -> None:
        await self.channel.close()
        await self.server.stop()
        await self.services.close()

    async def create(self, *, claim: Claim | None = None, **fields: Any) -> Created:
        return await self.services.sandboxes.create(OPERATOR, spec(**fields), claim=claim)

    async def authorize(self, **identity: str) -> Any:
        return await self.stub.Authorize(pb.AuthorizeRequest(**identity))


async def told(guest: Any) -> Any:
    """The network a guest was told of."""
    while not (found := [each for each in guest.configured if "doors" in each]):
        await asyncio.sleep(0)
    return found[-1]
